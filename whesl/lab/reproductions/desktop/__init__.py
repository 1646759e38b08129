"""Reproduction of the evaluation of failure prediction on a desktop grid."""
