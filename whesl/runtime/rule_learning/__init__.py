"""Rules from experience: learned from logs of good and bad runs, and a workflow's first specification."""
