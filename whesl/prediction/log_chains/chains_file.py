"""The file of log chains: TOML, written by hand or by the miner; errors are reported with their lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from whesl.files import toml
from whesl.files.whole_file import write_text
from whesl.model.errors import UsageError
from whesl.prediction.log_chains import template

VERSION = 1
_LONGEST = 32  # largest number of steps of a chain
_HINT = "accepted: version = 1, and [[chain]] with name, lead, window, confidence and steps; see docs"


class Chain(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A chain: a sequence of messages of one node, after which the node fails.

    Attributes:
        name: the chain's name.
        steps: templates in order; other messages may come between two of them.
        lead: median time from the last message to the failure, in seconds.
        window: longest time from the first to the last message, in seconds.
        within: longest time from the last message to the failure, in seconds; 0 for three times the lead.
        confidence: the probability that the node fails after the chain is complete.
        matches: how often the chain was complete in the log that it was mined from; 0 for a chain written by
            hand.
        hits: how often the node failed after a match.
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
        """Longest time from the last message to the failure, in seconds, by default at least a minute."""
        return self.within or max(3.0 * self.lead, 60.0)


def load(path: Path) -> tuple[Chain, ...]:
    """Read a file of chains.

    Args:
        path: the file.

    Raises:
        UsageError: the file cannot be read, or is invalid; the message lists all errors with their lines.
    """
    return _read(toml.load(path, _HINT))


def parse(text: str, name: str) -> tuple[Chain, ...]:
    """Read chains from the text of a file. Errors: see ``load``.

    Args:
        text: the file's content, TOML.
        name: the file's name, for error messages.
    """
    return _read(toml.Document(name, text, _HINT))


def _read(document: toml.Document) -> tuple[Chain, ...]:
    version = document.values.pop("version", None)
    if version != VERSION:
        said = "version is missing" if version is None else f"version {version!r}"
        raise UsageError(f"{document.path}: {said}; this program reads {VERSION}", hint=_HINT)
    for key in document.values.keys() - {"chain"}:
        document.wrong(f"{key!r} is not known here", key=key)
    names: set[str] = set()
    chains = []
    for number, chain in enumerate(document.rows(Chain, "chain")):
        if chain is None:
            continue
        for key, said in _wrong(chain):
            document.wrong(f"{key}: {said}", "chain", number, key)
        if chain.name in names:
            document.wrong(f"name: another chain is called {chain.name!r}", "chain", number, "name")
        names.add(chain.name)
        chains.append(chain)
    document.check()
    if not chains:
        raise UsageError(f"{document.path}: no chain in it", hint=_HINT)
    checked = ((chain, tuple(map(template.checked, chain.steps))) for chain in chains)
    return tuple(msgspec.structs.replace(chain, steps=steps) for chain, steps in checked)


def _wrong(chain: Chain) -> Iterator[tuple[str, str]]:
    """Yield each key of a chain that has an invalid value, with the problem."""
    if not chain.name.strip() or len(chain.name) > 200 or not chain.name.isprintable():
        yield "name", "1 to 200 printable characters"
    if not 1 <= len(chain.steps) <= _LONGEST:
        yield "steps", f"{len(chain.steps)} of them; 1 to {_LONGEST} are accepted"
    for key in ("lead", "window"):
        if not 0 < getattr(chain, key) <= 365 * 86400:
            yield key, f"{getattr(chain, key)} is not a number of seconds, above 0 and up to a year"
    if chain.within and not chain.lead <= chain.within <= 365 * 86400:
        yield "within", f"{chain.within} is not a number of seconds, from the lead to a year"
    if not 0 < chain.confidence <= 1:
        yield "confidence", f"{chain.confidence} is not a probability above 0 and up to 1"
    for place, step in enumerate(chain.steps, 1):
        try:
            template.checked(step)
        except UsageError as error:
            yield "steps", f"step {place}: {error.message}"


def text_of(chains: Sequence[Chain], comment: str = "") -> str:
    """Return the content of a file of chains.

    Args:
        chains: the chains to write.
        comment: comment lines at the begin of the file.
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
    """Write a file of chains; it gets its name only when it is complete on disk.

    Args:
        chains: the chains, which are written in this order.
        path: the file, which is replaced where it exists.
        comment: comment lines at the begin of the file, without their number signs.

    Raises:
        WheslError: the file cannot be written.
    """
    write_text(path, text_of(chains, comment))


def _quoted(text: str) -> str:
    if "'" not in text and text.isprintable():
        return f"'{text}'"
    kept = [letter if letter.isprintable() else f"\\U{ord(letter):08x}" for letter in text]
    return '"' + "".join({"\\": "\\\\", '"': '\\"'}.get(letter, letter) for letter in kept) + '"'
