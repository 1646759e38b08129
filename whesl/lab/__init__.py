"""The lab: policies and predictors on real traces, in simulated machines. Needs the extra ``lab``."""
