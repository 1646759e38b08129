"""How many simulations run side by side, and how their progress is told."""
