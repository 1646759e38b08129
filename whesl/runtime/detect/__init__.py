"""Detection: from a task's output, exits, nodes and disks to exceptions with their evidence.

``Watch`` is what the isolator uses. Below it: ``tail`` (files), ``matcher`` (patterns in bytes),
``detectors`` (pure). Beside it: ``exception_transformation`` (counting), ``disk_usage``,
``hung_process_stacks``.
"""
