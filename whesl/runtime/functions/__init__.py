"""Python functions as tasks: ``@whesl.task``. A function runs in a process of its own, under the rules of a
task.

``task`` is what users write, ``options`` and ``rules`` (pure) say what their options mean, ``payload`` is
what goes from one process to the other and back, ``connection`` is the caller's side. ``server`` is the
isolator that is kept for many calls, ``call_keeper`` looks after one of them; ``template`` is the interpreter
that functions' processes are forked from, ``process`` is what such a process does.
"""
