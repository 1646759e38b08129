"""Placement policies: which waiting job starts now, and on which nodes.

Each is ``decide(view, predictor, now)``, a function of arrays. The lab's simulators, the embedded resource
manager and the plugins of Slurm and Flux call the same functions. Needs the extra ``predict``.
"""
