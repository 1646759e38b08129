"""Planning and scaling as pure functions and state machines; the clock is an argument."""
