"""Simulation of a job log on several clusters whose machines fail.

The reproduced document is "The importance of complete data sets for job scheduling simulations".
``cluster_files``, ``failure_records`` and ``cluster_eligibility`` read clusters, failures and job
requirements. ``generated_failures`` generates failures. ``event_loop`` is the compiled event loop over the
policies of ``whesl.placement.policies.multicluster``. ``simulation`` computes the document's measures.
``audit`` checks a run with code of its own.
"""
