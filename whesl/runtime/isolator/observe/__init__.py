"""The isolator's observation of the task's output and the resource manager's reports."""
