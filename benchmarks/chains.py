"""What a line of a system log costs with 50 chains, beside hyperscan's bare scan of the same bytes.

    python benchmarks/chains.py [--quick] [--json FILE] [--templates FILE]...

The log is synthetic: messages of templates (built in, or those of loghub's CSV files) from many nodes, with
planted chains. `bare scan` is the same expressions in hyperscan's block mode over the same blocks: it finds
candidate lines, and knows neither nodes nor times. Processor time, best of several runs: it
needs one processor and waits for nothing, and other work on the machine does not count.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path

from measure import Figure, arguments, run_parts

from whesl.cli.placement.chains_demo import templates
from whesl.prediction.log_chains import synthetic, template
from whesl.prediction.log_chains.lines import Header
from whesl.prediction.log_chains.log_stream_predictor import ChainStream, Compiled
from whesl.runtime.detect.engines import make_engine
from whesl.runtime.detect.regex_canonical_form import canonical

CHAINS = 50
BLOCK = 1 << 18


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--templates", type=Path, action="append", default=[])
    own, rest = parser.parse_known_args()
    sys.argv[1:] = rest
    known = [one for file in own.templates for one in templates(file)] or list(synthetic.TEMPLATES)
    run_parts(
        arguments("A line of a system log with 50 chains."),
        [
            ("usual log", lambda quick: _measured("usual log", known, 40.0, 0.3, quick)),
            (
                "a node's storm",
                lambda quick: _measured("half of all lines are steps", known, 20.0, 20.0, quick),
            ),
        ],
    )


def _measured(name: str, known: list[str], noise: float, strays: float, quick: bool) -> list[Figure]:
    settings = synthetic.Settings(
        nodes=64, days=10.0 if quick else 60.0, chains=CHAINS, failures=400, noise=noise, strays=strays
    )
    log = synthetic.make(settings, known)
    data = b"".join(log.lines)
    blocks = [data[at : at + BLOCK] for at in range(0, len(data), BLOCK)]
    compiled = Compiled(log.chains)
    anchors = dict.fromkeys(template.anchor(step) for step in compiled.steps.templates)
    engine = make_engine([canonical(pattern) for pattern in anchors], "auto")
    whole = make_engine([canonical(template.whole(step)) for step in compiled.steps.templates], "auto")

    def chains() -> None:
        stream = ChainStream(compiled, Header("iso"))
        for block in blocks:
            stream.feed(block)

    def bare(chosen: object) -> Callable[[], None]:
        def scan() -> None:
            for block in blocks:
                # The budget of reports is the engine's own: a block that is full of matches is scanned whole.
                chosen._blocks.scan(block, match_event_handler=_ignored)  # type: ignore[attr-defined]

        return scan

    lines = len(log.lines)
    took = _best(chains) / lines * 1e6
    fixed = _best(bare(engine)) / lines * 1e6
    full = _best(bare(whole)) / lines * 1e6
    note = f"{lines} lines, {len(compiled.steps.templates)} templates"
    return [
        Figure(f"{name}, {CHAINS} chains, a line", took, "us", 100.0, note=note),
        Figure(f"{name}, bare scan for fixed texts", fixed, "us", note=f"{took / fixed:.1f} x with chains"),
        Figure(f"{name}, bare scan for whole templates", full, "us", note=f"{took / full:.1f} x with chains"),
    ]


def _ignored(*_: object) -> None:
    return None


def _best(work: Callable[[], None]) -> float:
    best = float("inf")
    for _ in range(5):
        begun = time.process_time()
        work()
        best = min(best, time.process_time() - begun)
    return best


if __name__ == "__main__":
    main()
