"""Lines of numbers read in C (``swf.c``); lines that the C code cannot read exactly are marked as odd."""

from __future__ import annotations

import ctypes
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from whesl.lab.native.library import library, pointer


class Rows(NamedTuple):
    """The lines of a text that are neither empty nor begin with ";".

    Attributes:
        values: the first numbers of each line, shape (fields, lines); undefined for odd lines.
        line: each line's number in the text, from 1, shape (lines,).
        odd: whether the C code could not read one of the line's first words exactly, shape (lines,).
    """

    values: NDArray[np.float64]
    line: NDArray[np.int64]
    odd: NDArray[np.bool_]


def rows(content: bytes, fields: int) -> Rows:
    """Read lines of numbers. Without a C compiler all lines are odd.

    Args:
        content: the text as bytes.
        fields: number of numbers to read from each line.
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
