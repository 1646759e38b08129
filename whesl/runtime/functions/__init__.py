"""Python functions as tasks: ``@whesl.task``. Each runs in a process of its own, by the rules of a task."""
