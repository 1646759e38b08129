"""What decoding foreign bytes may raise. msgspec has no common base for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import msgspec

from whesl.files import file_retry

if TYPE_CHECKING:
    from pathlib import Path

S = TypeVar("S", bound=msgspec.Struct)

# msgspec raises no error of its own for a text that is no UTF-8, nor for nesting too deep for the stack.
UNDECODABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)

# What reading a record can raise that another version wrote, or that was damaged. msgspec's own errors are
# ValueErrors.
FOREIGN = (LookupError, TypeError, ValueError, AttributeError, AssertionError, OverflowError, RecursionError)


def load(path: Path, kind: type[S]) -> S | None:
    """Return the record in a file, None when there is no file or the file holds something else.

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
