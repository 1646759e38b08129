"""``python -m whesl``."""

from whesl.cli import main

if __name__ == "__main__":
    main()
