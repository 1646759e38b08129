"""Campaigns: resumable sets of simulations over policies, seeds and parameters, on all cores or a cluster."""
