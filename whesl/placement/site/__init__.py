"""Placement at a site: failure predictions from the site's history, and their use by its schedulers."""
