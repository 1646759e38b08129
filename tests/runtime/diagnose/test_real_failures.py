"""What really failed here is named: class and line. The programs are those that a machine has."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.runtime.diagnose.logs import told
from tests.runtime.diagnose.real_failures import failures

# Where mpirun of Open MPI 4.1.4 cannot unpack a rank's message, it prints this in its place.
_LOST = "orte/util/show_help.c at line "
_TRIALS = 20


@pytest.mark.costly
@pytest.mark.parametrize("name", failures())
def test_named(name: str, tmp_path: Path) -> None:
    failure = failures()[name]
    if lacking := failure.missing():
        pytest.skip(lacking)
    for _ in range(_TRIALS):
        log = failure.log(tmp_path)
        if _LOST not in log:
            break
    cls, line = told(log)
    assert cls in failure.classes, log
    decisive = log.split("\n")[line - 1]
    assert any(words.lower() in decisive.lower() for words in failure.says), decisive
