"""What happened to a workflow, summed up: exceptions, what was done about them, what that was worth."""
