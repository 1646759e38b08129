"""Text of unknown origin, made fit to be shown: nothing in it moves a cursor or turns a line around."""

from __future__ import annotations

import re

# Control characters, invisible marks that turn the direction of text (they make a line look like another),
# and halves of characters, which no file can hold. Tab and line feed stay.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
)
_PICTURES = 0x2400  # Unicode's pictures of the control characters, in their order


def visible(text: str) -> str:
    """Return text with a visible sign in the place of each character that is none.

    Args:
        text: anything, such as a line of a program's log.
    """
    return _UNSEEN.sub(_sign, text)


def _sign(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code < 0x20:
        return chr(_PICTURES + code)
    return "␡" if code == 0x7F else "\ufffd"
