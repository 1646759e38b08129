"""Rules held against their job's script: each row is a script, a rule, and the code of the finding.

Every kind stands beside a script or rule that is much like it and right.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.language.corpus import DETECT, RECOVER
from tests.language.test_surroundings import HEADER
from whesl import language
from whesl.doctor.rules_on_this_host import Surroundings
from whesl.managers import workflow as workflows
from whesl.managers.workflow import verified

LOST = f'{DETECT}LOG "pressure is lost" stderr'
RED = r"srun ./a || { printf '\033[31mERROR\033[0m: lost\n'; exit 1; }"
REPLACE = f"{RECOVER}JOB JOB.REPLACE"
NO_SHELL = "#!/usr/bin/perl\n#SBATCH -N 4\nsystem('srun ./a > a.log 2>&1 || true');\n"
PYTHON = "python3 -u - <<'PY'\n{}\nPY"
WHILE_SOUND = "for i in range(9):\n    print(f'step {i}: error = {i:.1e}')"
HANDLES = PYTHON.format("import signal\nsignal.signal(signal.SIGUSR1, save)\nrun()")
SLOW = "import time\nfor i in range(9):\n    {}\n    print('step', i)\n    time.sleep(300)"
ROUNDS = "for i in 1 2 3; do ./a; echo step $i; done"
IN_A_BRANCH = "if 0:\n    print('error = 1')"


def found(place: Path, script: str, rules: str) -> list[str]:
    """Return the codes of findings about rules, those of the header left out."""
    (place / "run.sh").write_text(script)
    workflow = verified(place / "run.sh")
    result = language.parse(f"{HEADER}{rules}\n", str(place / "t.esl"), workflow)
    assert result.spec is not None, result.diagnostics
    scripts = {workflow.tasks[0].step: script}
    here = Surroundings(result.spec, place / "t.esl", result.texts, workflow, None, None, {}, scripts)
    before = HEADER.count("\n")
    return [each.code for each in (*result.diagnostics, *here.findings()) if each.line > before]


@pytest.mark.parametrize(
    ("body", "rule", "code"),
    [
        ("echo 'starting solver'\nsrun ./a", 'LOG "starting solver" output', "ESL083"),
        ("echo Job begins on $(hostname)\nsrun ./a", 'LOG "Job begins" stdout', "ESL083"),
        ("trap 'echo CLEANUP' EXIT\nsrun ./a", 'LOG "CLEANUP" output', "ESL083"),
        ("srun ./a || echo FAILED", 'LOG "FAILED" output', None),
        ("if ! srun ./a; then echo FAILED; exit 1; fi", 'LOG "FAILED" output', None),
        ("echo starting\nsrun ./a", 'LOG "starting" stderr', None),
        ("echo cycle = 0\nsrun ./a", 'LOG "cycle = " output TIMEOUT 60', None),
        ("srun ./a > a.log 2>&1", 'LOG "FATAL" stdout', "ESL096"),
        ("srun ./a &> a.log", 'LOG "FATAL" output', "ESL096"),
        ("exec > a.log 2>&1\nsrun ./a", "SILENCE TIMEOUT 300", "ESL096"),
        ("srun ./a 2> err.log", 'LOG "Segmentation" stderr', "ESL096"),
        ("srun ./a > a.log", 'LOG "srun: error" output', None),
        ("timeout 300 srun ./a", 'LOG "step" stdout TIMEOUT 400', "ESL094"),
        ("timeout 500 srun ./a", 'LOG "step" stdout TIMEOUT 400', None),
        ("timeout 5m ./a; srun ./b", 'LOG "step" stdout TIMEOUT 400', None),
        ("srun ./a 2>&1 > a.log", 'LOG "FATAL" stderr', None),
        ("srun ./a 3>&1 1>&2 2>&3", 'LOG "FATAL" stderr', None),
        ("srun ./a 3>&1 >a.log 2>&3", 'LOG "FATAL" stderr', None),
        ("srun ./a 3>a.log 1>&3", 'LOG "FATAL" stdout', "ESL096"),
        ("srun ./a >&4", 'LOG "FATAL" stdout', None),
        ("srun ./a > a.log 2>&1\n[ $? = 0 ] || echo FATAL", 'LOG "FATAL" stdout', None),
        ("srun ./a > solver.log", 'LOG "FATAL" file "solver.out"', "ESL081"),
        ("cd work\nsrun ./a > solver.log", 'LOG "FATAL" file "solver.log"', "ESL081"),
        ("cd work\nsrun ./a > solver.log", 'LOG "FATAL" file "work/solver.log"', None),
        ("srun ./a | tee solver.log", 'LOG "FATAL" file "solver.log"', None),
        ("srun ./a > solver.log", 'LOG "FATAL" file "lammps.log"', None),
        ("srun ./a || true", "EXIT CODE 1", "ESL096"),
        ("srun ./a | tee log", "EXIT CODE 1", "ESL096"),
        ("srun ./a\necho done", "EXIT CODE 1", "ESL096"),
        ("srun ./a &\nsrun ./b &\nwait", "EXIT CODE 1", "ESL096"),
        ("set -o pipefail\nsrun ./a | tee log", "EXIT CODE 1", None),
        ("set -e\nsrun ./a\necho done", "EXIT CODE 1", None),
        ("srun ./a\nrc=$?\necho done\nexit $rc", "EXIT CODE 1", None),
        ("srun ./a || { echo bad; exit 1; }", "EXIT CODE 1", None),
        ("srun ./a\nsrun ./b", "EXIT CODE 1", None),
        ("srun ./a\nunclosed 'quote\necho done", "EXIT CODE 1", None),
        ("srun ./a", 'LOG "step" output TIMEOUT 600', "ESL094"),
        ("srun ./a", "SILENCE TIMEOUT 60 WARMUP 600", "ESL094"),
        ("srun ./a", 'LOG "step" output TIMEOUT 599', None),
        ("srun ./a", 'JOB EXCEPTION "exec"', "ESL095"),
        ("flux run ./a", 'JOB EXCEPTION "exec"', None),
        ("exec > >(tee -a run.log) 2>&1\nsrun ./a", 'LOG "FATAL" stdout', None),
        ("srun ./a 2> >(tee err.log >&2)", 'LOG "FATAL" stderr', None),
        ("srun ./a > >(cat > run.log)", 'LOG "FATAL" stdout', "ESL096"),
        ("srun -n 4 -o run.log ./a", 'LOG "FATAL" stdout', "ESL096"),
        ("srun -n 4 ./a -o run.log", 'LOG "FATAL" stdout', None),
        ("srun ./a", 'LOG "FATAL" file "out/a.log"', "ESL081"),
        ("D=out\nmkdir -p $D\ncd $D\nsrun ../a > a.log", 'LOG "FATAL" file "out/a.log"', None),
        ("install -d -m 700 out/logs\nsrun ./a", 'LOG "FATAL" file "out/logs/a.log"', None),
        ("srun ./a --log-dir=out", 'LOG "FATAL" file "out/a.log"', None),
        ("srun ./a", 'LOG "FATAL" file "a-$SLURM_JOB_ID.log"', None),
        ("srun ./a | logger", 'LOG "FATAL" stdout', "ESL096"),
        ("srun ./a | logger", 'LOG "FATAL" stderr', None),
        ("srun ./a | tail -n 9", 'LOG "cycle" stdout TIMEOUT 60', "ESL096"),
        ("srun ./a | tail -n 9", 'LOG "FATAL" stdout', None),
        ("srun ./a | grep -v WARN", 'LOG "WARN: hot" stdout', "ESL096"),
        ("srun ./a | grep -v WARN", 'LOG "ERROR" stdout', None),
        ("srun ./a | sed 's/FATAL/bad/'", 'LOG "FATAL: x" stdout', "ESL096"),
        ("srun ./a | sed 's/FATAL/- FATAL/'", 'LOG "FATAL: x" stdout', None),
        ("srun ./cp2k.psmp -i a -o a.out", "SILENCE TIMEOUT 60", "ESL096"),
        ("conda run -n x ./a", 'LOG "step" stdout TIMEOUT 60', "ESL096"),
        ("conda run --no-capture-output -n x ./a", 'LOG "step" stdout TIMEOUT 60', None),
        ("srun ./a | tr A-Z a-z", 'LOG "FATAL" stdout', "ESL096"),
        ("srun ./a | sed 's/^/a> /'", 'MATCH "^FATAL" stdout', "ESL096"),
        ("srun ./a | sed 's/^/a> /'", 'MATCH "FATAL" stdout', None),
        ("srun ./a\nsleep 300", "SILENCE TIMEOUT 60", "ESL094"),
        ("srun ./a\nsleep 300", "SILENCE TIMEOUT 400", None),
        ("(while sleep 9; do echo on; done) &\nsrun ./a", "SILENCE TIMEOUT 60", "ESL096"),
        ("(while sleep 9; do date > t; done) &\nsrun ./a", "SILENCE TIMEOUT 60", None),
        ("f() { rm -f t; exit 0; }\ntrap f EXIT\nsrun ./a", "EXIT CODE 1", "ESL096"),
        ("f() { rm -f t; }\ntrap f EXIT\nsrun ./a", "EXIT CODE 1", None),
        ("srun ./a", 'LOG "FATAL" file "a-$SLURM_JOBB_ID.log"', "ESL086"),
        ("srun ./a", 'LOG "FATAL" file "a-$SLURM_ARRAY_TASK_ID.log"', "ESL086"),
        # files
        ("srun lmp -in a -log none", 'LOG "ERROR" file "log.lammps"', "ESL081"),
        ("srun lmp -in a", 'LOG "ERROR" file "log.lammps"', None),
        ("srun gmx mdrun -deffnm run", 'LOG "ERROR" file "md.log"', "ESL081"),
        ("exit 0\nsrun ./a > a.log", 'LOG "ERROR" file "a.log"', "ESL081"),
        ("apptainer exec -C a.sif ./a -o /tmp/a.log", 'LOG "ERROR" file "/tmp/a.log"', "ESL096"),
        ("apptainer exec -C -B /tmp a.sif ./a -o /tmp/a.log", 'LOG "ERROR" file "/tmp/a.log"', None),
        ("srun -r 1 ./a -o /tmp/a.log", 'LOG "ERROR" file "/tmp/a.log"', "ESL096"),
        ("srun ./a -o /tmp/a.log", 'LOG "ERROR" file "/tmp/a.log"', None),
        ("srun ./a\nmv a.nc ../keep/", 'OUTPUT "a.nc" MISSING', "ESL096"),
        ("mv a.nc old.nc\nsrun ./a\ncp a.nc ../keep/", 'OUTPUT "b.nc" MISSING', None),
        ("srun ./a\ntouch done.flag", 'OUTPUT "*.flag" EMPTY', "ESL096"),
        ("srun ./a\ntouch done.flag", 'OUTPUT "*.flag" MISSING', None),
        ("echo x,y > a.csv\nsrun ./a >> a.csv", 'OUTPUT "a.csv" EMPTY', "ESL096"),
        ("touch a.csv\nsrun ./a >> a.csv", 'OUTPUT "a.csv" EMPTY', None),
        ("srun ./a\ncp out.nc in.nc", 'OUTPUT "out.nc" OLDER THAN "in.nc"', "ESL096"),
        ("srun -o sim.o%j ./a", 'LOG "FATAL" file "sim.log"', "ESL081"),
        ("srun -o sim.o%j ./a", 'LOG "FATAL" file "sim.o$SLURM_JOB_ID"', None),
        ("srun -o sim.o%j ./a", 'LOG "FATAL" file "lammps.log"', None),
        ("srun ./a > result.dat", 'OUTPUT "results.dat" MISSING', "ESL081"),
        ("srun ./a > part1.dat", 'OUTPUT "part2.dat" MISSING', None),
        ("srun ./a -o results.dat > result.dat", 'OUTPUT "results.dat" MISSING', None),
        (ROUNDS, 'LOG "step" file "progress.txt" TIMEOUT 60', "ESL096"),
        (ROUNDS + " > progress.txt", 'LOG "step" file "progress.txt" TIMEOUT 60', None),
        (ROUNDS, 'LOG "cycle" file "progress.txt" TIMEOUT 60', None),
        # streams
        ("srun ./a | grep step", 'LOG "step" stdout TIMEOUT 60', "ESL096"),
        ("srun ./a | grep --line-buffered step", 'LOG "step" stdout TIMEOUT 60', None),
        ("srun ./a | grep step", 'LOG "NaN" stdout', "ESL096"),
        ("srun ./a | grep -E 'step|NaN'", 'LOG "NaN" stdout', None),
        ("srun ./a | ts", 'MATCH "^FATAL" stdout', "ESL096"),
        ("srun python a.py", 'LOG "step" stdout TIMEOUT 60', "ESL096"),
        ("srun python -u a.py", 'LOG "step" stdout TIMEOUT 60', None),
        ("export PYTHONUNBUFFERED=1\nsrun python a.py", 'LOG "step" stdout TIMEOUT 60', None),
        ("srun python a.py", 'LOG "step" output TIMEOUT 60', None),
        ("sbatch other.sh", 'LOG "FATAL" stdout', "ESL096"),
        ("sbatch --wait other.sh", 'LOG "FATAL" stdout', None),
        ("srun ./a &", 'LOG "FATAL" stdout', "ESL096"),
        ("srun ./a &\nwait $!", 'LOG "FATAL" stdout', None),
        ("srun ./a", 'MATCH "^mpirun noticed" output', "ESL096"),
        ("mpirun ./a", 'MATCH "^mpirun noticed" output', None),
        ("srun ./a", 'MATCH "^(?P<rank>\\d+): ERROR" stdout', "ESL096"),
        ("srun -l ./a", 'MATCH "^(?P<rank>\\d+): ERROR" stdout', None),
        ("srun ./a | sed 's/^/[cfd] /'", 'MATCH "^FATAL" stdout', "ESL096"),
        ("srun ./a | sed 's/^/[3] /'", 'MATCH "^FATAL" stdout', None),
        ("srun torchrun --redirects 3 a.py", 'LOG "FATAL" stdout', "ESL096"),
        ("srun torchrun --redirects 3 --tee 3 a.py", 'LOG "FATAL" stdout', None),
        ("srun lmp -in a -screen none", 'LOG "ERROR: Lost" stdout', "ESL096"),
        # lines
        (
            "cat > a.py <<E\nprint('  step 1')\nE\nsrun python -u a.py",
            'MATCH "^step" stdout TIMEOUT 60',
            "ESL096",
        ),
        ("cat > a.py <<E\nprint('step 1')\nE\nsrun python -u a.py", 'MATCH "^step" stdout TIMEOUT 60', None),
        ("srun ./a || { echo 'Run failed'; exit 1; }", 'LOG "run failed" stdout', "ESL096"),
        ("srun ./a || { echo 'Run failed'; exit 1; }", 'LOG "Run failed" stdout', None),
        ("srun ./a || { echo 'Simulation aborted'; exit 1; }", 'LOG "Simulaton aborted" stdout', "ESL096"),
        ("srun ./a || { echo 'f(x) is bad'; exit 1; }", 'MATCH "f(x) is bad" stdout', "ESL096"),
        ('srun ./a || { echo "$(date) ERROR a"; exit 1; }', 'MATCH "^ERROR" stdout', "ESL096"),
        ('srun ./a || { echo "$TAG ERROR a"; exit 1; }', 'MATCH "^ERROR" stdout', None),
        (RED, 'LOG "ERROR: lost" stdout', "ESL096"),
        (RED, 'MATCH "^ERROR" stdout', "ESL096"),
        (RED, 'LOG "lost" stdout', None),
        ("for i in {1..99}; do srun ./a; echo step $i; done", 'MATCH "step \\d{4}" stdout', "ESL096"),
        ("for i in {1..9999}; do srun ./a; echo step $i; done", 'MATCH "step \\d{4}" stdout', None),
        ("srun ./a || { echo one part\necho two parts; exit 1; }", 'MATCH "one part.*two" stdout', "ESL096"),
        ("srun ./a", 'MATCH "^Segmentation fault$" stderr', "ESL096"),
        ("srun ./a", 'MATCH "Segmentation fault" stderr', None),
        ("export LC_ALL=de_DE.UTF-8\nsrun ./a", 'LOG "No space left on device" stderr', "ESL096"),
        ("export LC_ALL=C\nsrun ./a", 'LOG "No space left on device" stderr', None),
        (
            "if srun ./a; then echo went on; else echo fell off; fi",
            'MULTIPLE ["went on", "fell off"] stdout',
            "ESL096",
        ),
        (
            "srun ./a && echo went on; srun ./b || echo fell off",
            'MULTIPLE ["went on", "fell off"] stdout',
            None,
        ),
        ("for i in 1 2 3; do srun ./a || echo bad; done", 'LOG "bad" stdout RECURRING 5', "ESL084"),
        ("for i in 1 2 3; do srun ./a || echo bad; done", 'LOG "bad" stdout RECURRING 3', None),
        ("while :; do ./a || echo bad; sleep 99; done", 'LOG "bad" stdout RECURRING 3 WITHIN 60', "ESL084"),
        (PYTHON.format(WHILE_SOUND), 'LOG "error =" stdout', "ESL083"),
        (PYTHON.format(IN_A_BRANCH), 'LOG "error =" stdout', None),
        ("srun ./a", 'LOG "segmentation fault" output', "ESL096"),
        ("srun ./a", 'ANY ["segmentation fault", "Segmentation fault"] output', None),
        ("srun ./a", 'LOG "segmentation fault in" output', None),
        ("srun ./a", 'MATCH "call to MPI_Abort(comm, 1)" stderr', "ESL056"),
        ("srun ./a", 'MATCH "call to MPI_Abort\\(comm, 1\\)" stderr', None),
        ("srun ./a", 'MATCH "call to MPI_Abort( with 1)?$" stderr', None),
        # times
        (PYTHON.format(SLOW.format("pass")), 'LOG "step" stdout TIMEOUT 60', "ESL094"),
        (PYTHON.format(SLOW.format("pass")), 'LOG "step" stdout TIMEOUT 400', None),
        (PYTHON.format(SLOW.format("import threading")), 'LOG "step" stdout TIMEOUT 60', None),
        ("srun ./a", "SILENCE TIMEOUT 400 WARMUP 400", "ESL094"),
        ("while :; do srun ./a; sleep 90; done", "SILENCE TIMEOUT 60", "ESL094"),
        ("cat > d <<E\nendTime 0.5;\nE\nsrun ./a", 'PROGRESS "Time = (\\d+)" stdout TIMEOUT 60', "ESL054"),
        ("cat > d <<E\nendTime 5;\nE\nsrun ./a", 'PROGRESS "Time = (\\d+)" stdout TIMEOUT 60', None),
        ("srun ./a", 'PROGRESS "^(\\d+):\\d+:\\d+ step" stdout TIMEOUT 60', "ESL054"),
        ("srun ./a\ndate > in/last", 'OUTPUT "o.nc" OLDER THAN "in/*"', "ESL096"),
        ("date > in/now\nsrun ./a", 'OUTPUT "o.nc" OLDER THAN "in/*"', None),
        ("nvidia-smi -l 5 &\nsrun ./a", "SILENCE TIMEOUT 60", "ESL096"),
        ("nvidia-smi -l 5 > g.log &\nsrun ./a", "SILENCE TIMEOUT 60", None),
        ("for f in *.c; do ./a -v $f; done", 'PROGRESS "step (\\d+)" stdout TIMEOUT 60', "ESL096"),
        ("for f in *.c; do ./a -v $f; done", 'LOG "step" stdout TIMEOUT 60', None),
        ("./a > a.log\n./b > b.log", 'LOG "step" file "b.log" TIMEOUT 60', "ESL096"),
        ("./a > a.log\n./b > b.log", 'LOG "step" file "b.log" TIMEOUT 60 WARMUP 300', None),
        ("srun ./a && echo done > run.txt", 'OUTPUT "run.log" NOT MATCH "done"', "ESL096"),
        ("srun ./a && echo done > run.txt", 'OUTPUT "run.txt" NOT MATCH "done"', None),
        ("srun ./a", "CAUSE gpu-hardware", "ESL095"),
        ("srun ./a", "CAUSE gpu-hardware, node-lost", None),
        ("srun --gpus=1 ./a", "CAUSE gpu-hardware", None),
        # ends
        ("for f in *.c; do ./a $f; done", "EXIT CODE 1", "ESL096"),
        ("for f in *.c; do ./a $f || exit 1; done", "EXIT CODE 1", None),
        ("srun ./a\n[ -s err.txt ] && cat err.txt", "EXIT CODE 1", "ESL096"),
        ("srun ./a || exit 3\ngrep -q bad a.log && exit 4\nexit 0", "EXIT CODE 4", None),
        ("eval $(conda shell.bash hook)\nsrun ./a\ndate", "EXIT CODE 1", "ESL096"),
        ("if ! srun ./a; then date >> log; fi", "EXIT CODE 1", "ESL096"),
        ("if ! srun ./a; then date >> log; false; fi", "EXIT CODE 1", None),
        ("if ! srun ./a; then exit 1; fi", "EXIT CODE 139", "ESL096"),
        ("if ! srun ./a; then exit 1; fi", "EXIT CODE 1", None),
        ("if ! { srun ./a; }; then exit 1; fi", "EXIT CODE 139", None),
        ("srun ./a || exit 3\nsrun ./b", "EXIT CODE 139", None),
        ("f() { exit 0; }\ntrap f USR1\nsrun ./a &\nwait $!", "EXIT SIGNAL USR1", "ESL096"),
        ("timeout 60 srun ./a", "EXIT SIGNAL TERM", "ESL096"),
        ("timeout 60 srun ./a", "EXIT CODE 124", None),
        (PYTHON.format("try:\n    f()\nexcept Exception as e:\n    print(e)"), "EXIT CODE 1", "ESL096"),
        (PYTHON.format("try:\n    f()\nexcept Exception as e:\n    raise"), "EXIT CODE 1", None),
    ],
)
def test_detections(tmp_path: Path, body: str, rule: str, code: str | None) -> None:
    script = f"#!/bin/bash\n#SBATCH -N 4\n#SBATCH --time=10\n{body}\n"
    rules = f"{DETECT}{rule}\n{REPLACE}"
    assert found(tmp_path, script, rules) == ([code] if code else [])
    assert {*found(tmp_path, NO_SHELL, rules)}.isdisjoint({"ESL083", "ESL096"}), "no shell runs it"


MESH = "./mesh a.geo > mesh.log || { echo 'the mesh is empty'; exit 3; }\nsleep 500"
STUDY = """description: {{name: s, description: s}}
batch: {{type: slurm, host: h, bank: b, queue: q}}
study:
  - name: mesh
    description: A mesh.
    run: {{nodes: 1, procs: 1, walltime: "00:10:00", cmd: {mesh}}}
  - name: run
    description: A run.
    run: {{nodes: 2, procs: 2, walltime: "04:00:00", depends: [mesh], cmd: {run}}}
"""


@pytest.mark.parametrize(
    ("job", "rule", "code"),
    [
        ("run", 'LOG "the mesh is empty" stdout', "ESL096"),
        ("mesh", 'LOG "the mesh is empty" stdout', None),
        ("run", 'LOG "FATAL" file "mesh.log"', "ESL096"),
        ("mesh", 'LOG "FATAL" file "mesh.log"', None),
        ("run", 'OUTPUT "mesh.log" MISSING', "ESL096"),
        ("run", "EXIT CODE 4", "ESL096"),
        ("mesh", "EXIT CODE 3", None),
        ("*", "EXIT CODE 4", None),
        ("mesh", 'LOG "cell" stderr TIMEOUT 3600', "ESL094"),
        ("mesh", 'LOG "pressure is lost" stderr', "ESL096"),
        ("run", 'LOG "pressure is lost" stdout', None),
        ("run", "SILENCE TIMEOUT 3600", None),
        ("*", "SILENCE TIMEOUT 400", "ESL094"),
    ],
)
def test_each_step_of_a_study_has_a_script_of_its_own(
    tmp_path: Path, job: str, rule: str, code: str | None
) -> None:
    file = tmp_path / "study.yaml"
    run = "srun python3 $(SPECROOT)/a.py $(mesh.workspace) | tee a.log"
    file.write_text(STUDY.format(mesh=json.dumps(MESH), run=json.dumps(run)))
    (tmp_path / "a.py").write_text("if bad(): print('pressure is lost')")
    rules = f"{HEADER}{DETECT}{rule}\n{REPLACE}\n".replace("JOB [run]", f"JOB [{job}]")
    result = language.parse(rules, str(tmp_path / "t.esl"), workflow := workflows.read(file))
    assert result.spec is not None, result.diagnostics
    scripts = workflows.scripts(file)
    here = Surroundings(result.spec, tmp_path / "t.esl", result.texts, workflow, None, None, {}, scripts)
    codes = [each.code for each in here.findings() if each.line > HEADER.count("\n")]
    assert codes == ([code] if code else [])


@pytest.mark.parametrize(
    ("body", "step", "code"),
    [
        ("export N=4\nsrun ./a", 'JOB.REPLACE {"environment": {"N": "2"}}', "ESL096"),
        ("export N=${N:-4}\nsrun ./a", 'JOB.REPLACE {"environment": {"N": "2"}}', None),
        ("srun ./a", 'JOB.REPLACE {"command_append": ["-x"]}', "ESL096"),
        ('srun ./a "$@"', 'JOB.REPLACE {"command_append": ["-x"]}', None),
        ("cd /tmp\nsrun ./a", 'JOB.REPLACE {"workdir": "/tmp"}', "ESL096"),
        ("/usr/bin/srun ./a", "NODE.REPLACE", "ESL096"),
        ("srun /usr/bin/a", "NODE.REPLACE", None),
        ("export PATH=/opt/bin\nsrun ./a", "NODE.REPLACE", "ESL096"),
        ("export PATH=/opt/bin:$PATH\nsrun ./a", "NODE.REPLACE", None),
        ("export MASTER_ADDR=$(hostname -s)\nsrun ./a", "NODE.REPLACE", "ESL096"),
        ("srun torchrun --rdzv_endpoint=$HOSTNAME:29500 a.py", "NODE.REPLACE", "ESL096"),
        ("export MASTER_ADDR=$(scontrol show hostnames | head -1)\nsrun ./a", "NODE.REPLACE", None),
        ("HOST=$(hostname)\nsrun ./a > $HOST.log", "NODE.REPLACE", None),
        ("srun bash -c 'MASTER_ADDR=$(hostname) ./a'", "NODE.REPLACE", None),
        ("srun env -i ./a", 'JOB.REPLACE {"environment": {"N": "2"}}', "ESL096"),
        ("srun --export=ALL ./a", 'JOB.REPLACE {"environment": {"N": "2"}}', None),
        ("srun --export=M ./a", 'JOB.REPLACE {"environment": {"N": "2"}}', "ESL096"),
        ("srun ./a", 'SCHEDULER JOB.REPLACE {"time": 60}', "ESL094"),
        ("srun ./a", 'SCHEDULER JOB.REPLACE {"time": 90, "memory": "16G"}', None),
        ("srun ./a", 'SCHEDULER JOB.REPLACE {"memory": "4G"}', "ESL094"),
        (
            "srun ./a /p/x/in",
            'FILESYSTEM.REPLACE {"filesystem": "/home/new", "defaultpath": "/p/old"}',
            "ESL096",
        ),
        (
            "srun ./a /p/old/in",
            'FILESYSTEM.REPLACE {"filesystem": "/tmp", "defaultpath": "/p/old"}',
            "ESL095",
        ),
        (
            "srun ./a /dev/shm/run/o",
            'FILESYSTEM.REPLACE {"filesystem": "/home/new", "defaultpath": "/dev/shm/b"}',
            "ESL096",
        ),
        (
            "srun ./a /dev/shm/run/o",
            'FILESYSTEM.REPLACE {"filesystem": "/home/new", "defaultpath": "/dev/shm/run"}',
            None,
        ),
        ("srun ./a", 'FILESYSTEM.REPLACE {"filesystem": "/home/b", "defaultpath": "/home/a"}', "ESL079"),
        ("srun ./a", 'FILESYSTEM.REPLACE {"filesystem": "/home/b", "defaultpath": "/dev/shm/a"}', None),
        ("srun ./a\nwhile [ ! -f STOP ]; do :; done", 'JOB.CHECKPOINT {"trigger": "/p/NOW"}', "ESL096"),
        ("sleep 9", 'JOB.CHECKPOINT {"signal": "USR1", "written": "/p/a"}', "ESL096"),
        ("trap 'touch a' USR1\nsleep 9", 'JOB.CHECKPOINT {"signal": "USR1", "written": "/p/a"}', None),
        ("srun ./a", 'JOB.CHECKPOINT {"signal": "USR1", "written": "/p/a"}', None),
        ("srun ./a", 'JOB.ADD {"command": ["./salvage.sh", "${attempt}"]}', "ESL081"),
        ("cp /p/salvage.sh .\nsrun ./a", 'JOB.ADD {"command": ["./salvage.sh"]}', None),
        ("srun ./a", 'JOB.ADD {"command": "bash run.sh"}', None),
        ("#SBATCH --no-requeue\nsrun ./a", 'SCHEDULER JOB.REPLACE {"time": 90}', "ESL095"),
        ("srun ./a\nwhile [ ! -f STOP ]; do :; done", 'JOB.CHECKPOINT {"trigger": "/p/STOP"}', None),
        ("./a --stop-file STOP", 'JOB.CHECKPOINT {"trigger": "/p/NOW"}', "ESL096"),
        ("trap '' USR1\nsrun ./a", 'JOB.CHECKPOINT {"signal": "USR1", "written": "/p/a"}', "ESL096"),
        ("trap '' USR2\nsrun ./a", 'JOB.CHECKPOINT {"signal": "USR1", "written": "/p/a"}', None),
        (HANDLES, 'JOB.CHECKPOINT {"signal": "USR2", "written": "/p/a"}', "ESL096"),
        (HANDLES, 'JOB.CHECKPOINT {"signal": "SIGUSR1", "written": "/p/a"}', None),
        ("srun ./a", 'SCHEDULER JOB.REPLACE {"time": 7200}', "ESL094"),
        ("srun ./a", 'NODE.ADD {"count": 4}', "ESL085"),
        ("srun ./a", 'NODE.ADD {"count": 4, "wait": 60}', None),
        ("srun ./a", "DEPENDENT_JOB JOB.REPLACE", "ESL095"),
        ("srun ./a", 'JOB.ADD {"command": "sleep 90", "timeout": 60}', "ESL094"),
        ("./a --resume ckpt/a", 'JOB.ADD {"command": "rm -rf ${workspace}/ckpt"}', "ESL095"),
        ("./a --resume ckpt/a", 'JOB.ADD {"command": "rm -rf ${workspace}/tmp"}', None),
    ],
)
def test_steps(tmp_path: Path, body: str, step: str, code: str | None) -> None:
    script = f"#!/bin/bash\n#SBATCH -N 2\n#SBATCH --time=1:00:00\n#SBATCH --mem=8G\n{body}\n"
    rules = f"{LOST}\n{RECOVER}{'' if ' ' in step.split('{')[0].strip() else 'JOB '}{step}"
    assert found(tmp_path, script, rules) == ([code] if code else [])


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("set -e\nmkdir out\nsrun ./a", True),
        ("set -e\nmkdir -p out\nsrun ./a", False),
        ("mkdir out\nsrun ./a", False),
        ("set -e\n[ -d out ] || mkdir out\nsrun ./a", False),
        ("set -e\nrm -rf out\nmkdir out\nsrun ./a", False),
        ("set -e\nmkdir out.$$\nsrun ./a", False),
        ("set -e\nmkdir out.$SLURM_JOB_ID\nsrun ./a", True),
        ("set -e\nD=/p/$(date +%s)\nmkdir $D\nsrun ./a", False),
        ("set -e\ncd $(mktemp -d)\nmkdir out\nsrun ./a", False),
        ("set -e\ntrap 'rm -rf out' EXIT\nmkdir out\nsrun ./a", False),
        ("set -e\nmv a.in work/\nsrun ./a work/a.in", True),
        ("set -e\nln -s /data/in in\nsrun ./a in", True),
        ("set -e\nln -sf /data/in in\nsrun ./a in", False),
        ("rm -rf ckpt\nsrun ./a --checkpoint-dir ckpt", True),
        ("rm -rf tmp\nsrun ./a --checkpoint-dir ckpt", False),
        ("if [ -e busy ]; then exit 0; fi\ntouch busy\nsrun ./a\nrm busy", True),
        ("if [ -e done ]; then exit 0; fi\nsrun ./a\ntouch finished", False),
    ],
)
def test_what_a_second_attempt_finds(tmp_path: Path, body: str, told: bool) -> None:
    rules = f"{LOST}\n{RECOVER}JOB NODE.REPLACE"
    codes = found(tmp_path, f"#!/bin/bash\n#SBATCH -N 2\n{body}\n", rules)
    assert codes == (["ESL096"] if told else [])


@pytest.mark.parametrize(
    ("text", "step", "code"),
    [
        ("(?P<node>rank \\d+) is lost", 'NODE.REPLACE {"node": "${node}"}', "ESL095"),
        ("(?P<node>\\d+) is lost", "NODE.REPLACE", "ESL095"),
        ("(?P<node>[\\w.-]+) is lost", "NODE.REPLACE", None),
        ("(?P<node>nid(?:\\d+)) is lost", "NODE.REPLACE", None),
        ("(?P<gpu>\\d+) is lost", "NODE.REPLACE", None),
    ],
)
def test_captured_nodes(tmp_path: Path, text: str, step: str, code: str | None) -> None:
    rules = f'{DETECT}MATCH "{text}" stderr\n{RECOVER}JOB {step}'
    assert found(tmp_path, "#!/bin/sh\n#SBATCH -N 2\nsrun ./a\n", rules) == ([code] if code else [])


@pytest.mark.parametrize(
    ("header", "step", "code"),
    [
        ("#PBS -l select=2", 'JOB NODE.REPLACE {"wait": 60}', "ESL095"),
        ("#SBATCH -N 2", 'JOB NODE.REPLACE {"wait": 60}', None),
        ("#PBS -l select=2", 'SCHEDULER JOB.REPLACE {"time": 90}', "ESL095"),
    ],
)
def test_what_only_slurm_heeds(tmp_path: Path, header: str, step: str, code: str | None) -> None:
    rules = f"{LOST}\n{RECOVER}{step}"
    assert found(tmp_path, f"#!/bin/sh\n{header}\nsrun ./a\n", rules) == ([code] if code else [])


def test_exceptions_that_share_a_line(tmp_path: Path) -> None:
    """The line is judged before the end, so that an EXIT behind it is never raised."""
    fails = "fail() {{ echo {} $1; exit 3; }}\nsrun ./a || fail a"
    rules = f'{DETECT}LOG "FATAL" stdout\n{REPLACE}\nDECLARE EXCEPTION CODE JOB_LEVEL JOB [run]\n'
    rules += "EXCEPTION DETECTION CODE EXIT CODE 3\nEXCEPTION RECOVERY STEP CODE JOB NODE.REPLACE"
    for word, codes in (("FATAL", ["ESL059"]), ("BAD", [])):
        script = f"#!/bin/bash\n#SBATCH -N 2\n{fails.format(word)}\n"
        assert found(tmp_path, script, rules) == codes


def test_a_directory_that_the_script_removes_holds_no_promised_file(tmp_path: Path) -> None:
    rules = f'{DETECT}OUTPUT "scratch/a.bin" MISSING\n{REPLACE}'
    assert "ESL096" in found(tmp_path, "#!/bin/bash\nset -e\n./a scratch\nrm -rf scratch\n", rules)
    assert "ESL096" not in found(tmp_path, "#!/bin/bash\nset -e\n./a scratch\nrm -rf scrap\n", rules)


@pytest.mark.parametrize(
    ("output", "told"), [("job.log", True), ("slurm-%x.out", False), ("/dev/null", True)]
)
def test_output_that_has_another_name_than_slurm_s(tmp_path: Path, output: str, told: bool) -> None:
    script = f"#!/bin/sh\n#SBATCH -J run\n#SBATCH -o {output}\nsrun ./a\n"
    codes = found(tmp_path, script, f'{DETECT}LOG "lost" file "slurm-run.out"\n{REPLACE}')
    assert ("ESL081" in codes) is told


@pytest.mark.parametrize(
    ("shell", "words", "told"),
    [
        ("/bin/sh", "echo staging", True),
        ("/bin/sh", "echo staging >&2", False),
        ("/usr/bin/env sh", "", False),
        ("/usr/bin/env python9", "", True),
        ("/opt/site/python9 -u", "", True),
    ],
)
def test_handlers_that_print_words_or_cannot_start(
    tmp_path: Path, shell: str, words: str, told: bool
) -> None:
    handler = tmp_path / "stage"
    handler.write_text(f"#!{shell}\n{words}\necho '{{}}'\n")
    handler.chmod(0o755)
    rules = f'DECLARE RESOURCE BUFFER[ADD HANDLER "./stage"]\n{LOST}\n{RECOVER}JOB BUFFER.ADD'
    assert found(tmp_path, "#!/bin/sh\nsrun ./a\n", rules) == (["ESL077"] if told else [])


def test_a_pipe_in_a_program_s_place_is_never_waited_for(tmp_path: Path) -> None:
    """whesl check opened the Python program that a script names, and waited for ever for a writer."""
    os.mkfifo(tmp_path / "app.py")
    assert not found(tmp_path, "#!/bin/bash\nsrun python3 app.py\n", f"{LOST}\n{REPLACE}")
