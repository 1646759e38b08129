"""Arguments and paths whose bytes are no UTF-8, in records that hold text. Standard library only.

A system hands them out as any bytes; Python has each such byte as a lone surrogate (PEP 383), which JSON and
messages cannot carry. A word is carried with these bytes as characters of a private plane of Unicode, and is
turned back where the program is started. Many places open a path: it is carried as that of a link to it.
"""

from __future__ import annotations

import contextlib
import os

from whesl.files import file_retry
from whesl.model import home
from whesl.model.digest import hexdigest

_FIRST, _LAST = 0xDC80, 0xDCFF  # what PEP 383 makes of the bytes 0x80 to 0xFF
_PRIVATE = 0x100000  # added to these
_DIGEST = 8  # bytes


def carried(word: str) -> str:
    """Return a word as records can carry it; most words are carried as they are."""
    if word.isascii():
        return word
    # A character that looks like an encoded byte is encoded, too, so that every word can be decoded.
    return "".join(_carried(char) for char in word)


def _carried(char: str) -> str:
    if _FIRST <= ord(char) <= _LAST:
        return chr(_PRIVATE + ord(char))
    if _PRIVATE + _FIRST <= ord(char) <= _PRIVATE + _LAST:
        return "".join(chr(_PRIVATE + 0xDC00 + byte) for byte in char.encode())
    return char


def original(word: str) -> str:
    """Return the word that ``carried`` was given; ``os.fsencode`` turns it into its bytes."""
    if word.isascii():
        return word
    return "".join(
        chr(ord(char) - _PRIVATE) if _PRIVATE + _FIRST <= ord(char) <= _PRIVATE + _LAST else char
        for char in word
    )


def reachable(path: str) -> str:
    """Return a path that records can carry: itself, or that of a link to it below WHESL_HOME.

    Raises OSError when the link cannot be made.
    """
    try:
        path.encode()
    except UnicodeEncodeError:
        return _linked(path)
    return path


def meant(path: str) -> str:
    """Return the path that ``reachable`` was given."""
    if os.path.dirname(path) != _place():  # noqa: PTH120
        return path
    try:
        return os.readlink(path)  # noqa: PTH115
    except OSError:
        return path


def _place() -> str:
    return os.path.abspath(f"{os.path.expanduser(home.chosen())}/links")  # noqa: PTH100, PTH111


def _linked(path: str) -> str:
    place = _place()
    file_retry.make_directory(os.path.dirname(place))  # noqa: PTH120
    file_retry.make_directory(place)
    link = f"{place}/{hexdigest(os.fsencode(path), _DIGEST)}"
    with contextlib.suppress(FileExistsError):
        os.symlink(path, link)  # noqa: PTH211
    return link
