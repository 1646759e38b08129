"""Workflows in: Maestro studies, WfCommons executions, tables of stages."""
