"""Which nodes a job gets: policies, and what a site installs to follow them."""
