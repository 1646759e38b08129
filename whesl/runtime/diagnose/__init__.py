"""Diagnosis of a job's end from its log alone, by known messages of failing programs."""
