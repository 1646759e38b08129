"""Reads workflows: Maestro studies, WfCommons executions, tables of stages."""
