"""A job log on a torus whose nodes fail: "Fault-aware job scheduling for BlueGene/L systems".

``workload`` makes the jobs, ``thinning`` the failures, ``loop`` is the compiled event loop over the passes of
``whesl.placement.policies.torus``, ``measures`` are the document's, and ``audit`` checks a run with code of
its own.
"""
