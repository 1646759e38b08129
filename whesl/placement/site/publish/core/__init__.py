"""What is decided about nodes from their risks. Pure."""
