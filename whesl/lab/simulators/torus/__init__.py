"""Simulation of a job log on a torus whose nodes fail: "Fault-aware job scheduling for BlueGene/L systems".

``workload`` makes the jobs. ``thinning`` makes the failures. ``event_loop`` is the compiled event loop over
the passes of ``whesl.placement.policies.torus``. ``measures`` computes the document's measures. ``audit``
checks a run with code of its own.
"""
