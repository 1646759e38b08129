"""Simulators, one package per kind of machine."""
