"""``python -m whesl.local.commands NAME ...``."""

import sys

from whesl.local.commands import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
