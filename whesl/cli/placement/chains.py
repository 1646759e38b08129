"""``whesl placement chains``: messages after which a node fails, mined, checked and watched for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from whesl.cli.lab.progress import shown
from whesl.cli.options import FILE, FOLDER, quiet_option, seed_option
from whesl.model.errors import UsageError
from whesl.prediction.log_chains import chains_file, synthetic, trial
from whesl.prediction.log_chains.log_stream_predictor import ChainStream, Compiled
from whesl.prediction.log_chains.saved_state import Memory

if TYPE_CHECKING:
    from whesl.prediction.log_chains.chains_file import Chain
    from whesl.prediction.log_chains.evaluation import Failure, Scores

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
_log_option = click.option(
    "--log",
    "logs",
    type=_FILE,
    multiple=True,
    required=True,
    metavar="FILE",
    help="System log, also .xz.",
)
_form_option = click.option(
    "--form",
    metavar="FORM",
    help="Of its lines: syslog, iso, rfc5424, bluegene, thunderbird, system20, or a regular expression with "
    "the groups time, node and message [told by the first lines].",
)
_json_option = click.option("--json", "in_json", is_flag=True, help="Print JSON.")


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def chains() -> None:
    """Log chains: sequences of messages after which a node fails, with the time that is left.

    A chain is given by hand or mined from a log and the failures that came; docs/placement/chains.md has the
    file's format.
    """


@chains.command()
@_log_option
@click.option(
    "--failures",
    "failure_log",
    type=_FILE,
    required=True,
    metavar="FILE",
    help="Failures of nodes: sacctmgr show event, flux resource eventlog, or node,start,end.",
)
@_form_option
@click.option(
    "--window",
    type=click.FloatRange(0, min_open=True),
    default=7200.0,
    metavar="SECONDS",
    help="Messages so long before a failure count [7200].",
)
@click.option("--support", type=click.IntRange(2), default=3, metavar="N", help="Failures that share it [3].")
@click.option(
    "--confidence",
    type=click.FloatRange(0, 1),
    default=0.5,
    metavar="P",
    help="The share of its matches that a failure follows [0.5].",
)
@click.option("--shortest", type=click.IntRange(1), default=2, metavar="N", help="Messages at the least [2].")
@click.option("--longest", type=click.IntRange(1, 8), default=5, metavar="N", help="At the most [5].")
@click.option("--out", type=FILE, metavar="FILE", help="Write chains.")
@_json_option
@quiet_option
def mine(
    logs: tuple[Path, ...],
    failure_log: Path,
    form: str | None,
    window: float,
    support: int,
    confidence: float,
    shortest: int,
    longest: int,
    out: Path | None,
    in_json: bool,
    quiet: bool,
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
@click.argument("file", type=_FILE)
@click.option("--log", "logs", type=_FILE, multiple=True, metavar="FILE", help="Try them on a log.")
@click.option("--failures", "failure_log", type=_FILE, metavar="FILE", help="Score them by these.")
@_form_option
@_json_option
@quiet_option
def check(
    file: Path, logs: tuple[Path, ...], failure_log: Path | None, form: str | None, in_json: bool, quiet: bool
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
@click.option("--chains", "file", type=_FILE, required=True, metavar="FILE", help="The chains.")
@click.option("--log", "path", metavar="FILE", help="The log; - for standard input.")
@click.option("--journal", is_flag=True, help="Follow systemd's journal instead.")
@click.option("--follow", is_flag=True, help="Go on as it grows, also when it is rotated.")
@click.option("--whole", is_flag=True, help="With --follow: from its beginning, not from its present end.")
@click.option(
    "--state",
    type=FILE,
    metavar="FILE",
    help="With --follow: remember the place in the log and what is half seen; a restart goes on there.",
)
@_form_option
@click.option("--deliver", is_flag=True, help="Tell this user's running tasks that use the node.")
@click.option("--nodes", metavar="LIST", help="Of these nodes alone, such as n[001-512] [any that is named].")
@click.option(
    "--record",
    type=FILE,
    metavar="FILE",
    help="Append them to it.",
)
@_json_option
def run(
    file: Path,
    path: str | None,
    journal: bool,
    follow: bool,
    whole: bool,
    state: Path | None,
    form: str | None,
    nodes: str | None,
    deliver: bool,
    record: Path | None,
    in_json: bool,
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
@click.option(
    "--templates",
    "files",
    type=_FILE,
    multiple=True,
    metavar="FILE",
    help="Templates of real messages: CSV with a column EventTemplate, also .xz [built in].",
)
@click.option("--nodes", type=click.IntRange(1), default=64, metavar="N", help="Nodes of the log [64].")
@click.option("--days", type=click.FloatRange(2), default=30.0, metavar="N", help="Days of the log [30].")
@click.option(
    "--failures", type=click.IntRange(1), default=160, metavar="N", help="Failures in the log [160]."
)
@click.option("--count", type=click.IntRange(1), default=8, metavar="N", help="Chains that are planted [8].")
@seed_option()
@click.option(
    "--out",
    type=FOLDER,
    metavar="DIR",
    help="Keep the log, the failures, and the chains, planted and mined.",
)
@_json_option
@quiet_option
def demo(
    files: tuple[Path, ...],
    nodes: int,
    days: float,
    failures: int,
    count: int,
    seed: int,
    out: Path | None,
    in_json: bool,
    quiet: bool,
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
    """Return failures of nodes by name."""
    from whesl.lab.readers import format_detection

    loaded = format_detection.read_failures(path)
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
