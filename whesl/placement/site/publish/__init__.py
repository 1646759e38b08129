"""What is published about nodes, and what is decided from it; the cores here touch nothing but the table."""
