"""The output files of a Slurm job and of its steps, from its submission and its batch script. Pure."""

from __future__ import annotations

import glob
import re
import shlex
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path

from whesl.managers.resource.launcher_shims.launcher_options import parse_srun

_OPERATOR = re.compile(r"[;&|()<>]+")
# A variable or command of the shell that is not known here, and a field of srun(1) such as %t or %4t.
_UNKNOWN = re.compile(r"\$\([^)]*\)|`[^`]*`|\$\{[^}]*\}|\$\w+")
_FIELD = re.compile(r"%(\d*)([A-Za-z])")


def written_files(submission: str, script: str, words: Mapping[str, str]) -> tuple[str, ...]:
    """Return glob patterns of the files that a job and its steps write their output to.

    Args:
        submission: the command that submitted the job, ``sbatch --output=...``; empty where it is not known.
        script: the batch script; empty where it is not known.
        words: the job's fields, as ``scontrol show job`` or ``sacct`` names them.
    """
    job = words.get("JobId", words.get("JobID", ""))
    array, element = words.get("ArrayJobId", job), words.get("ArrayTaskId", "")
    if "_" in job:  # sacct does not tell the own id of an array's element
        array, _, element = job.partition("_")
        job = ""
    fields = {"j": job, "A": array, "a": element, "x": words.get("JobName", "")}
    variables = {
        "SLURM_JOB_ID": job,
        "SLURM_JOBID": job,
        "SLURM_ARRAY_JOB_ID": array,
        "SLURM_ARRAY_TASK_ID": element,
        "SLURM_JOB_NAME": fields["x"],
        "SLURM_SUBMIT_DIR": words.get("WorkDir", ""),
    }
    found = []
    known = _UNKNOWN.sub(lambda m: _variable(m[0], variables), f"{submission}\n{script}")
    for words_of_call in _calls(known):
        for name in _written(words_of_call):
            pattern = _FIELD.sub(lambda m: _field(m, fields), name)
            if pattern.strip("*/."):
                found.append(str(Path(glob.escape(words.get("WorkDir", "")), pattern)))
    return tuple(dict.fromkeys(found))


def _calls(script: str) -> Iterator[list[str]]:
    """Yield the words after each ``srun``, ``sbatch`` or ``#SBATCH``, up to the end of its line."""
    for line in script.replace("\\\n", " ").splitlines():
        lexer = shlex.shlex(line.replace("#SBATCH ", "sbatch "), posix=True, punctuation_chars=True)
        lexer.wordchars += "%@:,+[]^"
        try:
            words = list(lexer)
        except ValueError:  # a quotation over several lines
            words = line.split()
        starts = [number for number, word in enumerate(words) if word in ("srun", "sbatch")]
        yield from (words[start + 1 :] for start in starts)


def _written(words: list[str]) -> Iterator[str]:
    """Yield the files that a call of srun writes its output to, by its options or by redirection."""
    end = next((n for n, word in enumerate(words) if _OPERATOR.fullmatch(word)), len(words))
    line = parse_srun(words[:end])
    yield from filter(None, (line.value("output"), line.value("error")))
    for operator, name in pairwise(words[end:]):
        if operator in ("|", "||", "&&", "&", ";"):
            return
        if ">" in operator and not name.isdigit() and name != "/dev/null":
            yield name


def _variable(text: str, variables: Mapping[str, str]) -> str:
    value = variables.get(text.strip("${}"))
    return glob.escape(value) if value else "*"


def _field(match: re.Match[str], fields: Mapping[str, str]) -> str:
    value = fields.get(match[2])
    return glob.escape(value.zfill(int(match[1] or 0))) if value else "*"
