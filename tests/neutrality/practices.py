"""Features of scripts as people publish them: chains of jobs, environments, logs, steps, what they ask of Slurm."""
# ruff: noqa: E501 - a row for each text, as a script has it

from __future__ import annotations

from tests.neutrality.outside import STILL, WAITS, done, outside, scancel
from tests.neutrality.records import Act, Feature, When
from tests.neutrality.scripts import BASH, body

SLURM = ("slurm",)
RUN = ("run", "run-none", "run-observe")
# ``killall python`` as it acts in one job: the machine of the tests has other programs, too.
_KILLS = """\
/usr/bin/python3 -c 'import time; open("up", "w").close(); time.sleep(60)' &
while [ ! -e up ]; do sleep 0.1; done
for p in /proc/[0-9]*; do
  grep -qzx "SLURM_SUBMIT_DIR=$SLURM_SUBMIT_DIR" $p/environ 2> /dev/null || continue
  case $(cat $p/comm 2> /dev/null) in python*) kill -{signal} ${{p#/proc/}};; esac
done
wait $! 2> /dev/null; echo $?; sleep 1; echo still; exit 3
"""
_MODULES = b'module() { case $1 in load) PATH=$PWD/opt/$2/bin:$PATH; LOADEDMODULES=${LOADEDMODULES:+$LOADEDMODULES:}$2; export PATH LOADEDMODULES;; purge) unset LOADEDMODULES;; list) echo "$LOADEDMODULES";; esac; }\n'
_CONDA = b"conda() { case $1 in activate) export CONDA_PREFIX=$PWD/envs/$2 OLD_PATH=$PATH; PATH=$CONDA_PREFIX/bin:$PATH;; deactivate) PATH=$OLD_PATH; unset CONDA_PREFIX;; esac; }\n"
_STEPS = "srun -N2 -n2 -l sh -c 'echo on node $SLURM_NODEID' | sort > child-steps; srun -N1 -n1 echo one >> child-steps; echo $? >> child-steps"


def step(name: str, text: str, *speaks: str, **more: object) -> Feature:
    """Return a text that only a real Slurm has all of."""
    return body(name, text, *speaks, managers=SLURM, **more)


def on_two(name: str, text: str, *speaks: str, **more: object) -> Feature:
    """Return a text for a job of two nodes."""
    return step(name, text, *speaks, header=(b"--nodes=2", b"--ntasks=2", b"--exclusive"), **more)


PRACTICES = (
    # Jobs that submit jobs.
    step("child-with-steps", f"sbatch --parsable -D . -N2 --exclusive --time=10 --wrap \"{_STEPS.replace('$', chr(92) + '$')}\" > id\n"),
    on_two("child-of-two-nodes", f"sbatch --parsable -D . -N2 --exclusive --time=10 --wrap \"{_STEPS.replace('$', chr(92) + '$')}\" > id; srun -n2 true; echo $?\n"),
    step("child-of-a-step", "srun -n1 sh -c 'sbatch --parsable -D . -N2 --exclusive --time=10 --wrap \"srun -N2 -n2 true; echo \\$? > child-status\" > id'\n"),
    step("child-from-here-document", "sbatch --parsable -D . <<'END' > id\n#!/bin/sh\n#SBATCH --time=10\nsrun -n1 sh -c 'echo piped > piped'; echo $? >> piped\nEND\n"),
    step("chain-with-steps", "n=${LINK:-0}; echo link $n >> links; [ $n -lt 2 ] && sbatch --parsable --export=ALL,LINK=$((n+1)) -D . --time=10 -d afterany:$SLURM_JOB_ID -o chain-$n.txt job.sh > id-$n; srun -n1 echo step of $n; echo $?\n"),
    step("chain-at-the-end", "n=${LINK:-0}; srun -n1 sh -c \"echo link $n >> links; exit $n\"; s=$?; [ $n -lt 2 ] && LINK=$((n+1)) sbatch --parsable -D . --time=10 -o chain-$n.txt job.sh > id-$n; exit $s\n"),
    step("pipeline-of-jobs", "a=$(sbatch --parsable -D . --time=10 --wrap 'srun -n1 sh -c \"echo a > stage-a\"'); b=$(sbatch --parsable -D . --time=10 -d afterok:$a --array=0-1 --wrap 'cat stage-a > stage-b-$SLURM_ARRAY_TASK_ID; exit $SLURM_ARRAY_TASK_ID'); sbatch --parsable -D . --time=10 -d afternotok:$b --wrap 'echo c > stage-c' > id\n"),
    step("child-with-clean-environment", "sbatch --parsable --export=NONE -D . --time=10 --wrap 'srun -n1 sh -c \"echo clean > clean\"; echo $? >> clean' > id\n"),
    step("test-only", "sbatch --test-only --time=10 --wrap true 2>&1 | grep -c 'to start'; sbatch --nodes=999 --time=10 --wrap true; echo $?\n"),
    # Environments.
    body("modules", ". ./modules.sh; module load tool; module load other; module list; tool; module purge; module list\n", files={"modules.sh": _MODULES, "opt/tool/bin/tool": b"#!/bin/sh\necho the tool\n"}),
    step("module-with-launcher", ". ./modules.sh; module load site; srun -n1 echo through; command -v srun | sed \"s,$PWD,here,\"\n", files={"modules.sh": _MODULES, "opt/site/bin/srun": b"#!/bin/sh\nPATH=${PATH#*:}\necho site: \"$@\"\nexec srun \"$@\"\n"}),
    step("conda", ". ./conda.sh; conda activate mine; python3 -c 'print(1)'; srun -n1 sh -c 'command -v python3; echo $CONDA_PREFIX' | sed \"s,$PWD,here,\"; conda deactivate; echo [$CONDA_PREFIX]\n", files={"conda.sh": _CONDA, "envs/mine/bin/python3": b"#!/bin/sh\necho its python \"$@\"\n"}),
    body("virtual-environment", "python3 -m venv --without-pip v && . v/bin/activate && python -c 'import os, sys; print(sys.prefix == os.path.abspath(\"v\"))'; deactivate; rm -r v\n"),
    step("python-variables", "export PYTHONHOME=/nowhere PYTHONPATH=/nowhere PYTHONSTARTUP=/nowhere PYTHONUNBUFFERED=1; srun -n1 echo x; echo $?; hostname > /dev/null; echo $?\n"),
    step("python-path", "export PYTHONPATH=$PWD/mine; srun -n1 python3 -c 'import json; print(json.mine)'; python3 -c 'import json; print(json.mine)'\n", files={"mine/json.py": b"mine = 5\n", "mine/os_of_mine.py": b""}),
    step("library-path", "export LD_LIBRARY_PATH=$PWD/lib:$LD_LIBRARY_PATH LD_PRELOAD=libm.so.6; srun -n1 sh -c 'echo $LD_PRELOAD $LD_LIBRARY_PATH' | sed \"s,$PWD,here,\"; stdbuf -oL echo buffered\n"),
    step("threads", "export OMP_NUM_THREADS=${SLURM_CPUS_PER_TASK:-1} SRUN_CPUS_PER_TASK=$SLURM_CPUS_PER_TASK; srun -n2 sh -c 'echo $SLURM_PROCID $OMP_NUM_THREADS $SLURM_CPUS_PER_TASK $(nproc)' | sort\n", header=(b"--ntasks=2", b"--cpus-per-task=2")),
    step("exports-again", "export MINE=5; unset SLURM_EXPORT_ENV; srun -n1 sh -c 'echo [$MINE]'; export SLURM_EXPORT_ENV=ALL; srun -n1 sh -c 'echo [$MINE]'\n", header=(b"--export=NONE",)),
    step("login-shell-in-step", "srun -n1 bash -l -c 'shopt -q login_shell; echo $?'; bash -l -c 'srun -n1 echo from a login shell; echo $?'\n"),
    step("other-user", "su root -c 'echo $SLURM_PROCID; srun -n1 true; echo $?'; runuser -u nobody -- id -un; runuser -u nobody -- sh -c 'echo $SLURM_JOB_ID' > /dev/null; echo $?\n"),
    body("sources-startup", "HOME=$PWD; . ~/.bashrc; echo $? $FROM; case $- in *i*) echo interactive;; *) echo batch;; esac\n", files={".bashrc": b"FROM=bashrc\ncase $- in *i*) ;; *) return 3;; esac\nFROM=end\n"}),
    # Logs, pipes and terminals.
    body("tees-itself", "exec > >(tee -a tee.log) 2>&1; echo to both; echo errors too >&2; sleep 0.3\n", *BASH),
    step("step-through-tee", "set -o pipefail; srun -n1 sh -c 'echo out; exit 3' | tee out.log; echo $?; srun -n1 sh -c 'echo o; echo e >&2' > >(sed 's/^/o: /' > o.log) 2> >(grep -v srun > e.log); sleep 0.3\n", *BASH),
    step("step-reads-here-document", "srun -n1 cat <<END\nof $SLURM_NTASKS\nEND\nsrun -n2 --overcommit -i 0 cat < given | sort; srun -n1 -i given wc -l\n", files={"given": b"a\nb\n"}),
    body("typescript", "script -qec 'tty > /dev/null && echo a terminal; exit 3' typed > /dev/null < /dev/null; echo $?; grep -c terminal typed; rm typed\n"),
    step("step-with-terminal", "srun -n1 --pty sh -c 'test -t 1; echo $?; exit 3' < /dev/null > /dev/null 2>&1; echo $?; srun -n1 -u sh -c 'test -t 1; echo $?'\n"),
    step("reads-own-output", "echo a mark; sleep 0.3; grep -c 'a mark' slurm-$SLURM_JOB_ID.out; ln -sf slurm-$SLURM_JOB_ID.out latest; cp latest kept.txt; srun -n1 sh -c 'echo from a step'; sleep 0.3; grep -c 'from a step' latest\n"),
    body("monitors", "(while :; do echo beat >> beats; sleep 0.1; done) & m=$!; sleep 0.5; kill $m; wait $m; echo $?; [ -s beats ]; echo $?; rm beats\n"),
    body("keeps-time", "SECONDS=0; { time -p sleep 0.1; } 2> took; grep -c real took; rm took; echo $((SECONDS < 60)); times > /dev/null\n", *BASH),
    # Steps.
    step("step-output-of-an-older-job", "srun -n1 -o kept.txt echo new; cat kept.txt; srun -n1 -o kept.txt echo newer; cat kept.txt\n", files={"kept.txt": b"old\n"}),
    step("step-times-out", "timeout 1 srun -n1 sleep 20 2> /dev/null; echo $?; timeout -s INT 1 srun -n1 sh -c 'sleep 20' 2> /dev/null; echo $?; srun -n1 timeout 1 sleep 9; echo $?\n", volatile=("step:*",)),
    step("step-interrupted-twice", "srun -n1 sh -c 'trap \"\" INT; sleep 20' 2> /dev/null & p=$!; sleep 1.5; kill -INT $p; sleep 0.3; kill -INT $p; wait $p; echo $?\n"),
    step("becomes-a-step", "exec srun -n1 sh -c 'echo the last; exit 5'\n"),
    step("steps-by-xargs", "seq 3 | xargs -P 3 -I{} srun -n1 --overlap sh -c 'echo {} > by-{}'; ls by-*\n"),
    step("steps-by-make", "make -s -j2; echo $?\n", files={"Makefile": b"all: a b\na b:\n\t@srun -n1 --overlap sh -c 'echo $@ > $@'\n"}),
    step("steps-left-behind", "srun -n1 --overlap sh -c ': > first; exec sleep 60' & while [ ! -e first ]; do sleep 0.1; done; srun -n1 --overlap sh -c 'trap \"\" TERM; : > second; sleep 60' & while [ ! -e second ]; do sleep 0.1; done; echo leaving\n", seconds=60.0, volatile=("messages:*",)),
    step("step-with-own-prolog", "srun -n1 --task-prolog=$PWD/prolog --task-epilog=$PWD/epilog sh -c 'echo $FROM'; cat ended\n", files={"prolog": b"#!/bin/sh\necho export FROM=prolog\n", "epilog": b"#!/bin/sh\necho over > ended\n"}),
    step("step-broadcasts", "cp /bin/echo here; srun -n1 --bcast=/tmp/sent.$SLURM_JOB_ID ./here broadcast; rm -f /tmp/sent.$SLURM_JOB_ID\n"),
    step("step-too-large", "srun -N9 true; echo $?; srun -w nowhere true; echo $?; srun -n9 true; echo $?\n"),
    step("step-attached", "srun -n1 -J kept sh -c ': > up; sleep 3; echo at the end' & while [ ! -e up ]; do sleep 0.1; done; sleep 0.5; sattach $SLURM_JOB_ID.0 2> /dev/null; wait\n"),
    step("step-limits", "ulimit -s unlimited; ulimit -s; srun -n1 sh -c 'ulimit -s'; ulimit -l; srun -n1 --propagate=NONE sh -c 'ulimit -s' > /dev/null; echo $?\n"),
    step("step-waits-for-one", "srun -n2 --overcommit --wait=1 sh -c '[ $SLURM_PROCID = 1 ] && sleep 20' 2> /dev/null; echo $?\n"),
    step("step-through-fifo", "mkfifo p; srun -n1 cat p & echo through > p; wait $!; echo $?; rm p\n"),
    on_two("rendezvous", "MASTER_ADDR=$(scontrol show hostnames $SLURM_JOB_NODELIST | head -n 1); export MASTER_ADDR MASTER_PORT=29500; srun -N2 --ntasks-per-node=1 sh -c 'echo $SLURM_NODEID $([ $MASTER_ADDR = $SLURMD_NODENAME ]; echo $?) $MASTER_PORT' | sort\n"),
    on_two("step-on-named-node", "set -- $(scontrol show hostnames $SLURM_JOB_NODELIST); for n; do srun -N1 -n1 -w $n sh -c 'echo $SLURMD_NODENAME'; done; srun -N1 -n1 -x $1 sh -c 'echo $SLURMD_NODENAME'; srun -N1 -n1 -r 1 sh -c 'echo $SLURMD_NODENAME'\n"),
    on_two("step-by-hostfile", "scontrol show hostnames $SLURM_JOB_NODELIST | sort -r > hosts; SLURM_HOSTFILE=hosts srun -n2 --distribution=arbitrary sh -c 'echo $SLURM_PROCID $SLURMD_NODENAME' | sort\n"),
    on_two("head-and-workers", "set -- $(scontrol show hostnames); srun -N1 -n1 --overlap -w $1 sh -c ': > head-up; while [ ! -e stop ]; do sleep 0.1; done; echo head ends' & while [ ! -e head-up ]; do sleep 0.1; done; srun -N1 -n1 --overlap -w $2 sh -c 'echo worker on $SLURMD_NODENAME'; : > stop; wait; echo $?\n"),
    on_two("sends-to-all-nodes", "echo sent > given; sbcast -f given /tmp/all.$SLURM_JOB_ID; srun -N2 -n2 sh -c 'cat /tmp/all.$SLURM_JOB_ID; rm -f /tmp/all.$SLURM_JOB_ID'\n", volatile=("file:*", "messages:*")),
    # What jobs ask of Slurm about themselves.
    step("own-account", "srun -n1 -J mine true; sleep 3; sacct -n -P -j $SLURM_JOB_ID -o JobName,State,ExitCode; sacct -n -P -j $SLURM_JOB_ID.0 -o JobName,State\n"),
    step("own-record", "scontrol show job $SLURM_JOB_ID | grep -E '^ *(Command|WorkDir|StdOut|StdIn|NumNodes|Requeue)'; scontrol show step $SLURM_JOB_ID.batch 2>&1 | wc -l; sinfo -h -n $SLURMD_NODENAME -o %P | sort\n"),
    on_two("own-steps-by-number", "srun -N2 -n2 -J mine sleep 5 & sleep 3; squeue -h -s -j $SLURM_JOB_ID -o '%i %j' | grep -c \"^$SLURM_JOB_ID.0 mine\"; wait; scontrol listpids $SLURM_JOB_ID.0 2>&1 | wc -l\n", ways=(*RUN, "exec", "exec-none", "observe")),
    step("own-usage", "srun -n1 --overlap sleep 4 & sleep 2; sstat -n -P -j $SLURM_JOB_ID.0 -o JobID,NTasks; scontrol listpids $SLURM_JOB_ID.0 | wc -l; wait\n"),
    step("variable-time", "sleep 1; squeue -h -j $SLURM_JOB_ID -o %k; scontrol update jobid=$SLURM_JOB_ID comment=47:00; squeue -h -j $SLURM_JOB_ID -o %k\n", header=(b"--comment=48:00:00",)),
    step("own-name", "scontrol update jobid=$SLURM_JOB_ID name=renamed; squeue -h -j $SLURM_JOB_ID -o %j; scontrol update jobid=$SLURM_JOB_ID nice=5 2>&1 | head -n 1\n"),
    step("late-directives", "true\n#SBATCH --nodes=9\n##SBATCH --ntasks=9\n# SBATCH --ntasks=9\necho $SLURM_NNODES\n"),
    step("index-of-a-list", "sed -n \"$((SLURM_ARRAY_TASK_ID+1))p\" list > line-$SLURM_ARRAY_TASK_ID; srun -n1 sh -c 'echo step >> line-$SLURM_ARRAY_TASK_ID'\n", files={"list": b"first\nsecond\n"}, header=(b"--array=0-1",)),
    # Checkpoints at a signal.
    outside("checkpoint-by-step", "trap 'kill -USR1 $p; wait $p; echo step ended with $? >> told; exit 0' USR1\nsrun -n1 sh -c 'trap \"echo checkpoint > checkpoint; exit 7\" USR1; : > ready; while :; do sleep 0.1; done' & p=$!\nwait $p; echo never >> told\n", scancel("-b", "-s", "USR1"), managers=SLURM),
    outside("checkpoint-then-chain", "[ -n \"$NEXT\" ] && { echo the next >> told; exit 0; }\ntrap 'echo checkpoint > checkpoint; NEXT=1 sbatch --parsable -D . --time=10 -o next.txt job.sh > id; exit 0' USR1\n" + WAITS, scancel("-b", "-s", "USR1"), managers=SLURM, ways=("run", "run-none", "run-observe")),
    outside("passes-signal-to-all", "trap 'trap - TERM; kill -TERM 0; wait; echo all ended > told; exit 3' TERM\nsh -c 'trap \"echo child told > child; exit 0\" TERM; : > ready; while :; do sleep 0.1; done' &\n" + "while [ ! -e ready ]; do sleep 0.1; done\nwait\n", scancel("-b", "-s", "TERM"), ways=("run", "run-none", "run-observe")),
    outside("signal-through-timeout", "timeout -s USR1 60 sh -c 'trap \"echo got > signals\" USR1; " + WAITS.replace("\n", "; ").replace("do;", "do").replace("; ; ", "; ") + "' & p=$!; trap 'kill -USR1 $p' USR1; wait $p; wait $p; echo $? >> signals\n", scancel("-b", "-s", "USR1"), done("signals"), managers=SLURM),
    # Scripts that look at themselves and at what they have started.
    step("executes-itself", "[ -n \"$AGAIN\" ] && { echo \"again $1\"; exit 5; }\nAGAIN=1 \"$0\" a; echo $?; srun -n1 env AGAIN=1 \"$0\" b; echo $?; AGAIN=1 exec \"$0\" c\n"),
    body("executes-itself-locked", "[ \"$LOCKED\" != \"$0\" ] && exec env LOCKED=\"$0\" flock -en \"$0\" \"$0\" \"$@\" || :\necho alone; flock -n \"$0\" true; echo $?; exit 3\n"),
    body("own-command-line", "tr '\\0' '\\n' < /proc/$$/cmdline; readlink /proc/$$/exe; cat /proc/$$/comm > parent; grep -E '^(Threads|Cap|SigCgt)' /proc/$$/status; echo $- $SHLVL; ls /proc/$$/fd > fds; wc -l < fds; pgrep -c -P $$\n"),
    body("kills-its-jobs", "trap 'kill $(jobs -p); wait; echo cleaned' EXIT\nsleep 30 & sleep 30 & jobs -p | wc -l; exit 3\n", *BASH),
    body("kills-its-group-at-exit", "trap 'trap - TERM; kill -- -$$' INT TERM EXIT\nsleep 30 & echo started\n", *BASH, ways=RUN),
    body("kills-group-0-at-exit", "trap 'trap - EXIT TERM; kill 0' EXIT\nsleep 30 & echo started\n", *BASH, ways=RUN),
    body("kills-pythons", _KILLS.format(signal="TERM"), managers=SLURM),
    body("kills-pythons-hard", _KILLS.format(signal="KILL"), managers=SLURM),
    body("daemon-left", "setsid sh -c 'sleep 4; echo alive > survivor' < /dev/null > /dev/null 2>&1 & sleep 0.3; echo left\n", managers=SLURM),
    body("daemon-left-bare", "env -i PATH=/usr/bin:/bin setsid sh -c '(sleep 4; echo alive > survivor) &' < /dev/null > /dev/null 2>&1; echo left\n", managers=SLURM),
    body("namespaces", "unshare -mpf --mount-proc sh -c 'echo $$; p=$(ls /proc); echo \"$p\" | grep -c \"^[0-9]\"'; unshare -n true; echo $?\n"),
    body("trap-of-children", "n=0; trap 'n=$((n+1))' CHLD; sleep 0.1 & wait $!; sleep 0.1; echo $((n > 0))\n", *BASH),
    step("signal-from-a-step", "trap 'echo got' USR1; srun -n1 kill -USR1 $$; echo $?\n"),
    body("pbs-lines", "#PBS -N by-pbs\n#PBS -l walltime=0:05:00\necho $SLURM_JOB_NAME; squeue -h -j $SLURM_JOB_ID -o %l\n", managers=SLURM),
    body("locks-its-script", "exec 200< \"$0\"; flock -n 200 && echo locked; (flock -n 200 && echo shared); head -c 2 <&200; echo\n"),
    body("nul-payload", b"echo before; sed '1,/^PAYLOAD$/d' \"$0\" | wc -c; exit 3\nPAYLOAD\n\0\1\2\xff\0\n"),
    body("large-script", "echo ${#x}\n" + "# a line of a large script\n" * 30_000 + "x=" + "y" * 150_000 + "\necho ${#x}\n"),
    step("parallel", "export PARALLEL_HOME=$PWD/.parallel; parallel -k -j2 --joblog log 'echo {}; exit {}' ::: 0 3 2> /dev/null; echo $?; cut -f 7 log | sort; rm log; seq 3 | parallel -k --pipe -N1 cat; parallel -k -j2 srun -n1 --overlap echo {} ::: a b; timeout 5 parallel -j1 --timeout 1 'sleep 9; echo {}' ::: c; echo $?; rm -r .parallel\n"),
    on_two("shrinks-itself", "scontrol update JobId=$SLURM_JOB_ID NumNodes=1; . ./slurm_job_${SLURM_JOB_ID}_resize.sh; rm -f slurm_job_*_resize.*; srun -l sh -c 'echo $SLURM_NNODES $SLURMD_NODENAME' | sort; sleep 2; srun hostname > /dev/null; echo $?\n"),
    outside("notified", WAITS, Act(when=When.MARK, mark="ready", do=("scontrol", "notify", "{job}", "a word")), done("ready"), managers=SLURM),
    outside("trap-real-time", "trap 'echo got RT; : > got-RT' RTMIN+6\n" + WAITS, scancel("-b", "-s", "40"), done("got-RT"), managers=SLURM, volatile=("messages:*",)),
    outside("element-cancelled", "[ $SLURM_ARRAY_TASK_ID = 1 ] && { : > ready; sleep 25; }; echo $SLURM_ARRAY_TASK_ID > done-$SLURM_ARRAY_TASK_ID\n", Act(when=When.MARK, mark="ready", do=("scancel", "{job}_1")), header=("--array=0-2",), managers=SLURM),
    outside("element-requeued", "[ $SLURM_ARRAY_TASK_ID = 1 ] && [ -z \"$SLURM_RESTART_COUNT\" ] && { : > ready; sleep 25; }; echo \"$SLURM_ARRAY_TASK_ID $SLURM_RESTART_COUNT\" > done-$SLURM_ARRAY_TASK_ID\n", Act(when=When.MARK, mark="ready", do=("scontrol", "requeue", "{job}_1")), header=("--array=0-2",), managers=SLURM, seconds=180.0),
    outside("hetjob-cancelled", STILL, scancel(), header=("--ntasks=1", "hetjob", "--ntasks=2"), managers=SLURM, volatile=("messages:*", "file:slurm-*")),
)  # fmt: skip
