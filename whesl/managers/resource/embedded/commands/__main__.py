"""Run a Slurm-like command: ``python -m whesl.managers.resource.embedded.commands NAME ...``."""

import sys

from whesl.managers.resource.embedded.commands import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
