"""Rules held against the Python programs that a script runs, each beside one much like it that is right."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.doctor.test_job_script import REPLACE, WHILE_SOUND, found
from tests.language.corpus import DETECT, RECOVER

RED_PYTHON = r"if bad(): print('\033[31mERROR\033[0m: lost')"
THOUSANDS = "for step in range(9999):\n    print(f'step {{step{}}}', flush=True)"
TRIES = "for n in range(4): print('no answer', file=sys.stderr); time.sleep(60)"
SAVES = """\
import os
safe = os.environ.get("SOLVER_SAFE")
while more(safe):
    if os.path.exists("dump.now"):
        open("heat.ckpt.json", "w")
"""


@pytest.mark.parametrize(
    ("program", "rule", "code"),
    [
        ("print('step', flush=True)", 'LOG "step" stdout TIMEOUT 60', None),
        ("print('step')", 'LOG "step" stdout TIMEOUT 60', "ESL096"),
        ("import sys\ntry:\n    run()\nexcept Exception as e:\n    sys.exit(0)", "EXIT CODE 1", "ESL096"),
        ("import sys\ntry:\n    run()\nexcept Exception as e:\n    sys.exit(1)", "EXIT CODE 1", None),
        (RED_PYTHON, 'LOG "ERROR: lost" stdout', "ESL096"),
        (RED_PYTHON, 'LOG ": lost" stdout', None),
        ("if bad():\n    print('energy (all) is nan')", 'MATCH "energy (all) is" stdout', "ESL096"),
        ("if bad():\n    print('energy (all) is nan')", r'MATCH "energy \(all\) is" stdout', None),
        ("run()", 'MATCH "Traceback.*MemoryError" stderr', "ESL096"),
        ("run()", 'MATCH "^MemoryError" stderr', None),
        (TRIES, 'LOG "no answer" stderr RECURRING 3 WITHIN 60', "ESL084"),
        (TRIES, 'LOG "no answer" stderr RECURRING 3 WITHIN 600', None),
        (TRIES, 'LOG "no answer" stderr RECURRING 5', "ESL084"),
        (f"def ask():\n    {TRIES}\n", 'LOG "no answer" stderr RECURRING 5', None),
        (WHILE_SOUND, 'LOG ": error = 7" stdout', "ESL083"),
        (WHILE_SOUND, 'LOG ": error = 7" stderr', None),
        (THOUSANDS.format(":,"), r'PROGRESS "step (\d+)" stdout TIMEOUT 60', "ESL054"),
        (THOUSANDS.format(""), r'PROGRESS "step (\d+)" stdout TIMEOUT 60', None),
        ("import sys\nif bad():\n    sys.exit(3)", "EXIT CODE 42", "ESL096"),
        ("import sys\nif bad():\n    sys.exit(3)", "EXIT CODE 1, 3", None),
        ("import sys\nimport mine\nif bad():\n    sys.exit(3)", "EXIT CODE 42", None),
    ],
)
def test_a_python_program_beside_the_script_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str, rule: str, code: str | None
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sim.py").write_text(program)
    script = "#!/bin/bash\nset -e\npython3 sim.py\n"
    assert found(tmp_path, script, f"{DETECT}{rule}\n{REPLACE}") == ([code] if code else [])


@pytest.mark.parametrize(
    ("step", "code"),
    [
        ('JOB.REPLACE {"environment": {"SAFE_SOLVER": "1"}}', "ESL096"),
        ('JOB.REPLACE {"environment": {"SOLVER_SAFE": "1"}}', None),
        ('JOB.REPLACE {"environment": {"OMP_NUM_THREADS": "1"}}', None),
        (
            'JOB.CHECKPOINT {"trigger": "${workspace}/dump.now", "written": "${workspace}/restart.*.h5"}',
            "ESL096",
        ),
        ('JOB.CHECKPOINT {"trigger": "${workspace}/dump.now", "written": "${workspace}/heat.*.json"}', None),
    ],
)
def test_steps_are_held_against_a_python_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str, code: str | None
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sim.py").write_text(SAVES)
    rules = f"{DETECT}EXTERNAL\n{RECOVER}JOB {step}"
    assert found(tmp_path, "#!/bin/bash\npython3 sim.py\n", rules) == ([code] if code else [])
