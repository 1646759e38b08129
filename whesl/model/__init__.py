"""The shared vocabulary. Imports nothing of the project and does not touch the world."""
