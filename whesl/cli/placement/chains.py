"""``whesl placement chains``: mine, check and watch for messages that precede a node's failure."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from whesl.cli.lab.progress import shown
from whesl.cli.options import EXISTING, FILE, FOLDER, PRINT_JSON, QUIET, SEED
from whesl.cli.parameters import argument, option, parameters, required
from whesl.model.errors import UsageError
from whesl.prediction.log_chains import chains_file, synthetic, trial
from whesl.prediction.log_chains.chains_file import Chain
from whesl.prediction.log_chains.evaluation import Failure, Scores
from whesl.prediction.log_chains.log_stream_predictor import ChainStream, Compiled
from whesl.prediction.log_chains.saved_state import Memory

_LOG: tuple[Path, ...] = required("System log, also .xz.", "FILE", "--log", type=EXISTING)
_FORM: str | None = option(
    None,
    "Of its lines: syslog, iso, rfc5424, bluegene, thunderbird, system20, or a regular expression with "
    "the groups time, node and message [told by the first lines].",
    "FORM",
)
_JSON: bool = PRINT_JSON


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def chains() -> None:
    """Log chains: sequences of messages after which a node fails, with the time that is left.

    A chain is given by hand or mined from a log and the failures that came; docs/placement/chains.md has the
    file's format.
    """


@chains.command()
@parameters
def mine(
    *,
    logs: tuple[Path, ...] = _LOG,
    failure_log: Path = required(
        "Failures of nodes: sacctmgr show event, flux resource eventlog, or node,start,end.",
        "FILE",
        "--failures",
        type=EXISTING,
    ),
    form: str | None = _FORM,
    window: float = option(7200.0, "Messages so long before a failure count [7200].", "SECONDS", above=0),
    support: int = option(3, "Failures that share it [3].", "N", least=2),
    confidence: float = option(
        0.5, "The share of its matches that a failure follows [0.5].", "P", least=0, most=1
    ),
    shortest: int = option(2, "Messages at the least [2].", "N", least=1),
    longest: int = option(5, "At the most [5].", "N", least=1, most=8),
    out: Path | None = option(None, "Write chains.", "FILE", type=FILE),
    in_json: bool = PRINT_JSON,
    quiet: bool = QUIET,
) -> None:
    """Mine chains from a log and the failures that came.

    The scores are those of chains that were mined without the last 30 % of the failures, on these.
    """
    from whesl.prediction.log_chains import archived_logs
    from whesl.prediction.log_chains.mining import Settings

    settings = Settings(window, 10.0, support, confidence, shortest, max(shortest, longest))
    failures = _failures(failure_log)
    progress = shown(quiet=quiet or in_json)
    with progress.stage("messages", 2 * archived_logs.size(logs)) as advance:
        read = archived_logs.messages(logs, form, advance)
        mined = trial.mine(read, logs, form, failures, settings, advance=advance)
    if out is not None:
        chains_file.save(mined.chains, out, _told(mined))
    if in_json:
        click.echo(
            json.dumps(
                {
                    "lines": read.lines,
                    "unread_lines": read.unread,
                    "templates": len(read.drain.templates),
                    "failures": mined.failures,
                    "nodes_not_in_the_log": mined.strangers,
                    "held_out": _scores(mined.held_out) if mined.held_out else None,
                    "chains": [_chain(chain) for chain in mined.chains],
                }
            )
        )
        return
    click.echo(
        f"{read.lines:,} lines, {len(read.drain.templates):,} templates, {mined.failures} failures of nodes"
    )
    if read.unread:
        click.echo(f"{read.unread:,} lines have no time and node of the form, and are left out", err=True)
    if mined.strangers:
        click.echo(f"failed, and not in the log: {', '.join(mined.strangers[:10])}", err=True)
    click.echo(_told(mined))
    for chain in mined.chains:
        _show(chain)
    if out is not None:
        click.echo(f"written to {out}")


@chains.command()
@parameters
def check(
    *,
    file: Path = argument(type=EXISTING),
    logs: tuple[Path, ...] = option((), "Try them on a log.", "FILE", "--log", type=EXISTING),
    failure_log: Path | None = option(None, "Score them by these.", "FILE", "--failures", type=EXISTING),
    form: str | None = _FORM,
    in_json: bool = PRINT_JSON,
    quiet: bool = QUIET,
) -> None:
    """Check a file of chains; with --log try it, with --failures score it."""
    from whesl.prediction.log_chains import archived_logs

    if failure_log is not None and not logs:
        raise UsageError("--failures without --log", hint="give the log of the same time")
    found = chains_file.load(file)
    compiled = Compiled(found)
    result: dict[str, Any] = {"chains": [_chain(chain) for chain in found]}
    text = [f"{file}: {len(found)} chains of {len(compiled.steps.templates)} messages, compiled"]
    if logs:
        with shown(quiet=quiet or in_json).stage("lines", archived_logs.size(logs)) as advance:
            said, streams = archived_logs.run(compiled, logs, form, advance)
        seen = [sum(stream.steps[number] for stream in streams) for number in range(len(streams[0].steps))]
        steps = dict(zip(compiled.steps.templates, seen, strict=True))
        lines = sum(stream.lines for stream in streams)
        result |= {"lines": lines, "predictions": len(said), "seen": steps}
        text.append(f"{lines:,} lines, {len(said)} predictions")
        text += [f"never seen: {step}" for step, count in steps.items() if not count]
        if failure_log is not None:
            scores = trial.judged(said, found, _failures(failure_log))
            result["scores"] = _scores(scores)
            text.append(_sentence(scores))
    if in_json:
        click.echo(json.dumps(result))
        return
    click.echo("\n".join(text))


@chains.command()
@parameters
def run(
    *,
    file: Path = required("The chains.", "FILE", "--chains", type=EXISTING),
    path: str | None = option(None, "The log; - for standard input.", "FILE", "--log"),
    journal: bool = option(False, "Follow systemd's journal instead."),
    follow: bool = option(False, "Go on as it grows, also when it is rotated."),
    whole: bool = option(False, "With --follow: from its beginning, not from its present end."),
    state: Path | None = option(
        None,
        "With --follow: remember the place in the log and what is half seen; a restart goes on there.",
        "FILE",
        type=FILE,
    ),
    form: str | None = _FORM,
    deliver: bool = option(False, "Tell this user's running tasks that use the node."),
    nodes: str | None = option(None, "Of these nodes alone, such as n[001-512] [any that is named].", "LIST"),
    record: Path | None = option(None, "Append them to it.", "FILE", type=FILE),
    in_json: bool = PRINT_JSON,
) -> None:
    """Watch a log for chains, and say which node will fail, when, and why.

    Prints one line for each prediction. --deliver hands it to running tasks, whose rules and checkpoints use
    it. What follows a log is stopped by Ctrl-C or SIGTERM.
    """
    from whesl.cli.placement import chains_run

    if journal == (path is not None):
        raise UsageError("give either --log FILE or --journal")
    if follow and path == "-":
        raise UsageError("standard input is followed to its end anyway", hint="leave out --follow")
    if state is not None and not (follow and path):
        raise UsageError("--state without --log FILE --follow", hint="other logs are read once, as they come")
    known = chains_run.expanded(nodes) if nodes else None
    found = chains_file.load(file)
    stream = ChainStream(Compiled(found), chains_run.header(path, form))
    follower = chains_run.Follower(stream, known, record, in_json=in_json, deliver=deliver)
    kept = Memory(state, found, stream, follower.trouble) if state is not None else None
    follower.run(
        chains_run.source(stream, path, follow_on=follow, whole=whole, trouble=follower.trouble, memory=kept)
    )


@chains.command()
@parameters
def demo(
    *,
    files: tuple[Path, ...] = option(
        (),
        "Templates of real messages: CSV with a column EventTemplate, also .xz [built in].",
        "FILE",
        "--templates",
        type=EXISTING,
    ),
    nodes: int = option(64, "Nodes of the log [64].", "N", least=1),
    days: float = option(30.0, "Days of the log [30].", "N", least=2),
    failures: int = option(160, "Failures in the log [160].", "N", least=1),
    count: int = option(8, "Chains that are planted [8].", "N", least=1),
    seed: int = SEED,
    out: Path | None = option(
        None, "Keep the log, the failures, and the chains, planted and mined.", "DIR", type=FOLDER
    ),
    in_json: bool = PRINT_JSON,
    quiet: bool = QUIET,
) -> None:
    """Make a synthetic log with planted chains, mine and score them.

    Nothing in it was measured on a real machine: it shows that planted chains are found, and what a log with
        such chains would give.
    """
    from whesl.cli.placement import chains_demo

    settings = synthetic.Settings(nodes=nodes, days=days, failures=failures, chains=count, seed=seed)
    result = chains_demo.run(settings, files, out, shown(quiet=quiet or in_json))
    if in_json:
        click.echo(json.dumps(result.summary))
        return
    click.echo(result.text)


def _failures(path: Path) -> list[Failure]:
    """Return the failures of nodes in a file, with the nodes' names."""
    from whesl.lab.readers import site_log_format_detection

    loaded = site_log_format_detection.read_failures(path)
    history = loaded.history
    for line, why in loaded.malformed[:5]:
        click.echo(f"{path}:{line}: {why}", err=True)
    if loaded.malformed:
        click.echo(f"{len(loaded.malformed)} of {loaded.lines} lines are left out", err=True)
    if not history.names:
        raise UsageError(f"{path}: its nodes have no names, which a log could have")
    return [
        (history.names[node].partition(".")[0], float(time))
        for node, time in zip(history.node.tolist(), history.start.tolist(), strict=True)
    ]


def _told(mined: trial.Mined) -> str:
    if not mined.chains:
        return (
            f"no chain: no messages precede {mined.failures} failures often enough. "
            "Try a longer --window, a smaller --support, or --shortest 1."
        )
    if mined.held_out is None:
        return f"{mined.failures} failures are too few to hold some out: these chains were never tried"
    return f"on the failures held out: {_sentence(mined.held_out)}"


def _sentence(scores: Scores) -> str:
    if scores.precision is None:
        return f"no prediction, {scores.failures} failures"
    recall = "no failure in that time"
    if scores.recall is not None:
        recall = f"recall {scores.recall:.2f} ({scores.predicted} of {scores.failures} failures)"
    lead = scores.median_lead
    times = ""
    if lead is not None:
        low, high = scores.quantile(0.1), scores.quantile(0.9)
        times = f", lead time {lead:.0f} s (median; {low:.0f} to {high:.0f} s for four of five)"
    right = f"({scores.right} of {scores.predictions} predictions)"
    return f"precision {scores.precision:.2f} {right}, {recall}{times}"


def _scores(scores: Scores) -> dict[str, Any]:
    return {
        "predictions": scores.predictions,
        "precision": scores.precision,
        "failures": scores.failures,
        "recall": scores.recall,
        "lead_time": {
            "median": scores.median_lead,
            "low": scores.quantile(0.1),
            "high": scores.quantile(0.9),
        },
    }


def _chain(chain: Chain) -> dict[str, Any]:
    return {name: getattr(chain, name) for name in chain.__struct_fields__}


def _show(chain: Chain) -> None:
    click.echo(
        f"\n{chain.name}: {chain.hits} of {chain.matches} times the node then failed, "
        f"{chain.lead:.0f} s after the last message"
    )
    for step in chain.steps:
        click.echo(f"  {step}")
