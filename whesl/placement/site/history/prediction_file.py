"""The file of predictions as JSON lines: followers of logs write it, the placement of jobs reads it."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from typing import NamedTuple

import msgspec

from whesl.files.decode_errors import UNDECODABLE
from whesl.model.errors import WheslError
from whesl.model.evidence import PredictedFailure

_LARGEST = 64 << 20  # largest number of bytes that are read, from the file's end


class Read(NamedTuple):
    """The content of a file of predictions.

    Attributes:
        predictions: the predictions, in the order of the file.
        malformed: numbers of invalid lines, with the reason; an unfinished last line is left out.
    """

    predictions: list[PredictedFailure]
    malformed: list[tuple[int, str]]


def append(path: Path, prediction: PredictedFailure) -> None:
    """Append a prediction in one piece, while others may write too.

    Args:
        path: the file, which is made if it does not exist; symbolic links are refused.
        prediction: the prediction.

    Raises:
        WheslError: the file cannot be written.
    """
    flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
    try:
        handle = os.open(path, flags, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            size = os.fstat(handle).st_size
            torn = size > 0 and os.pread(handle, 1, size - 1) != b"\n"
            os.write(handle, b"\n" * torn + msgspec.json.encode(prediction) + b"\n")
        finally:
            os.close(handle)
    except OSError as error:
        raise WheslError(f"cannot write {path}: {error.strerror or error}") from error


def read(path: Path) -> Read:
    """Read a file of predictions.

    Args:
        path: the file; a missing file holds no predictions.

    Raises:
        WheslError: the file cannot be read.
    """
    try:
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - _LARGEST))
            content = file.read(_LARGEST)
    except FileNotFoundError:
        return Read([], [])
    except OSError as error:
        raise WheslError(f"cannot read {path}: {error.strerror or error}") from error
    lines = content.split(b"\n")[:-1]
    found: list[PredictedFailure] = []
    malformed: list[tuple[int, str]] = []
    for number, line in enumerate(lines, 1):
        if not line.strip() or (number == 1 and size > _LARGEST):
            continue
        try:
            one = msgspec.json.decode(line, type=PredictedFailure)
        except UNDECODABLE as error:
            malformed.append((number, str(error)))
            continue
        if not one.node or not 0 < one.confidence <= 1 or not 0 < one.lead < 1e9:
            malformed.append((number, "no node, or a lead or confidence that is none"))
            continue
        found.append(one)
    return Read(found, malformed)
