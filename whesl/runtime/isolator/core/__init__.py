"""The isolator's core: pure. ``state_machine.step(state, event, now) -> (state, commands)``."""
