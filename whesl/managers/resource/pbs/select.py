"""Select statements of PBS jobs: ``-l select=2:ncpus=4:mpiprocs=4+1:mem=8gb`` (pbs_resources(7B)). Pure."""

from __future__ import annotations

import re

import msgspec

from whesl.model.errors import UsageError

_NAME = re.compile(r"[A-Za-z][\w-]*")


class Chunk(msgspec.Struct, frozen=True):
    """A set of resources on one node, wanted ``count`` times; values are kept as the user wrote them."""

    count: int = 1
    resources: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        return ":".join([str(self.count), *(f"{name}={value}" for name, value in self.resources)])


def parse(text: str) -> tuple[Chunk, ...]:
    """Return the chunks of a select statement (without ``select=``). Raises UsageError."""
    return tuple(_chunk(part) for part in _split(text, "+"))


def written(chunks: tuple[Chunk, ...]) -> str:
    """Return the select statement of chunks; the reverse of ``parse``."""
    return "+".join(map(str, chunks))


def _chunk(text: str) -> Chunk:
    words = _split(text, ":")
    count = 1
    if "=" not in words[0]:
        if not (words[0].isascii() and words[0].isdecimal() and int(words[0]) > 0):
            raise UsageError(f"select: {words[0]!r} is no number of chunks")
        count, words = int(words[0]), words[1:]
    resources = []
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or not _NAME.fullmatch(name) or not value:
            raise UsageError(f"select: {word!r} is not resource=value")
        resources.append((name, value))
    return Chunk(count, tuple(resources))


def _split(text: str, at: str) -> list[str]:
    """Split a text at a letter outside quotes. Raises UsageError for a quote without an end."""
    parts, quote = [""], ""
    for letter in text:
        if letter == at and not quote:
            parts.append("")
            continue
        if letter in "\"'":
            quote = "" if quote == letter else quote or letter
        parts[-1] += letter
    if quote:
        raise UsageError(f"select: a quote without an end: {text!r}")
    return parts
