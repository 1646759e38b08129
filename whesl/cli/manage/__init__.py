"""Commands that change a task, or remove the files of an ended one."""
