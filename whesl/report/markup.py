"""Elements of a page, built as a tree so that every text is escaped by the one that writes it out."""

from __future__ import annotations

import re
from xml.etree.ElementTree import Element, tostring

Child = str | Element | None

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


def el(tag: str, *children: Child, **attributes: str) -> Element:
    """Return an element.

    Args:
        tag: its name.
        children: texts and elements in their order; None is left out.
        attributes: by name, with ``_`` for ``-``; a trailing ``_`` is for Python's own words (``class_``).
    """
    element = Element(tag, {_attribute(name): visible(value) for name, value in attributes.items()})
    last: Element | None = None
    for child in children:
        if isinstance(child, Element):
            element.append(child)
            last = child
        elif child:
            text = visible(child)
            if last is None:
                element.text = (element.text or "") + text
            else:
                last.tail = (last.tail or "") + text
    return element


def _attribute(name: str) -> str:
    return name.rstrip("_").replace("_", "-")


def document(html: Element) -> str:
    """Return a page's text."""
    return f"<!DOCTYPE html>\n{tostring(html, encoding='unicode', method='html')}\n"
