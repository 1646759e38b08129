"""Planning and scaling as pure functions and state machines; the present time is an argument."""
