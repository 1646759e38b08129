"""What decoding foreign bytes may raise. msgspec has no common base for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import msgspec

from whesl.files import file_retry

if TYPE_CHECKING:
    from pathlib import Path

S = TypeVar("S", bound=msgspec.Struct)

# A text inside that is no UTF-8 is not among msgspec's own errors, nor is nesting too deep for the stack.
UNDECODABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)

# What a record makes its reader raise that is another version's, or not as it was written. ValueError has
# msgspec's own errors among it.
FOREIGN = (LookupError, TypeError, ValueError, AttributeError, AssertionError, OverflowError, RecursionError)


def load(path: Path, kind: type[S]) -> S | None:
    """Return a file's record, None when there is none or it is of another make.

    Args:
        path: the file, JSON.
        kind: the record's type.

    Raises OSError when it could not be seen whether there is one.
    """
    content = file_retry.content(path)
    try:
        return None if content is None else msgspec.json.decode(content, type=kind)
    except UNDECODABLE:
        return None
