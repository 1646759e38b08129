"""``whesl placement chains demo``: a synthetic log, mined and scored."""

from __future__ import annotations

import contextlib
import csv
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from whesl.files.packed_text import opened
from whesl.files.whole_file import write_bytes
from whesl.model.errors import UsageError, WheslError
from whesl.prediction.log_chains import archived_logs, chains_file, synthetic, trial
from whesl.prediction.log_chains.log_stream_predictor import Compiled
from whesl.prediction.log_chains.mining import Settings

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from whesl.lab.execution.progress_interface import Progress
    from whesl.prediction.log_chains.evaluation import Scores

_COLUMN = "EventTemplate"


class Result(NamedTuple):
    """The result: values for JSON, and text for people."""

    summary: dict[str, Any]
    text: str


def run(settings: synthetic.Settings, files: Sequence[Path], out: Path | None, progress: Progress) -> Result:
    """Make a log, mine it, and score the chains that were planted and those that were found.

    Args:
        settings: the settings of the synthetic log.
        files: files with templates; empty for the built-in templates.
        out: the directory for all files; None to write none.
        progress: the display of progress.

    Raises:
        UsageError: a file has no templates, or too few.
        WheslError: the directory cannot be written.
    """
    known = [one for file in files for one in templates(file)] or list(synthetic.TEMPLATES)
    log = synthetic.make(settings, known)
    with _folder(out) as folder:
        path = folder / "log"
        write_bytes(path, b"".join(log.lines))
        rows = "".join(f"{node},{when:.3f},{when + 3600:.3f}\n" for node, when in log.failures)
        write_bytes(folder / "failures.csv", b"node,start,end\n" + rows.encode())
        chains_file.save(log.chains, folder / "planted.toml", "Planted in a synthetic log.")
        with progress.stage("synthetic log", 3 * path.stat().st_size) as advance:
            begun = time.process_time()
            said, streams = archived_logs.run(Compiled(log.chains), [path], None, advance)
            seconds = time.process_time() - begun
            planted = trial.judged(said, log.chains, log.failures)
            read = archived_logs.messages([path], None, advance)
            mined = trial.mine(read, [path], None, log.failures, Settings(), advance=advance)
        chains_file.save(mined.chains, folder / "mined.toml", "Mined from a synthetic log.")
    lines = streams[0].lines
    most = len(log.preceded) / len(log.failures)
    summary = {
        "synthetic": True,
        "seed": settings.seed,
        "lines": lines,
        "templates": len(known),
        "failures": len(log.failures),
        "preceded_by_a_chain": most,
        "planted": _figures(planted, len(log.chains)),
        "mined": _figures(mined.held_out, len(mined.chains)) if mined.held_out else None,
        "microseconds_per_line": 1e6 * seconds / lines,
    }
    text = [
        f"Synthetic log, seed {settings.seed}: {lines:,} lines of {settings.nodes} nodes, "
        f"{len(log.failures)} failures, {100 * most:.0f} % of them after a planted chain.",
        "",
        f"{'':<28}{'chains':>8}{'precision':>11}{'recall':>8}{'lead s':>8}",
        _row("planted, whole log", planted, len(log.chains)),
    ]
    if mined.held_out is not None:
        text.append(_row("mined, on held-out failures", mined.held_out, len(mined.chains)))
    text += ["", f"{summary['microseconds_per_line']:.1f} microseconds a line with {len(log.chains)} chains."]
    if out is not None:
        text.append(f"In {out}: log, failures.csv, planted.toml, mined.toml")
    return Result(summary, "\n".join(text))


def templates(path: Path) -> list[str]:
    """Return the templates of a file: CSV with a column ``EventTemplate``.

    Raises:
        UsageError: the file has no such column, or is no text.
    """
    try:
        with opened(path) as file:
            reader = csv.DictReader(file.read().decode("utf-8", "replace").splitlines())
            if _COLUMN not in (reader.fieldnames or ()):
                raise UsageError(f"{path}:1: no column {_COLUMN}", hint="loghub's *_templates.csv has it")
            return [row[_COLUMN] for row in reader if row[_COLUMN]]
    except csv.Error as error:
        raise UsageError(f"{path}: {error}") from error


@contextlib.contextmanager
def _folder(out: Path | None) -> Iterator[Path]:
    if out is None:
        with tempfile.TemporaryDirectory(prefix="whesl-chains-") as folder:
            yield Path(folder)
        return
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise WheslError(f"cannot make {out}: {error.strerror or error}") from error
    yield out


def _figures(scores: Scores, chains: int) -> dict[str, Any]:
    return {
        "chains": chains,
        "precision": scores.precision,
        "recall": scores.recall,
        "lead_time": scores.median_lead,
    }


def _row(label: str, scores: Scores, chains: int) -> str:
    cells = [f"{value:.2f}" if value is not None else "-" for value in (scores.precision, scores.recall)]
    lead = f"{scores.median_lead:.0f}" if scores.median_lead is not None else "-"
    return f"{label:<28}{chains:>8}{cells[0]:>11}{cells[1]:>8}{lead:>8}"
