"""What decoding foreign bytes may raise. msgspec has no common base for it."""

from __future__ import annotations

import msgspec

# A text inside that is no UTF-8 is not among msgspec's own errors, nor is nesting too deep for the stack.
UNDECODABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
