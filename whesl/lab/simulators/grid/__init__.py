"""A job log on several clusters whose machines fail: "The importance of complete data sets for job scheduling
simulations".

``cluster_files`` and ``failure_records`` bring clusters, failures and job requirements in,
``generated_failures`` makes failures, ``loop`` is the compiled event loop over the policies of
``whesl.placement.policies.multicluster``, ``measures`` are the document's, and ``audit`` checks a run with
code of its own.
"""
