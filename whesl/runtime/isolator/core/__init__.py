"""The isolator's core: pure. ``machine.step(state, event, now) -> (state, commands)``."""
