"""The options that shims and submissions know are those of Slurm's commands, of each release."""

from __future__ import annotations

import gzip
import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.conftest import need_slurm
from tests.equipment.install_slurm import prefix
from whesl.managers.resource.launcher_shims.launcher_options import Table, parse, parse_srun
from whesl.managers.resource.slurm.job_variables_of_nodes_in_use import for_own_step
from whesl.managers.resource.slurm.option_tables import JOB, LATER_JOB, LATER_SBATCH, LATER_SRUN, SBATCH, SRUN
from whesl.managers.workflow.submission.sbatch_options import parse_variables

TABLES = {
    "sbatch": Table(JOB + SBATCH, later=LATER_JOB + LATER_SBATCH),
    "srun": Table(JOB + SRUN, later=LATER_JOB + LATER_SRUN),
}


@pytest.mark.parametrize("command", TABLES)
@pytest.mark.parametrize(
    ("words", "name", "value"),
    [
        # An alias of --ntasks-per-node that no page mentions: its number was taken for the command.
        ("--tasks-per-node 2 app", "tasks-per-node", "2"),
        ("--context unconfined app", "context", "unconfined"),
        ("--oom-kill-step app", "oom-kill-step", None),  # 24.11
        ("--oom-kill-step=0 app", "oom-kill-step", "0"),
        ("--resources r.yaml app", "resources", "r.yaml"),  # 25.11
        ("--container-type oci app", "container-type", "oci"),  # 26.05
        ("-d afterok:7 app", "dependency", "afterok:7"),
        # --consolidate-segments came with 25.11; before, these letters meant one option.
        ("--cons gpu app", "constraint", "gpu"),
    ],
)
def test_an_option_takes_its_own_words_alone(command: str, words: str, name: str, value: str | None) -> None:
    line = parse(words.split(), TABLES[command])
    assert [(option.name, option.value) for option in line.options] == [(name, value)]
    assert line.rest == ("app",)


@pytest.mark.parametrize(
    ("words", "name", "value"),
    [
        ("--overlap=force app", "overlap", "force"),
        ("--overlap app", "overlap", None),
        ("--pty=3 app", "pty", "3"),  # 23.02
        ("--pty app", "pty", None),
        ("--external-launcher=pmix app", "external-launcher", "pmix"),  # 24.05
        ("-q debug app", "qos", "debug"),
        ("--cpu_bind cores app", "cpu_bind", "cores"),
        ("--treewidth 16 app", "treewidth", "16"),  # 23.11
        ("--async app", "async", None),  # 26.05
        ("--ignore-signals INT app", "ignore-signals", "INT"),  # 26.05
        ("--par debug app", "partition", "debug"),  # --parsable came with 26.05
    ],
)
def test_an_option_of_srun_takes_its_own_words_alone(words: str, name: str, value: str | None) -> None:
    line = parse_srun(words.split())
    assert [(option.name, option.value) for option in line.options] == [(name, value)]
    assert line.rest == ("app",)


def test_a_variable_of_sbatch_stands_for_its_option() -> None:
    given = {"SBATCH_TIMELIMIT": "5", "SBATCH_NO_REQUEUE": "", "SBATCH_BATCH_X": "1", "SLURM_NTASKS": "2"}
    assert parse_variables(given) == (("no-requeue", ""), ("time", "5"))


# Variables of the installed srun that say which job a step is of, or only how much is printed.
NO_DEFAULTS = (
    "SLURMD_DEBUG SLURM_ACCOUNT SLURM_BURST_BUFFER SLURM_CLUSTERS SLURM_CLUSTER_CONSTRAINT SLURM_CONF"
    " SLURM_DEBUG_FLAGS SLURM_JOB_ID SLURM_JOB_NAME SLURM_NETWORK SLURM_PARTITION SLURM_PMI_KVS_NO_DUP_KEYS"
    " SLURM_QOS SLURM_RESERVATION SLURM_UMASK SLURM_WCKEY"
)


@pytest.mark.slurm
def test_the_installed_commands_have_no_variable_that_is_not_known() -> None:
    """A step of WHESL's own took SLURM_BCAST, SLURM_EXIT_ERROR and others from the task."""
    need_slurm()
    assert _inputs("sbatch", "SBATCH_") <= {
        *(name for name in _inputs("sbatch", "SBATCH_") if parse_variables({name: "1"})),
        "SBATCH_WAIT4SWITCH",  # the second half of an option
    }
    assert set(for_own_step(dict.fromkeys(_inputs("srun", "S"), "1"))) <= set(NO_DEFAULTS.split())


def _inputs(command: str, first: str) -> set[str]:
    """Return the names of a command's input variables that begin with some letters, from its page."""
    pages = [Path(prefix() or "/usr", f"share/man/man1/{command}.1{end}") for end in ("", ".gz")]
    page = next((path for path in pages if path.exists()), None)
    if page is None:
        pytest.skip("its page is not installed")
    text = (gzip.decompress if page.suffix == ".gz" else bytes)(page.read_bytes()).decode()
    _, _, inputs = text.partition('.SH "INPUT ENVIRONMENT VARIABLES"')
    inputs, _, _ = inputs.partition("\n.SH ")
    found = set(re.findall(rf"^\\fB({first}\w+)", inputs, re.MULTILINE))
    assert len(found) > 40
    return found


@pytest.mark.slurm
@pytest.mark.parametrize("command", TABLES)
def test_the_installed_command_has_no_option_that_is_not_known(command: str, tmp_path: Path) -> None:
    need_slurm()
    # The commands print their help only where they find a configuration; they ask nobody.
    (tmp_path / "slurm.conf").write_text("ClusterName=none\nSlurmctldHost=localhost\n")
    environment = {**os.environ, "SLURM_CONF": str(tmp_path / "slurm.conf")}
    shown = subprocess.run(
        [command, "--help"], env=environment, capture_output=True, text=True, timeout=60, check=True
    ).stdout
    found = re.findall(r"^ +(?:-(\w),? +| {4,})--([a-z][\w-]*)(\[?=?)", shown, re.MULTILINE)
    assert len(found) > 80
    table = TABLES[command]
    for letter, name, argument in found:
        assert name in table.kinds, name
        assert not letter or table.letters[letter] == name, letter
        # The help leaves out some values, and is wrong about some that are optional.
        assert not argument or table.kinds[name], name
