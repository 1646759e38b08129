"""Python functions as tasks: ``@whesl.task``. A function runs in a process of its own, under the rules of a
task.

``task`` is the decorator; ``options`` and ``rules`` (pure) check its options and turn them into rules;
``payload`` writes and reads the data between processes; ``isolator_connection`` is the caller's side.
``isolator_server`` is the isolator kept for many calls; ``forked_call_isolator`` looks after one call;
``fork_server`` is the interpreter that functions' processes are forked from; ``function_process`` is the code
of such a process.
"""
