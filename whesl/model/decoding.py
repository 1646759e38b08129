"""What decoding foreign bytes may raise. msgspec has no common base for it."""

from __future__ import annotations

import msgspec

# A text inside that is no UTF-8 is not among msgspec's own errors, nor is nesting too deep for the stack.
UNDECODABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)

# What a record makes its reader raise that is another version's, or not as it was written. ValueError has
# msgspec's own errors among it.
FOREIGN = (LookupError, TypeError, ValueError, AttributeError, AssertionError, OverflowError, RecursionError)
