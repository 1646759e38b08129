"""The task's own directory: its files, the disk reserve, and the requests and notices in it."""
