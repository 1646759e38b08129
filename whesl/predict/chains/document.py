"""The file of log chains: TOML, by hand or by the miner; what is wrong in it is said with its line."""

from __future__ import annotations

import os
import re
import sys
from typing import TYPE_CHECKING

import msgspec

from whesl.model.errors import UsageError, WheslError
from whesl.predict.chains import template

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

VERSION = 1
_LONGEST = 32  # steps
_LARGEST = 16 << 20  # bytes of a file
_HINT = "accepted: version = 1, and [[chain]] with name, lead, window, confidence and steps; see docs"


class Chain(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A sequence of messages of one node, after which it fails.

    Attributes:
        name: what it is called.
        steps: templates in order; other messages may come between two of them.
        lead: from the last message to the failure, the median, in seconds.
        window: the first and the last message are at most so far apart, in seconds.
        within: how long after the last message the failure may come, in seconds; 0 for three times the lead.
        confidence: the probability that the node fails after it.
        matches: how often it was complete in the log that it was mined from; 0 where it was given by hand.
        hits: how often the node then failed.
    """

    name: str
    steps: tuple[str, ...]
    lead: float
    window: float = 3600.0
    within: float = 0.0
    confidence: float = 0.5
    matches: int = 0
    hits: int = 0

    @property
    def patience(self) -> float:
        """How long after the last message the failure may come, in seconds, a minute at the least."""
        return self.within or max(3.0 * self.lead, 60.0)


class _Document(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    version: int
    chain: tuple[dict[str, object], ...] = ()


def load(path: Path) -> tuple[Chain, ...]:
    """Read a file of chains.

    Args:
        path: the file.

    Raises:
        UsageError: it cannot be read, or something in it is wrong; all that is wrong is named with its lines.
    """
    try:
        with path.open("rb") as file:
            content = file.read(_LARGEST + 1)
        text = content.decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read {path}: {error}") from error
    if len(content) > _LARGEST:
        raise UsageError(f"{path} is larger than {_LARGEST >> 20} MiB")
    return parse(text, str(path))


def parse(text: str, name: str) -> tuple[Chain, ...]:
    """Read the text of a file. Errors as of ``load``.

    Args:
        text: TOML.
        name: the file's, for messages.
    """
    try:
        document = msgspec.convert(tomllib.loads(text), _Document)
    except tomllib.TOMLDecodeError as error:
        line = re.search(r"at line (\d+)", str(error))
        where = f":{line[1]}" if line else ""
        raise UsageError(f"{name}{where}: no TOML: {error}", hint=_HINT) from error
    except (msgspec.ValidationError, RecursionError) as error:
        raise UsageError(f"{name}: {error}", hint=_HINT) from error
    if document.version != VERSION:
        raise UsageError(f"{name}: version {document.version}; this program reads {VERSION}", hint=_HINT)
    lines = text.splitlines()
    headers = [place for place, line in enumerate(lines) if re.match(r"\s*\[\[\s*chain\s*\]\]", line)]
    chains: list[Chain] = []
    wrong: list[str] = []
    names: set[str] = set()
    for number, found in enumerate(document.chain):
        first = headers[number] if number < len(headers) else 0
        last = headers[number + 1] if number + 1 < len(headers) else len(lines)
        try:
            chain = _chain(found)
            if chain.name in names:
                raise UsageError(f"name: another chain is called {chain.name!r}")
        except (UsageError, msgspec.ValidationError) as error:
            told = error.message if isinstance(error, UsageError) else str(error)
            wrong.append(f"{name}:{_line(lines, first, last, told)}: {told}")
            continue
        names.add(chain.name)
        chains.append(chain)
    if wrong:
        raise UsageError("\n".join(wrong), hint=_HINT)
    if not chains:
        raise UsageError(f"{name}: no chain in it", hint=_HINT)
    return tuple(chains)


def _chain(found: dict[str, object]) -> Chain:
    """Return a chain. Raises UsageError or ValidationError whose text names the key."""
    chain = msgspec.convert(found, Chain)
    if not chain.name.strip() or len(chain.name) > 200 or not chain.name.isprintable():
        raise UsageError("name: 1 to 200 printable characters")
    if not 1 <= len(chain.steps) <= _LONGEST:
        raise UsageError(f"steps: {len(chain.steps)} of them; 1 to {_LONGEST} are accepted")
    for key in ("lead", "window"):
        if not 0 < getattr(chain, key) <= 365 * 86400:
            raise UsageError(
                f"{key}: {getattr(chain, key)} is not a number of seconds, above 0 and up to a year"
            )
    if chain.within and not chain.lead <= chain.within <= 365 * 86400:
        raise UsageError(f"within: {chain.within} is not a number of seconds, from the lead to a year")
    if not 0 < chain.confidence <= 1:
        raise UsageError(f"confidence: {chain.confidence} is not a probability above 0 and up to 1")
    steps = []
    for place, step in enumerate(chain.steps, 1):
        try:
            steps.append(template.checked(step))
        except UsageError as error:
            raise UsageError(f"steps: step {place}: {error.message}", hint=error.hint) from error
    return msgspec.structs.replace(chain, steps=tuple(steps))


def _line(lines: list[str], first: int, last: int, told: str) -> int:
    """Return the number of the line, within a chain, whose key a message names first."""
    keys = [line.partition("=")[0].strip() for line in lines[first:last]]
    for word in re.findall(r"\w+", told):
        if word in keys:
            return first + keys.index(word) + 1
    return first + 1


def text_of(chains: Sequence[Chain], comment: str = "") -> str:
    """Return chains as a file has them.

    Args:
        chains: what is written.
        comment: lines at the beginning.
    """
    parts = [f"# {line}" for line in comment.splitlines()]
    parts += [f"version = {VERSION}"]
    for chain in chains:
        parts += ["", "[[chain]]", f"name = {_quoted(chain.name)}"]
        parts += [f"lead = {chain.lead:.0f}  # seconds from the last message to the failure, the median"]
        parts += [f"window = {chain.window:.0f}", f"confidence = {chain.confidence:.3f}"]
        if chain.within:
            parts += [f"within = {chain.within:.0f}"]
        if chain.matches:
            parts += [f"matches = {chain.matches}", f"hits = {chain.hits}"]
        parts += ["steps = [", *(f"  {_quoted(step)}," for step in chain.steps), "]"]
    return "\n".join(parts) + "\n"


def save(chains: Sequence[Chain], path: Path, comment: str = "") -> None:
    """Write a file of chains; it takes its name when all of it is on the disk. Arguments as of ``text_of``.

    Raises:
        WheslError: it cannot be written.
    """
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with beside.open("x", encoding="utf-8") as file:
            file.write(text_of(chains, comment))
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise WheslError(f"cannot write {path}: {error.strerror or error}") from error


def _quoted(text: str) -> str:
    if "'" not in text and text.isprintable():
        return f"'{text}'"
    kept = [letter if letter.isprintable() else f"\\U{ord(letter):08x}" for letter in text]
    return '"' + "".join({"\\": "\\\\", '"': '\\"'}.get(letter, letter) for letter in kept) + '"'
