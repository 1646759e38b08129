"""``python -m whesl.rjms.local.commands NAME ...``."""

import sys

from whesl.rjms.local.commands import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
