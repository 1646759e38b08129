"""A job log on several clusters whose machines fail: "The importance of complete data sets for job scheduling
simulations".

``resources`` and ``records`` bring clusters, failures and job requirements in, ``generator`` makes failures,
``loop`` is the compiled event loop over the policies of ``whesl.placement.multicluster``, ``measures`` are
the document's, and ``audit`` checks a run with code of its own.
"""
