"""Write docs/managers.md and docs/managers/ from the table and the recipes of the tests; a test compares them.

Usage: python tools/managers_page.py
"""

# ruff: noqa: E501 - lines of a table and a page are as long as their sentences
from __future__ import annotations

import sys
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.managers.table import ELSEWHERE, EXEC, GRAPH, MANAGERS, UNTRIED, Manager  # noqa: E402 - after the path

TEXT = """# Workflow managers

Written by `tools/managers_page.py` from the table and the recipes of `tests/managers`; it is not edited by hand.

WHESL protects a task on one of four levels:

1. The manager's own scripts, unchanged, with WHESL's `sbatch` in front: [`whesl front`](workflows.md#any-programs-jobs).
2. `whesl exec` before the task's command, by one setting of the manager.
3. `whesl run` reads the manager's graph, and puts `whesl exec` before each command by itself.
4. As 3, and tasks that depend on one whose files have moved are told of it, before they start and while they run.

Each recipe, on the page of its manager, is a test on a real Slurm. It has two tasks. The first hangs; then it fills its file system; then
its node is lost. The manager saw one success of each task, in the job in which the task began, and its own counter of
tries was not touched; the second task read the first one's file where it was expected. `make test` runs {quick},
`make test-managers` all of them whose programs are there, as root. The managers whose level is followed by `not run`
are in no test: their settings were compared with the managers' own sources and documents.

At level 1 the whole script of a job begins again. A script that catches its failures, or tells its manager of them,
has failed before WHESL sees it. The column "level 1" tells from which of the three faults a job recovers so, in a test
on a real Slurm as well. A `no` is in no test: it was tried, or is judged from the manager's scripts.

| manager | level | setting | level 1 | proof |
| --- | --- | --- | --- | --- |
{rows}

## What `whesl run` reads

| workflow | how it is read | limits |
| --- | --- | --- |
| Maestro's studies, batch scripts | [workflows](workflows.md) | |
| `flow.cylc` of Cylc 8 | the graph is what `cylc graph --reference` prints, from the first to the final cycle point; each `script` of `[runtime]` is wrapped, in a copy of the flow's directory that `cylc vip` plays | a flow without a final cycle point, scripts in an included file, and scripts that call functions of `init-script` or `env-script`, are for level 2; `cylc` has to be on PATH |
| JSON of Makeflow (`makeflow --json`; `jx2json` writes it from JX) | a rule waits for those whose outputs are its inputs; each `command` is wrapped | rules that are workflows of their own are refused; the older form with tabs is for level 2 |
| Snakefile of Snakemake 9 | the jobs, their wildcards and edges are those of Snakemake's own DAG, with the arguments behind `--`; a program for each job is its shell (`shell_exec`), so the Snakefile stays as it is | rules with `run:`, `script:`, `notebook:` or `wrapper:` run as ever; files with checkpoints that have still to run, and jobs in groups, are for level 2; `snakemake` has to be on PATH |

```
whesl run flow.cylc -e rules.esl
whesl run flow.json -e rules.esl -- -T slurm
whesl run Snakefile -e rules.esl -- --executor slurm --jobs 20
```

What stands behind `--` goes to the manager. On Slurm the [`sbatch` in front](workflows.md#the-sbatch-in-front) adds
`--no-kill` and `--spares` nodes to each job that these managers submit, where the rules of any step need them. With
`--no-own-node` a job gets one node more for WHESL, and its task survives the loss of any other node. Snakemake's
executor runs each rule without `mpi` in a step of one node, and such a rule does not use the others. A script that
comes on standard input, and jobs on Flux and PBS, get neither: ask for them in the manager's own settings. A task
that runs while the one that it depends on recovers (`make:start => use` of Cylc,
[`COUPLED`](esl-reference.md#declare-coupled) for the others) is told of the new paths, and one that starts later
begins with them.
"""
RECIPE = """# {name}

Written by `tools/managers_page.py` from a recipe of `tests/managers`, which runs on a real Slurm
([workflow managers](../managers.md)). `/p/me/study` stands for the study's directory. `make.sh` and `use.sh` are the
programs, `rules.esl` the rules.

{text}"""
# Files that say nothing of WHESL or Slurm to a reader.
_LANGUAGES = {"py": "python", "sh": "sh", "yaml": "yaml", "cwl": "yaml", "cylc": "ini"}


def pages() -> dict[str, str]:
    """Return each page's text by its path below ``docs``."""
    rows = [
        f"| {each.name} ({each.version}) | {each.level} | {each.setting} | {each.front} | `{each.proof}` |"
        for each in ELSEWHERE
    ]
    rows += [
        f"| [{each.name}](managers/{each.recipe}.md) ({each.version}) | {GRAPH if each.graph else EXEC} |"
        f" {each.setting} | {each.front} | `tests/managers`{f', `{each.graph}`' if each.graph else ''} |"
        for each in MANAGERS
    ]
    rows += [
        f"| {each.name} | {EXEC}, not run | {each.setting} | {each.front} | {each.why} |" for each in UNTRIED
    ]
    quick = " and ".join(each.name for each in MANAGERS if each.quick)
    made = {"managers.md": TEXT.format(rows="\n".join(rows), quick=f"{quick}'s")}
    for each in MANAGERS:
        made[f"managers/{each.recipe}.md"] = RECIPE.format(name=each.name, text=_recipe(each))
    return made


def _recipe(manager: Manager) -> str:
    parts = []
    if manager.remark:
        # Words are not broken at hyphens: options have them.
        wrapped = textwrap.fill(manager.remark, 120, break_long_words=False, break_on_hyphens=False)
        parts.append(f"{wrapped}\n")
    for file in sorted((ROOT / "tests" / "managers" / "recipes" / manager.recipe).iterdir()):
        language = _LANGUAGES.get(file.suffix[1:], "text")
        parts.append(f"`{file.name}`:\n\n```{language}\n{file.read_text().rstrip()}\n```\n")
    return "\n".join(parts)


if __name__ == "__main__":
    for path, text in pages().items():
        (ROOT / "docs" / path).parent.mkdir(exist_ok=True)
        (ROOT / "docs" / path).write_text(text)
