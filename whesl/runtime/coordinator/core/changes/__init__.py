"""What each record of the coordinator's journal changes in its state. Pure."""
