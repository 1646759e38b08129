"""Maestro studies (maestrowf 1.1.11 and newer)."""
