"""Rules held against the Python programs that a script runs, each beside one much like it that is right."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.doctor.test_job_script import REPLACE, WHILE_SOUND, found
from tests.language.corpus import DETECT, RECOVER

RED_PYTHON = r"if bad(): print('\033[31mERROR\033[0m: lost')"
THOUSANDS = "for step in range(9999):\n    print(f'step {{step{}}}', flush=True)"
TRIES = "for n in range(4): print('no answer', file=sys.stderr); time.sleep(60)"
CATCHES = "import sys\ndef load():\n    read()\ntry:\n    {}\nexcept Exception as e:\n    {}"
STACK = 'LOG "Traceback (most recent call last)" stderr'
LOGS = "import logging\nlogging.basicConfig(format={})\nif bad():\n    logging.error('lost %s', place)"
TWO_FILES = "#SBATCH -o a.out\n#SBATCH -e a.err\npython3 sim.py"
CLEARS = f'JOB.ADD {{"command": "rm -f heat.lock"}}\n{RECOVER}JOB '
APPENDS = 'JOB.REPLACE {"command_append": "--micro 4"}'
SIGNALS = 'JOB.CHECKPOINT {"signal": "SIGUSR1", "written": "${workspace}/heat.ckpt.json"}'
GOES_ON = "import os\nF = 'heat.ckpt.json'\nrun(F if os.path.exists(F) else None)"
LOCKS = """\
import os, sys
if os.path.exists("heat.lock"):
    sys.exit({})
open("heat.lock", "w")
{}
os.remove("heat.lock")
"""
TAKES = """\
import argparse
p = argparse.ArgumentParser()
p.add_argument("--batch-size")
{}
"""
SAVES = """\
import os
os.environ["SOLVER_MODE"] = "fast"
os.environ["SOLVER_SEED"] = os.environ.get("SOLVER_SEED", "7")
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
        (CATCHES.format("sys.exit(1)", "sys.exit(0)"), "EXIT CODE 1", None),
        (CATCHES.format("load()", "sys.exit(0)"), "EXIT CODE 1", "ESL096"),
        (CATCHES.format("load()", "raise SystemExit(1)"), STACK, "ESL096"),
        (CATCHES.format("load()", "raise"), STACK, None),
        (CATCHES.format("load()", "traceback.print_exc()"), STACK, None),
        ("print('bad value', repr(line))", r"""LOG "bad value 'n/a\n'" stdout""", None),
        ("print('bad value', repr(line))", r"""LOG "value: '1.5\t2' is bad" stdout""", None),
        ("run()", r"""LOG "bad value\n" stdout""", "ESL057"),
        (LOGS.format("'%(asctime)s %(levelname)s: %(message)s'"), 'MATCH "^ERROR: lost" stderr', "ESL096"),
        (LOGS.format("'%(levelname)s: %(message)s'"), 'MATCH "^ERROR: lost" stderr', None),
        (LOGS.format("form()"), 'MATCH "^ERROR: lost" stderr', None),
        ("open('logs/a.log', 'w')", 'LOG "lost" file "logs/a.log"', None),
        ("open('a.log', 'w')", 'LOG "lost" file "logs/a.log"', "ESL081"),
        ("save('field.bin')", 'OUTPUT "out/*.bin" MISSING', "ESL081"),
        ("for name in open('names'): save(name)", 'OUTPUT "out/*.bin" MISSING', None),
        ("save(open('field.bin', 'wb'))", 'OUTPUT "out/*.bin" MISSING', "ESL081"),
        ("save('out' + str(n))", 'OUTPUT "out7/*.bin" MISSING', None),
        ("import json\nsave(json.load(open('a.json')))", 'OUTPUT "out/*.bin" MISSING', None),
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
        ('JOB.REPLACE {"environment": {"SOLVER_MODE": "1"}}', "ESL096"),
        ('JOB.REPLACE {"environment": {"SOLVER_SEED": "1"}}', None),
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


@pytest.mark.parametrize(
    ("script", "program", "rule", "code"),
    [
        ("timeout 60 python3 sim.py", "import sys\nsys.exit(3)", "EXIT CODE 124", None),
        ("python3 sim.py || exit $(($? + 9))", "import sys\nsys.exit(3)", "EXIT CODE 12", None),
        ("cat conf.yaml\nsrun ./a", "", 'LOG "solution diverged" stdout', "ESL083"),
        ("srun ./a\ncat conf.yaml", "", 'LOG "solution diverged" stdout', None),
        ("cat conf.yaml > copy\nsrun ./a", "", 'LOG "solution diverged" stdout', None),
        ("sed s/a/b/ in > conf.yaml\ncat conf.yaml", "", 'LOG "solution diverged" stdout', None),
        ("cat conf.yaml\nsrun ./a", "", 'LOG "Solution diverged" stdout', None),
        (TWO_FILES, "import sys\nif bad(): print('lost', file=sys.stderr)", 'LOG "lost" stdout', "ESL096"),
        (TWO_FILES, "import sys\nif bad(): sys.stderr.write('lost')", 'LOG "lost" stdout', "ESL096"),
        (TWO_FILES, "import sys\nif bad(): print('lost')", 'LOG "lost" stdout', None),
    ],
)
def test_scripts_beside_a_program_and_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, program: str, rule: str, code: str | None
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sim.py").write_text(program)
    (tmp_path / "conf.yaml").write_text("on_nan: 'stop: solution diverged'\n")
    assert found(tmp_path, f"#!/bin/bash\n{script}\n", f"{DETECT}{rule}\n{REPLACE}") == (
        [code] if code else []
    )


@pytest.mark.parametrize(
    ("script", "program", "steps", "code"),
    [
        ("python3 sim.py", LOCKS.format("'busy'", "run()"), "JOB.REPLACE", "ESL096"),
        ("python3 sim.py", LOCKS.format("0", "run()"), "JOB.REPLACE", None),
        ("python3 sim.py", LOCKS.format("'busy'", "try: run()\nfinally: clear()"), "JOB.REPLACE", None),
        ("python3 sim.py", LOCKS.format("'busy'", "run()"), f"{CLEARS}JOB.REPLACE", None),
        ("python3 sim.py", "import os\nos.mkdir('out')\nrun()", "JOB.REPLACE", "ESL096"),
        ("rm -rf out; python3 sim.py", "import os\nos.mkdir('out')\nrun()", "JOB.REPLACE", None),
        ("python3 sim.py", "import os\nos.makedirs('out', exist_ok=True)\nrun()", "JOB.REPLACE", None),
        ("rm -f heat.ckpt.json\npython3 sim.py", GOES_ON, "JOB.REPLACE", "ESL096"),
        ("rm -f old.ckpt.json\npython3 sim.py", GOES_ON, "JOB.REPLACE", None),
        ('python3 sim.py "$@"', TAKES.format("p.parse_args()"), APPENDS, "ESL096"),
        ('python3 sim.py "$@"', TAKES.format("p.parse_known_args()"), APPENDS, None),
        ('python3 sim.py "$@"', TAKES.format("more(p)\np.parse_args()"), APPENDS, None),
        ('python3 sim.py "$@"', TAKES.format("p.parse_args()"), APPENDS.replace("micro", "bat"), None),
        ('./a "$@"; python3 sim.py', TAKES.format("p.parse_args()"), APPENDS, None),
        ("python3 sim.py", "run('heat.ckpt')", SIGNALS, "ESL096"),
        ("python3 sim.py", "import mine\nrun()", SIGNALS, None),
        ("trap 'touch save' USR1\npython3 sim.py", "run('heat.ckpt')", SIGNALS, None),
    ],
)
def test_what_a_second_attempt_of_a_program_finds(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    script: str,
    program: str,
    steps: str,
    code: str | None,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sim.py").write_text(program)
    rules = f"{DETECT}EXTERNAL\n{RECOVER}JOB {steps}"
    assert found(tmp_path, f"#!/bin/bash\n{script}\n", rules) == ([code] if code else [])
