"""Python functions as tasks: ``@whesl.task``. A function runs in a process of its own, under the rules of a
task.

``task`` is the decorator; ``options`` and ``rules`` (pure) check its options and turn them into rules;
``payload`` writes and reads the data between processes; ``connection`` is the caller's side. ``server`` is
the isolator kept for many calls; ``call_keeper`` looks after one call; ``template`` is the interpreter that
functions' processes are forked from; ``process`` is the code of such a process.
"""
