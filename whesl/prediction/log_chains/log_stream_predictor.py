"""Predicts failures from the bytes of a log; each line is read once, however the bytes are split."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from whesl.language.pattern_and_stream_records import Pattern
from whesl.model.evidence import PredictedFailure
from whesl.model.printable import visible
from whesl.prediction.failures.predictor_base import span
from whesl.prediction.log_chains import template
from whesl.prediction.log_chains.chain_matcher import Complete, Machine, Steps
from whesl.prediction.log_chains.chains_file import Chain
from whesl.prediction.log_chains.lines import Header, Line, told
from whesl.runtime.detect.engines import Engine, make_engine
from whesl.runtime.detect.regex_canonical_form import canonical

_LONGEST = 1 << 20  # largest number of bytes of a line; the rest is left out
_BLOCK = 1 << 18  # bytes per search
_SHOWN = 200  # number of bytes of a line that are kept as evidence
SOURCE = "chains"


class Compiled:
    """Chains with compiled search patterns.

    Args:
        chains: the chains; see ``chains_file.load``.
        engine: the regular-expression engine: ``auto``, ``hyperscan`` or ``re2``.
    """

    def __init__(self, chains: Sequence[Chain], engine: str = "auto") -> None:
        self.chains = tuple(chains)
        self.steps = Steps(chains)
        anchors = dict.fromkeys(template.anchor(step).text for step in self.steps.templates)
        literals = [canonical(Pattern(text=text)) for text in anchors]
        self.lines: Engine = make_engine(literals, engine)
        self.messages: Engine = make_engine(
            [canonical(template.whole(step)) for step in self.steps.templates], engine
        )


class ChainStream:
    """The prediction from one log. Lines are read in order; an unfinished line waits for its end.

    Args:
        compiled: the compiled chains.
        header: the line reader; None to find the form from the first lines.

    Attributes:
        machine: the state of the chains of all nodes.
        lines: number of lines read.
        steps: how often each template was seen.
        unread: number of lines that contain a template's text, but no time and node.
        cut: number of lines longer than 1 MiB, whose rest was left out.
    """

    def __init__(self, compiled: Compiled, header: Header | None = None) -> None:
        self._compiled = compiled
        self.header = header
        self.machine = Machine(compiled.steps)
        self.lines = 0
        self.steps = [0] * len(compiled.steps.templates)
        self.unread = 0
        self.cut = 0
        self._carry = bytearray()
        self._cutting = False

    def feed(self, data: bytes) -> list[PredictedFailure]:
        """Read the log's next bytes, and return the failures that they predict.

        Args:
            data: the next bytes, split at any place.
        """
        end = data.rfind(b"\n") + 1
        if not end:
            self._keep(data)
            return []
        first = data.find(b"\n") + 1
        found: list[PredictedFailure] = []
        begin = 0
        if self._carry or self._cutting:
            self._carry += b"" if self._cutting else data[:first]
            found += self._scan(bytes(self._carry).rstrip(b"\n") + b"\n")
            self._carry.clear()
            self._cutting = False
            begin = first
        while begin < end:
            stop = end if end - begin <= _BLOCK else data.rfind(b"\n", begin, begin + _BLOCK) + 1
            stop = stop or data.find(b"\n", begin) + 1
            found += self._scan(data[begin:stop])
            begin = stop
        self._keep(data[end:])
        return found

    def finish(self) -> list[PredictedFailure]:
        """End an unfinished line, as before another file, and return the failures that the line predicts."""
        return self.feed(b"\n") if self._carry or self._cutting else []

    @property
    def torn(self) -> int:
        """The number of kept bytes of an unfinished line."""
        return len(self._carry)

    def _keep(self, data: bytes) -> None:
        if self._cutting:
            return
        self._carry += data
        if len(self._carry) > _LONGEST:
            del self._carry[_LONGEST:]
            self._cutting = True
            self.cut += 1

    def _scan(self, block: bytes) -> Iterator[PredictedFailure]:
        self.lines += block.count(b"\n")
        if self.header is None:
            self.header = told(block.split(b"\n"))
            if self.header is None:
                return
        for start, end, _ in self._compiled.lines.lines(block, 0, len(block)):
            line = self.header.read(block[start:end])
            if line is None:
                self.unread += 1
                continue
            yield from self._taken(line, block[start : min(end, start + _SHOWN)])

    def _taken(self, line: Line, shown: bytes) -> Iterator[PredictedFailure]:
        templates = self._compiled.messages.line(line.message)
        if not templates:
            return
        for number in templates:
            self.steps[number] += 1
        text = visible(shown.decode("utf-8", "replace"))
        for complete in self.machine.feed(line.node, line.time, templates, text):
            yield predicted(self._compiled.chains[complete.chain], complete)


def predicted(chain: Chain, complete: Complete) -> PredictedFailure:
    """Return the prediction of a complete chain.

    Args:
        chain: the chain.
        complete: node and messages of the completion.
    """
    often = f"{chain.hits} of {chain.matches} times the node then failed" if chain.matches else "as given"
    count = len(complete.seen)
    apart = span(complete.time - complete.seen[0].time)
    last = complete.seen[-1].line
    return PredictedFailure(
        node=complete.node,
        time=complete.time,
        lead=chain.lead,
        confidence=chain.confidence,
        evidence=f"chain {chain.name} ({often}): {count} messages in {apart}, the last: {last}",
        source=f"{SOURCE}:{chain.name}",
    )
