"""Rules from experience: what good and bad runs of the same work have printed, and what a workflow needs."""
