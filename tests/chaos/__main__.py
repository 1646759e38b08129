"""``python -m tests.chaos``: a workflow on a real Slurm whose parts fail about every second. Needs root.

Exit status: 0 when every task was done exactly once with the right output, or failed visibly as its rules
ask; 1 otherwise, with the directory of its logs and journals.
"""

from __future__ import annotations

import argparse
import os
import secrets
import sys
from pathlib import Path

import msgspec

from tests.chaos.director import KINDS
from tests.chaos.run import Options, Outcome, play
from tests.equipment.install_slurm import install
from whesl.model.errors import WheslError


def main(arguments: list[str] | None = None) -> int:
    """Run, print what came of it, and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    default = Options(seed=0)
    parser.add_argument("--seed", type=int, help="repeats the choice of faults (default: by chance)")
    parser.add_argument("--minutes", type=float, default=default.minutes)
    parser.add_argument("--nodes", type=int, default=default.nodes)
    parser.add_argument("--tasks", type=int, default=default.tasks)
    parser.add_argument("--cycles", type=int, help="of a task (default: enough for the minutes)")
    parser.add_argument("--every", type=float, default=default.every, help="seconds between faults")
    parser.add_argument(
        "--grace", type=float, default=default.grace, help="seconds to end in, without faults"
    )
    parser.add_argument("--only", action="append", choices=sorted(KINDS), help="only this kind; repeatable")
    parser.add_argument("--json", type=Path, help="write the outcome to this file as well")
    parser.add_argument("--keep", action="store_true", help="keep logs and journals of a good run too")
    given = parser.parse_args(arguments)
    if os.geteuid() != 0:
        parser.error("the cluster's nodes have networks and disks of their own, which only root can make")
    options = Options(
        seed=secrets.randbelow(1_000_000) if given.seed is None else given.seed,
        minutes=given.minutes,
        nodes=given.nodes,
        tasks=given.tasks,
        cycles=given.cycles or max(20, round(given.minutes * 12)),
        every=given.every,
        grace=given.grace,
        kinds=tuple(given.only or KINDS),
        keep=given.keep,
    )
    print(f"seed {options.seed}: {options.tasks} tasks on {options.nodes} nodes", flush=True)
    try:
        install(("slurm", "nfs"))
        outcome = play(options, _say)
    except WheslError as error:
        print(f"the run could not be made: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("interrupted; everything was ended", file=sys.stderr)
        return 130
    show(outcome)
    if given.json:
        given.json.write_bytes(msgspec.json.format(msgspec.json.encode(outcome), indent=2))
    return 1 if outcome.verdict.wrong else 0


def _say(text: str) -> None:
    print(text, flush=True)


def show(outcome: Outcome) -> None:
    """Print a table of faults by kind, and the verdict."""
    verdict = outcome.verdict
    print(f"\n{'fault':<22}{'injected':>9}{'tasks hit':>11}{'survived':>10}{'failed visibly':>16}")
    for row in outcome.kinds:
        print(
            f"{row['kind']:<22}{row['injected']:>9}{row['hit']:>11}{row['survived']:>10}{row['failed']:>16}"
        )
    print(
        f"{'all':<22}{outcome.faults:>9}"
        + "".join(f"{sum(row[c] for row in outcome.kinds):>{w}}" for c, w in _COLUMNS)
    )
    raised = ", ".join(f"{count} {name}" for name, count in sorted(verdict.exceptions.items())) or "none"
    print(f"\nexceptions raised: {raised}; runs of tasks: {verdict.runs}; jobs run again: {verdict.again}")
    print(
        f"{len(verdict.completed)} tasks done exactly once with the right output, {len(verdict.failed)} "
        f"failed visibly as their rules ask, {len(verdict.cancelled)} cancelled behind them; "
        f"{outcome.seconds:.0f} s"
    )
    for name, why in sorted(verdict.failed.items()):
        print(f"  {name} {why}")
    for text in verdict.wrong:
        print(f"WRONG: {text}")
    again = f"make chaos MINUTES={outcome.options.minutes:g} SEED={outcome.options.seed}"
    print(f"seed {outcome.options.seed} {'broke' if verdict.wrong else 'held'}; once more: {again}")


_COLUMNS = (("hit", 11), ("survived", 10), ("failed", 16))

if __name__ == "__main__":
    sys.exit(main())
