"""Features of what sbatch is asked for: in the script's header, on its command line, by variables."""
# ruff: noqa: E501 - a row for each option

from __future__ import annotations

from tests.neutrality.records import Act, Feature, Kind, When

SLURM = ("slurm",)
BOTH = ("slurm", "local")


def option(name: str, *header: str | bytes, managers: tuple[str, ...] = BOTH, **more: object) -> Feature:
    """Return a feature of the header."""
    lines = tuple(line if isinstance(line, bytes) else line.encode() for line in header)
    return Feature(name=name, kind=Kind.OPTION, header=lines, managers=managers, **more)  # type: ignore[arg-type] # the fields' own types hold


RANKS = Feature(
    name="ranks",
    kind=Kind.BODY,
    speaks=("sh",),
    text=b"srun sh -c 'echo rank $SLURM_PROCID of $SLURM_NTASKS on node $SLURM_NODEID $SLURMD_NODENAME' | sort > ranks\n",
)
# How many ranks and nodes each component has, by srun's own counting.
HET_RANKS = Feature(
    name="het-ranks",
    kind=Kind.BODY,
    speaks=("sh",),
    text=b"env -0 > environment\nfor g in 0 1; do srun --het-group=$g sh -c 'echo $SLURM_PROCID of $SLURM_NTASKS on $SLURM_NNODES nodes' | sort > group-$g; done\n"
    b"srun --het-group=0,1 sh -c 'echo rank $SLURM_PROCID of $SLURM_NTASKS' | sort > all\n",
    managers=SLURM,
)
EACH = Feature(
    name="each",
    kind=Kind.BODY,
    speaks=("sh",),
    text=b'echo "$SLURM_ARRAY_TASK_ID of $SLURM_ARRAY_TASK_COUNT $SLURM_ARRAY_TASK_MIN $SLURM_ARRAY_TASK_MAX $SLURM_ARRAY_TASK_STEP" > "each-$SLURM_ARRAY_TASK_ID"\n'
    b"env -0 > environment.$SLURM_ARRAY_TASK_ID\n",
)
EXITS_AS_INDEX = Feature(
    name="exits-as-index", kind=Kind.END, speaks=("sh",), text=b"exit $SLURM_ARRAY_TASK_ID\n"
)

OPTIONS = (
    option("name", "--job-name=a-name"),
    option("name-spaces", '--job-name="two words"'),
    option("name-bytes", b"--job-name=caf\xe9"),
    option("name-slash", "--job-name=a_b.c"),
    option("output", "--output=out-%x-%N-%u.txt"),
    option("output-error", "--output=o.txt", "--error=e.txt"),
    option("output-same", "--output=both.txt", "--error=both.txt"),
    option("output-patterns", "--output=out-%j-%A-%a-%n-%t-%s.txt"),
    option("output-zero-padded", "--output=out-%8j.txt"),
    option("output-percent", "--output=a%%b.txt"),
    option("output-absolute", "--output={place}/absolute.txt"),
    option("output-null", "--output=/dev/null"),
    option("output-directory", "--output=logs/out.txt", files={"logs/.keep": b""}),
    option("output-missing", "--output=missing/out.txt"),
    option("output-append", "--output=old.txt", "--open-mode=append", files={"old.txt": b"old\n"}),
    option("output-truncate", "--output=old.txt", "--open-mode=truncate", files={"old.txt": b"old\n"}),
    option("output-existing", "--output=old.txt", files={"old.txt": b"old\n"}),
    option("input", "--input=given", files={"given": b"a line\nanother\n"}),
    option("input-missing", "--input=no-such-file"),
    option("chdir", "--chdir={place}/sub", files={"sub/.keep": b""}),
    option("chdir-missing", "--chdir={place}/none"),
    option("export-none", "--export=NONE"),
    option("tested-only", "--test-only", managers=SLURM),
    option("export-all", "--export=ALL", environment={"GIVEN": "a value"}),
    option("export-some", "--export=GIVEN,OTHER=5", environment={"GIVEN": "a value", "HIDDEN": "x"}),
    option("export-with", "--export=ALL,OTHER=5", environment={"GIVEN": "a value"}),
    option("environment-odd", environment={"ODD": "a b'c\"d$e\\n", "EMPTY": "", "LINES": "one\ntwo"}),
    option("get-user-environment", "--get-user-env", managers=SLURM),
    option("nodes-2", "--nodes=2"),
    option("nodes-range", "--nodes=1-2"),
    option("ntasks", "--ntasks=3"),
    option("ntasks-nodes", "--nodes=2", "--ntasks=3", "--exclusive"),
    option("ntasks-per-node", "--nodes=2", "--ntasks-per-node=2"),
    option("cpus-per-task", "--ntasks=2", "--cpus-per-task=2", "--nodes=1"),
    option("short-options", "-N 2", "-n 2", "-J short", "-o short.txt"),
    option("several-on-a-line", "--nodes=1 --ntasks=2 # a comment"),
    option("exclusive", "--exclusive"),
    option("oversubscribe", "--oversubscribe", managers=SLURM),
    option("distribution", "--nodes=2", "--ntasks=4", "--exclusive", "--distribution=cyclic", managers=SLURM),
    option("contiguous", "--nodes=2", "--contiguous", managers=SLURM),
    option("nodelist", "--nodelist=n02,n03", "--nodes=2"),
    option("exclude", "--exclude=n01"),
    option("constraint", "--constraint=fast", managers=SLURM),
    option("memory", "--mem=100"),
    option("memory-per-cpu", "--mem-per-cpu=50"),
    option("gres", "--gres=tape:1", managers=SLURM),
    option("licenses", "--licenses=soft:2", managers=SLURM),
    option("nice", "--nice=100", managers=SLURM),
    option("comment", '--comment="my own comment"'),
    option("wckey", "--wckey=key", managers=SLURM),
    option("mail", "--mail-type=ALL", "--mail-user=somebody", managers=SLURM),
    option("mail-array", "--mail-type=END,ARRAY_TASKS", "--mail-user=somebody", "--array=0-1", managers=SLURM),
    option("time-min", "--time=20", "--time-min=5", managers=SLURM),
    option("deadline", "--time=1", "--deadline=now+600", managers=SLURM),
    option("begin", "--begin=now+2", managers=BOTH),
    option("hold", "--hold", acts=(Act(when=When.PENDING, do=("scontrol", "release", "{job}")),)),
    option("switches", "--switches=1@1", managers=SLURM),
    option("reservation", "--reservation=kept", managers=SLURM),
    option("partition", "--partition=other", managers=SLURM),
    option("partitions", "--partition=other,main", managers=SLURM),
    option("qos", "--qos=normal", managers=SLURM),
    option("account", "--account=test", managers=SLURM),
    option("priority-tier", "--partition=urgent", managers=SLURM),
    option("signal-option", "--signal=USR1@60"),
    option("kill-on-invalid", "--kill-on-invalid-dep=yes"),
    option("no-kill", "--no-kill"),
    option("requeue", "--requeue"),
    option("no-requeue", "--no-requeue"),
    option("core-spec", "--core-spec=0", managers=SLURM),
    option("threads", "--threads-per-core=1", managers=SLURM),
    option("profile", "--acctg-freq=0", managers=SLURM),
    option("tmp", "--tmp=1", managers=SLURM),
    option("propagate", "--propagate=NONE", managers=SLURM),
    option("hint", "--hint=nomultithread", managers=SLURM),
    option("array", "--array=0-2"),
    option("array-limited", "--array=1-4%1"),
    option("array-list", "--array=1,5,9-13:2"),
    option("array-one", "--array=7"),
    option("array-output", "--array=0-2", "--output=a-%A-%a.txt"),
    option("array-shared-output", "--array=0-2%1", "--output=all.txt", "--open-mode=append"),
    # The cluster requeues what ends with 111 (requeue-exit-code).
    option("array-all-codes", "--array=0-110,112-255", seconds=240.0, ways=("run",)),
    option("hetjob", "--ntasks=1", "hetjob", "--ntasks=2", managers=SLURM),
    option("packjob", "--ntasks=1", "packjob", "--ntasks=1", managers=SLURM),
    option("hetjob-nodes", "--nodes=1", "hetjob", "--nodes=2", "hetjob", "--nodes=1", managers=SLURM),
    option("singleton", "--job-name=single-{twin}", "--dependency=singleton", managers=SLURM, acts=(
        Act(when=When.SEEN, do=("sbatch", "--time=10", "-J", "single-{twin}", "-d", "singleton", "-D", "{place}", "--wrap", "sleep 0.2; echo second >> turns")),
    )),
    option("chdir-spaces", '--chdir="{place}/a b"', files={"a b/.keep": b""}),
    option("chdir-relative", "--chdir=sub", files={"sub/.keep": b""}),
    option("output-spaces", '--output="out put-%j.txt"'),
    option("name-odd", "--job-name='a;b&c $(d) %j'"),
    option("name-dash", "--job-name=-x"),
    option("header-wait", "--wait"),
    option("header-quiet", "--quiet"),
    option("header-verbose", "-vv", managers=SLURM),
    option("header-parsable", "--parsable"),
    option("export-file", "--export-file={place}/exported", managers=SLURM, files={"exported": b"GIVEN=a value\0PATH=/usr/bin:/bin\0"}),
    option("nodes-file", "--nodefile={place}/names", managers=SLURM, files={"names": b"n02\nn03\n"}),
    option("nodes-ready", "--wait-all-nodes=1", "--nodes=2", managers=SLURM),
    option("overcommit", "--overcommit", "--ntasks=3", "--nodes=1", managers=SLURM),
    option("spread-job", "--spread-job", "--ntasks=2", managers=SLURM),
    option("mincpus", "--mincpus=2", managers=SLURM),
    option("exclusive-user", "--exclusive=user", managers=SLURM),
    option("ignore-pbs", "--ignore-pbs", managers=SLURM),
    option("propagate-some", "--propagate=NOFILE,STACK", managers=SLURM),
    option("cpu-freq", "--cpu-freq=high", "--priority=TOP", managers=SLURM),
    option("environment-large", environment={"LARGE": "x" * 100_000}, managers=SLURM),
    option("environment-names", environment={"a.b": "c", "x-y": "z", "BASH_FUNC_given%%": "() { echo given; }"}),
    option("environment-python", environment={"PYTHONPATH": "mine", "PYTHONWARNINGS": "error", "PYTHONOPTIMIZE": "2", "PYTHONIOENCODING": "ascii", "PYTHONDEVMODE": "1", "PYTHONSTARTUP": "/nowhere"}, files={"mine/json.py": b"mine = 5\n"}, managers=SLURM),
    option("environment-python-inspected", environment={"PYTHONINSPECT": "1", "PYTHONUTF8": "0", "PYTHONDEBUG": "1", "PYTHONBREAKPOINT": "0", "PYTHONNODEBUGRANGES": "1"}, managers=SLURM),
    option("environment-python-verbose", environment={"PYTHONVERBOSE": "1", "PYTHONPROFILEIMPORTTIME": "1"}, managers=SLURM, ways=("run", "run-none", "run-observe")),
    option("environment-places", environment={"TMPDIR": "/nowhere/tmp", "HOME": "/nowhere", "XDG_RUNTIME_DIR": "/nowhere/run", "TZ": "Asia/Tokyo"}, managers=SLURM),
    option("environment-shell", environment={"BASH_ENV": "./noise", "ENV": "./noise", "CDPATH": "/usr", "POSIXLY_CORRECT": "1"}, files={"noise": b"echo noise; echo sourced >> sourced\n"}, managers=SLURM),
    option("line-comments", "--nodes=1 # and more", "--ntasks=1"),
)  # fmt: skip

FLUX = ("flux",)
FLUX_OPTIONS = (
    option("flux-nodes", "-N 2", managers=FLUX),
    option("flux-exclusive", "-N 1 --exclusive", managers=FLUX),
    option("flux-cores", "-n 2 -c 2", managers=FLUX),
    option("flux-name", "-n 1 --job-name=a-name", managers=FLUX),
    option("flux-output", "-n 1 --output=out-{{id}}.txt --error=err.txt", managers=FLUX),
    option("flux-variable", "-n 1 --env=GIVEN=5", managers=FLUX),
    option("flux-urgency", "-n 1 --urgency=20", managers=FLUX),
    option("flux-attribute", "-n 1 --setattr=user.mine=5", managers=FLUX),
)  # fmt: skip

# The same by other ways than the header.
CALLS = (
    Feature(name="call-nodes", kind=Kind.OPTION, command=("--nodes=2", "--ntasks=2")),
    Feature(name="call-name", kind=Kind.OPTION, command=("-J", "by-call", "-o", "called-%j.txt")),
    Feature(name="call-exclusive", kind=Kind.OPTION, command=("--exclusive",)),
    Feature(name="call-array", kind=Kind.OPTION, command=("--array=0-1",)),
    Feature(name="call-requeue", kind=Kind.OPTION, command=("--requeue",)),
    Feature(name="call-wrap", kind=Kind.OPTION, wrap=True, ways=("exec", "exec-none", "observe", "observe-nodes")),
    Feature(name="call-comment", kind=Kind.OPTION, command=("--comment=of the call",)),
    Feature(name="call-export", kind=Kind.OPTION, command=("--export=NONE",)),
    Feature(name="call-hold", kind=Kind.OPTION, command=("--hold",), acts=(Act(when=When.PENDING, do=("scontrol", "release", "{job}")),)),
    Feature(name="variable-nodes", kind=Kind.OPTION, environment={"SBATCH_EXCLUSIVE": "1", "SBATCH_JOB_NAME": "by-variable"}, managers=SLURM),
    Feature(name="variable-requeue", kind=Kind.OPTION, environment={"SBATCH_REQUEUE": "1"}, managers=SLURM),
    Feature(name="variable-no-requeue", kind=Kind.OPTION, environment={"SBATCH_NO_REQUEUE": "1"}, managers=SLURM),
    Feature(name="variable-open-mode", kind=Kind.OPTION, environment={"SBATCH_OPEN_MODE": "append"}, managers=SLURM),
    Feature(name="arguments", kind=Kind.OPTION, arguments=(b"one", b"two words", b"", b"it's", b"-x", b"--")),
    Feature(name="arguments-bytes", kind=Kind.OPTION, arguments=(b"caf\xe9", b"\xff\xfe")),
)  # fmt: skip
