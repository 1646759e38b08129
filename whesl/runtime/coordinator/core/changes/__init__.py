"""Changes that the records of the coordinator's journal make in its state. Pure."""
