"""Commands that show the present and past state of tasks."""
