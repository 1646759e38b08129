"""Tests. What is set here holds before any library of theirs is imported."""

import os

# Hypothesis loads the plugins of all packages that are installed: trio's, which comes with Selenium, takes
# a second of a processor in each process that runs tests.
os.environ.setdefault("HYPOTHESIS_NO_PLUGINS", "1")
