"""``whesl learn``: rules from good and bad runs of the same work."""

from __future__ import annotations

import click
import msgspec

from whesl.cli.named_files import named_files
from whesl.cli.parameters import option, parameters


@click.command()
@parameters
def learn(
    *,
    good: tuple[str, ...] = named_files("Logs of runs that ended well, each a run.", "LOG"),
    bad: tuple[str, ...] = named_files("Logs of runs that failed, each a run.", "LOG"),
    as_json: bool = option(False, "Print one JSON object.", names="--json"),
) -> int:
    """Find rules in logs: lines before failures, hang timers, what good runs need.

    \b
    whesl learn --good runs/ok-*.log --bad runs/dead-*.log > learned.esl
    whesl learn

    Without logs your own finished tasks are the runs. The earlier runs are learned from, the later ones
    judge that: precision and recall are theirs.

    Exit status: 0 something was learned, 3 too little to learn from, 2 usage.
    """
    from whesl.runtime.rule_learning.learn import learn as learned_of
    from whesl.runtime.rule_learning.run_log_reader import run_of
    from whesl.runtime.rule_learning.specification import specification

    if good or bad:
        logs = [([name], True) for name in good] + [([name], False) for name in bad]
    else:
        from whesl.client.task_outputs import runs
        from whesl.runtime.wire import keys

        logs = runs(keys.home())
    found = learned_of([run_of(files, good=well) for files, well in logs])
    if as_json:
        told = {**msgspec.to_builtins(found), "rules": specification(found)}
        click.echo(msgspec.json.format(msgspec.json.encode(told), indent=2))
    else:
        click.echo(specification(found), nl=False)
    return 0 if found.lines or found.timer is not None else 3
