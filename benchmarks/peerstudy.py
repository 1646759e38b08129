"""The study of ``peers.py`` as the users of each peer write it: its files, its commands, its small disks."""

from __future__ import annotations

import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from measure import stamps

# Snakemake twice: what --retries asks for is done by its main process, which submits the job again; what a
# rule's own "retries" asks for is done inside the job first.
APPROACHES = ("Maestro", "Snakemake", "Snakemake-rule", "Slurm", "WHESL")
FAULTS = ("none", "crash", "hang", "disk")
WORKER = Path(__file__).resolve().with_name("worker.py")
BLOCK = 64 * 1024
PACE = 0.5
CHECKPOINT = 8  # cycles
AROUND = 4  # cycles of prepare and of analyse
TRIES = 3  # of anything
# Minutes. Slurm counts whole ones. It is more than twice what simulate takes; many users leave more room.
TIME_LIMIT = 1
# Seconds without a cycle until WHESL's rule calls it a hang: twenty cycles.
SILENCE = 10
STEPS = {"prepare": 1, "simulate": 2, "analyse": 1}  # nodes
AFTER = {"prepare": "", "simulate": "prepare", "analyse": "simulate"}
_PLUGIN = """\
function slurm_job_submit(job, partitions, uid)
  local file = io.open("{hold}", "r")
  if file then
    job.begin_time = os.time() + tonumber(file:read("*a"))
    file:close()
  end
  return slurm.SUCCESS
end
function slurm_job_modify(job, record, partitions, uid) return slurm.SUCCESS end
return slurm.SUCCESS
"""
# What Snakemake's users give it to ask Slurm with.
_STATUS = """\
#!/bin/sh
case "$(squeue --noheader --states=all --jobs="$1" --format=%T)" in
  COMPLETED) echo success ;;
  "" | PENDING | CONFIGURING | RUNNING | COMPLETING | SUSPENDED) echo running ;;
  *) echo failed ;;
esac
"""
_RULES = """\
DECLARE ENTITY WMS, JOB
DECLARE EXCEPTION_TYPE JOB_LEVEL, WORKFLOW_LEVEL
DECLARE RESOURCE JOB[REPLACE]
DECLARE RESOURCE FILESYSTEM[REPLACE]

DECLARE EXCEPTION CRASH JOB_LEVEL JOB [simulate] LIMIT 2
EXCEPTION DETECTION CRASH EXIT ANY
EXCEPTION RECOVERY STEP CRASH JOB JOB.REPLACE {{}}

DECLARE EXCEPTION HANG JOB_LEVEL JOB [simulate] LIMIT 2
EXCEPTION DETECTION HANG LOG "cycle = " stdout TIMEOUT {silence}
EXCEPTION RECOVERY STEP HANG JOB JOB.REPLACE {{}}

DECLARE EXCEPTION DISKFULL WORKFLOW_LEVEL JOB [simulate] LIMIT 2
EXCEPTION DETECTION DISKFULL MATCH "No space left on device|Disk quota exceeded" stdout
EXCEPTION RECOVERY STEP DISKFULL JOB FILESYSTEM.REPLACE {{"filesystem": "{large}", "defaultpath": "{fast}"}}
"""


@dataclass(frozen=True)
class Timing:
    """How long simulate is, and when its fault comes."""

    cycles: int = 48
    fault_cycle: int = 30


@dataclass(frozen=True)
class Run:
    """One run of the study by one approach, with one fault."""

    root: Path
    approach: str
    fault: str
    timing: Timing
    hold: bool = False

    @property
    def place(self) -> Path:
        """Where everything of this run is, but what is on the fast file system."""
        return self.root / f"{self.approach}-{self.fault}{'-held' if self.hold else ''}"

    @property
    def home(self) -> Path:
        """WHESL's own directory."""
        return self.place / "home"

    @property
    def log(self) -> Path:
        """What the commands print."""
        return self.place / "log"

    @property
    def fast(self) -> Path:
        """The fast file system, which is small when the disk is to be full."""
        return self.root / "small" / self.approach if self.fault == "disk" else self.place / "fast"

    @property
    def large(self) -> Path:
        """The other file system."""
        return self.place / "large"

    def stamps(self, step: str) -> Path:
        """Return the file of a step's times."""
        return self.place / f"{step}.stamps"

    def ended(self) -> bool:
        """Whether analyse has done its work."""
        return any(word == "end" for _, word in stamps(self.stamps("analyse")))

    def prepare(self) -> None:
        """Make the directories and files."""
        for directory in (self.place, self.fast, self.large, self.place / "meet"):
            directory.mkdir(parents=True, exist_ok=True)
        self.home.mkdir(mode=0o700)
        self.place.joinpath("rules.esl").write_text(
            _RULES.format(silence=SILENCE, large=self.large, fast=self.fast)
        )
        for step in STEPS:
            self.place.joinpath(f"{step}.sh").write_text(self._script(step))
        self.place.joinpath("study.yaml").write_text(self._maestro(*STEPS))
        self.place.joinpath("rest.yaml").write_text(self._maestro("simulate", "analyse"))
        self.place.joinpath("Snakefile").write_text(self._snakefile())
        status = self.place / "status.sh"
        status.write_text(_STATUS)
        status.chmod(0o755)

    def check(self) -> None:
        """Raise RuntimeError unless simulate's files are all there, and the fault came once."""
        place = self.large / "data" if (self.large / "data" / "result").exists() else self.fast / "data"
        for cycle in range(1, self.timing.cycles + 1):
            if (place / f"cycle-{cycle}").stat().st_size != BLOCK:
                raise RuntimeError(f"the output of cycle {cycle} is not whole")
        failed = sum(word == "failed" for _, word in stamps(self.stamps("simulate")))
        if failed != (self.fault != "none"):
            raise RuntimeError(f"{failed} faults")

    def evidence(self) -> str:
        """Return the ends of what was printed."""
        files = [self.log, *sorted(self.place.rglob("*.out")), *sorted(self.place.rglob("*.err"))]
        return "\n".join(f"--- {file}\n{file.read_text()[-1500:]}" for file in files if file.is_file())

    # What the steps run -------------------------------------------------------------------------------

    def _worker(self, step: str, *more: str) -> str:
        out = {"prepare": self.place / "prepared", "analyse": self.place / "analysed"}.get(step)
        words = [sys.executable, str(WORKER), "--stamps", str(self.stamps(step)), "--pace", str(PACE)]
        words += ["--checkpoint", str(CHECKPOINT), "--block", str(BLOCK)]
        words += ["--cycles", str(self.timing.cycles if step == "simulate" else AROUND)]
        return shlex.join([*words, *(["--out", str(out)] if out else []), *more])

    def text(self, step: str) -> str:
        """Return what a step runs, in shell."""
        fast, large = self.fast / "data", self.large / "data"
        if step == "prepare":
            return self._worker(step) + "\n"
        if step == "analyse":
            if self.approach == "WHESL":  # is told where the data are
                return self._worker(step, "--input", str(fast)) + "\n"
            found = f"data={fast}\n[ -e {large}/result ] && data={large}\n"
            return found + self._worker(step) + ' --input "$data"\n'
        more = ["--input", str(self.place / "prepared"), "--meet", str(self.place / "meet")]
        if self.fault in ("crash", "hang"):
            more += ["--fault", self.fault, "--fault-cycle", str(self.timing.fault_cycle)]
            more += ["--fault-mark", str(self.place / "fault")]
        srun = f"srun --kill-on-bad-exit=1 -N 2 -n 2 {self._worker(step, *more)}"
        if self.approach == "WHESL":
            return f"{srun} --out {fast}\n"
        again = f"out={fast}\n[ -e {self.place}/begun ] && out={large}\ntouch {self.place}/begun\n"
        return f'{again}{srun} --out "$out" --older {fast}\n'

    def _script(self, step: str) -> str:
        """Return a batch script; by Slurm's own way a failed one puts its job into the queue again."""
        head = f"#!/bin/bash\n#SBATCH --job-name={step}\n#SBATCH --output={self.place}/{step}.out\n"
        head += f"#SBATCH --nodes={STEPS[step]} --ntasks={STEPS[step]} --time=10\n"
        if self.approach != "Slurm":
            return head + self.text(step)
        again = f'[ "${{SLURM_RESTART_COUNT:-0}}" -lt {TRIES - 1} ] && scontrol requeue "$SLURM_JOB_ID"\n'
        head += "#SBATCH --requeue --open-mode=append\n"
        # The limit of the step: the script lives on and can ask for the requeue.
        return f"{head}export SLURM_TIMELIMIT={TIME_LIMIT}\n{self.text(step)}status=$?\n" + (
            f'if [ "$status" -ne 0 ]; then\n{again}fi\nexit "$status"\n'
        )

    def _maestro(self, *steps: str) -> str:
        """Return a study of these steps, which stand in the order of their dependencies."""
        text = "description:\n  name: peers\n  description: Three steps.\nbatch:\n  type: slurm\n"
        text += "  host: local\n  bank: none\n  queue: main\nstudy:\n"
        for step in steps:
            nodes = STEPS[step]
            command = "".join(f"        {line}\n" for line in self.text(step).splitlines())
            text += f"  - name: {step}\n    description: {step}\n    run:\n      cmd: |\n{command}"
            if step == "simulate" and self.approach == "Maestro":
                text += f"      restart: |\n{command}"
            text += f'      nodes: {nodes}\n      procs: {nodes}\n      walltime: "00:0{TIME_LIMIT}:00"\n'
            text += f"      depends: [{AFTER[step]}]\n" if AFTER[step] in steps else ""
        return text

    def _snakefile(self) -> str:
        text = f'rule all:\n    input: "{self.place}/analyse.done"\n'
        for step, nodes in STEPS.items():
            text += f'rule {step}:\n    output: touch("{self.place}/{step}.done")\n'
            text += f'    input: "{self.place}/{AFTER[step]}.done"\n' if AFTER[step] else ""
            text += f"    retries: {TRIES - 1}\n" if self.approach == "Snakemake-rule" else ""
            text += f"    resources: nodes={nodes}, tasks={nodes}, runtime={TIME_LIMIT}\n"
            text += f'    shell: "bash {self.place}/{step}.sh"\n'
        return text


def commands(run: Run) -> list[list[str]]:
    """Return the commands that carry a run out; the next one is for when the one before failed.

    Slurm's own way is the exception: its commands submit one script after the other.
    """
    study = str(run.place / "study.yaml")
    if run.approach == "WHESL":
        command = [sys.executable, "-m", "whesl", "run", study, "-e", str(run.place / "rules.esl")]
        command += ["--rjms", "slurm", "--inner", "slurm", "--spares", "0", "--poll", "1", "-y"]
        return [[*command, "--out", str(run.place / "study")]]
    if run.approach == "Maestro":
        # Its own restart is for time limits. What failed otherwise has failed, and its user runs the steps
        # that are left; here that takes no time to notice.
        maestro = ["maestro", "run", "-fg", "-y", "-s", "1", "--rlimit", str(TRIES - 1)]
        again = [str(run.place / "rest.yaml")] * (TRIES - 1)
        files = enumerate((study, *again))
        return [[*maestro, "-o", str(run.place / f"study-{number}"), file] for number, file in files]
    if run.approach.startswith("Snakemake"):
        command = ["snakemake", "--snakefile", str(run.place / "Snakefile"), "--jobs", "4"]
        command += ["--retries", str(TRIES - 1)]
        # The executor for Slurm looks after 1, 11, 21, 31 s ... at the quickest, this one every second.
        command += ["--executor", "cluster-generic", "--seconds-between-status-checks", "1"]
        submit = "sbatch --parsable --nodes={resources.nodes} --ntasks={resources.tasks}"
        submit += f" --time={{resources.runtime}} --output={run.place}/snakemake-%j.out"
        command += ["--cluster-generic-submit-cmd", submit, "--latency-wait", "2"]
        return [[*command, "--cluster-generic-status-cmd", str(run.place / "status.sh")]]
    line = "id=; "
    for step in STEPS:
        line += f"id=$(sbatch --parsable ${{id:+--dependency=afterok:$id}} {run.place / step}.sh) || exit; "
    return [["bash", "-c", line]]


def hold_plugin(etc: Path, hold: Path) -> None:
    """Write the plugin by which every new job is held as many seconds as the file ``hold`` says."""
    etc.mkdir(parents=True)
    (etc / "job_submit.lua").write_text(_PLUGIN.format(hold=hold))


@contextmanager
def mount(root: Path) -> Iterator[list[Path]]:
    """Mount a really small file system for each approach; nodes have to be started after that."""
    made = []
    size = (Timing().fault_cycle - 1) * BLOCK + 8192
    try:
        for approach in APPROACHES:
            directory = root / "small" / approach
            directory.mkdir(parents=True)
            option = f"size={size},mode=700"
            subprocess.run(["mount", "-t", "tmpfs", "-o", option, "tmpfs", str(directory)], check=True)
            made.append(directory)
        yield made
    finally:
        for directory in made:
            subprocess.run(["umount", "--lazy", str(directory)], check=True)
