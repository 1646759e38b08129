"""Writes whesl/runtime/diagnose/knowledge/prepared.json from the tables beside it.

Called as: python tools/prepare_knowledge.py
"""

from __future__ import annotations

import sys

from whesl.runtime.diagnose.prepared_knowledge import FILE, encoded, made


def main() -> int:
    """Write the file."""
    FILE.write_bytes(encoded(made()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
