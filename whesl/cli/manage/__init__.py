"""Commands that change a task, or what is left of one."""
