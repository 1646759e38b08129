"""Elements of a page, built as a tree so that the function that writes the page escapes every text."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Sequence
from importlib import resources
from xml.etree.ElementTree import Element, tostring

from whesl import __version__
from whesl.model.printable import visible

Child = str | Element | None


def el(tag: str, *children: Child, **attributes: str) -> Element:
    """Return an element.

    Args:
        tag: the element's name.
        children: texts and elements in their order; None is left out.
        attributes: by name, with ``_`` for ``-``; a trailing ``_`` avoids Python's keywords (``class_``).
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


def table(name: str, columns: Sequence[str], rows: Iterable[Sequence[Child]]) -> Element:
    """Return a table that scrolls by itself where it is wider than the page.

    Args:
        name: what a screen reader says of it.
        columns: the headings.
        rows: the cells of each row.
    """
    head = el("thead", el("tr", *(el("th", column, scope="col") for column in columns)))
    body = el("tbody", *(el("tr", *(el("td", cell) for cell in cells)) for cells in rows))
    return el("div", el("table", head, body), class_="wide", role="region", aria_label=name, tabindex="0")


def page(title: str, *body: Child, style: str = "") -> str:
    """Return a page's text: a self-contained file that forbids all resources except its one style sheet.

    Args:
        title: the title in the browser's tab.
        body: the content of the page.
        style: CSS rules, which follow those of all pages.
    """
    sheet = resources.files("whesl.report").joinpath("page.css").read_text(encoding="utf-8") + style
    digest = base64.b64encode(hashlib.sha256(sheet.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    head = el(
        "head",
        el("meta", charset="utf-8"),
        el("meta", http_equiv="Content-Security-Policy", content=policy),
        el("meta", name="viewport", content="width=device-width, initial-scale=1"),
        el("meta", name="color-scheme", content="light dark"),
        el("meta", name="generator", content=f"WHESL {__version__}"),
        el("title", title),
        el("style", sheet),
    )
    html = el("html", head, el("body", *body), lang="en")
    return f"<!DOCTYPE html>\n{tostring(html, encoding='unicode', method='html')}\n"
