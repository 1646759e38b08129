"""Reports on workflows: exceptions, their recoveries, and the costs that these have saved."""
