"""The task's own directory: its files, the disk reserve, what is left at the end."""
