"""Elements of a page, built as a tree so that every text is escaped by the one that writes it out."""

from __future__ import annotations

from xml.etree.ElementTree import Element, tostring

from whesl.model.printable import visible

Child = str | Element | None


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
