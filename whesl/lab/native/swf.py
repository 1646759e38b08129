"""Lines of numbers read in C (``swf.c``): those that it reads exactly, and which ones need a closer look."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from whesl.lab.native.library import library, pointer

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Rows(NamedTuple):
    """The lines that neither are empty nor begin with ";".

    Attributes:
        values: the first numbers of each, shape (fields, lines); undefined for odd lines.
        line: the number of each from 1, shape (lines,).
        odd: whether one of its words needs a closer look, shape (lines,).
    """

    values: NDArray[np.float64]
    line: NDArray[np.int64]
    odd: NDArray[np.bool_]


def rows(content: bytes, fields: int) -> Rows:
    """Read lines of numbers. Without a C compiler all of them are odd.

    Args:
        content: the text.
        fields: how many numbers of each line are read.
    """
    found = library()
    if found is None:
        texts = (text.lstrip(b" \t\r") for text in content.split(b"\n"))
        held = [number for number, text in enumerate(texts, 1) if text and not text.startswith(b";")]
        line = np.array(held, np.int64)
        return Rows(np.empty((fields, len(line))), line, np.ones(len(line), np.bool_))
    room = content.count(b"\n") + 1
    values, line, odd = np.empty((fields, room)), np.empty(room, np.int64), np.empty(room, np.bool_)
    found.rows.restype = ctypes.c_int64
    sizes = map(ctypes.c_int64, (len(content), fields, room))
    count = found.rows(content, *sizes, *map(pointer, (values, line, odd)))
    return Rows(values[:, :count], line[:count], odd[:count])
