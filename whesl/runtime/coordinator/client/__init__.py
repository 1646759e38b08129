"""What others do about the coordinator: start it, ask it, tell it of lost and unregistered tasks."""
