"""Features of scripts: interpreters, and what their text does."""
# ruff: noqa: E501 - a row for each text, as a script has it

from __future__ import annotations

from tests.neutrality.records import Feature, Kind

SH = ("sh",)
BASH = ("bash",)


def _interpreter(name: str, first: str, *speaks: str, ways: tuple[str, ...] = ()) -> Feature:
    return Feature(name=name, kind=Kind.INTERPRETER, first=first.encode(), speaks=speaks, ways=ways)


def body(name: str, text: str | bytes, *speaks: str, **more: object) -> Feature:
    """Return a feature of a script's text; it is written for a shell where nothing else is said."""
    content = text.encode() if isinstance(text, str) else text
    return Feature(name=name, kind=Kind.BODY, text=content, speaks=speaks or SH, **more)  # type: ignore[arg-type] # the fields' own types hold


INTERPRETERS = (
    _interpreter("bash", "#!/bin/bash", "sh", "bash"),
    _interpreter("bash-e", "#!/bin/bash -e", "sh", "bash"),
    _interpreter("bash-l", "#!/bin/bash -l", "sh", "bash"),
    _interpreter("bash-x", "#!/bin/bash -x", "sh", "bash"),
    _interpreter("bash-eu", "#!/bin/bash -eu", "sh", "bash"),
    _interpreter("bash-posix", "#!/bin/bash --posix", "sh", "bash"),
    _interpreter("bash-space", "#! /bin/bash", "sh", "bash"),
    _interpreter("env-bash", "#!/usr/bin/env bash", "sh", "bash"),
    _interpreter("env-bash-e", "#!/usr/bin/env -S bash -e", "sh", "bash"),
    _interpreter("sh", "#!/bin/sh", "sh"),
    _interpreter("sh-eu", "#!/bin/sh -eu", "sh"),
    _interpreter("dash", "#!/bin/dash", "sh", "dash"),
    _interpreter("zsh", "#!/bin/zsh", "zsh"),
    _interpreter("zsh-f", "#!/bin/zsh -f", "zsh"),
    _interpreter("ksh", "#!/bin/ksh", "sh"),
    _interpreter("csh", "#!/bin/csh", "csh"),
    _interpreter("csh-f", "#!/bin/csh -f", "csh"),
    _interpreter("python", "#!/usr/bin/python3", "python"),
    _interpreter("python-u", "#!/usr/bin/python3 -u", "python"),
    _interpreter("python-I", "#!/usr/bin/python3 -I", "python"),
    _interpreter("env-python", "#!/usr/bin/env python3", "python"),
    _interpreter("perl", "#!/usr/bin/perl", "perl"),
    _interpreter("perl-w", "#!/usr/bin/perl -w", "perl"),
    _interpreter("tail", "#!/usr/bin/tail -n+2", "text"),
    _interpreter("awk", "#!/usr/bin/awk -f", "awk"),
    _interpreter("makefile", "#!/usr/bin/make -f", "makefile"),
    _interpreter("bash-o", "#!/bin/bash -o pipefail", "sh", "bash"),
    _interpreter("bash-dash", "#!/bin/bash -", "sh", "bash"),
    _interpreter(
        "bash-return", "#!/bin/bash\r", "sh", "bash", ways=("run", "run-none", "run-observe")
    ),  # exec tells of it in WHESL's words
    _interpreter("env-variable", "#!/usr/bin/env -S GIVEN=1 bash", "sh", "bash"),
)

# What a script can ask about itself; a file for each, so that each difference has a name.
FACTS = """\
mkdir -p facts
env -0 > facts/environment
pwd > facts/directory
umask > facts/umask
ulimit -a > facts/limits
printf '%s\\n' "$#" "$@" > facts/arguments
printf '%s\\n' "$0" > facts/name
grep -E '^Sig(Blk|Ign)' /proc/self/status > facts/signals
grep -E '^(Uid|Gid|Groups|NoNewPrivs|Seccomp|Cpus_allowed_list)' /proc/self/status > facts/status
nice > facts/nice
cat /proc/self/oom_score_adj > facts/oom
for n in 0 1 2; do readlink /proc/$$/fd/$n; done > facts/descriptors
awk '{print "leads its group:", $1 == $5, "leads its session:", $1 == $6, "terminal:", $7}' /proc/$$/stat > facts/session
"""

WHERE = """\
# Each way in which people look for what lies beside their script.
echo "name $(basename "$0")"
here=$(cd "$(dirname "$0")" && pwd)
[ -e "$here/beside.txt" ] && echo "beside: by name" || echo "beside: not by name"
[ -e beside.txt ] && echo "beside: in the working directory"
[ -e "$SLURM_SUBMIT_DIR/beside.txt" ] && echo "beside: in the directory of the submission"
command=$(scontrol show job "$SLURM_JOB_ID" | sed -n 's/^ *Command=//p' | cut -d' ' -f1)
echo "command $command"
[ -e "$(dirname "$command")/beside.txt" ] && echo "beside: by Command="
work=$(scontrol show job "$SLURM_JOB_ID" | sed -n 's/^ *WorkDir=//p')
[ -e "$work/beside.txt" ] && echo "beside: by WorkDir="
"""

BODIES = (
    body("facts", FACTS),
    body("where", WHERE, files={"beside.txt": b"found\n"}),
    body("says", "echo to output; echo to errors >&2; printf 'without an end'\n"),
    body("bytes", b"printf '\\000\\001\\377\\n'; head -c 70000 /dev/zero | tr '\\0' x; echo\n"),
    body("many-lines", "seq 20000\n"),
    body("here-document", "x=1; cat <<END > here\nx is $x\nEND\ncat <<'END' >> here\n$x\nEND\n"),
    body("here-document-nested", "cat <<WHESL_TASK > nested\nWHESL_TASK_1\n#WHESL end\nWHESL_TASK\nsh -s <<'A'\ncat <<'B'\nin\nB\nA\n"),
    body("here-string", 'read -r line <<< "a word"; echo "$line"\n', *BASH),
    body("functions", "f() { echo \"f $1\"; return 3; }; f a; echo \"status $?\"\ng() ( exit 4 ); g; echo \"status $?\"\n"),
    body("subshells", "(echo a; exit 5); echo $?; echo $( (echo b; echo c) | tac)\n"),
    body("pipes", "false | true; echo $?; yes | head -n 1; echo $?\n"),
    body("pipe-status", "false | true | sh -c 'exit 3'; echo \"${PIPESTATUS[*]}\"\n", *BASH),
    body("strict", "set -euo pipefail\n[[ -n ${SLURM_JOB_ID} ]]\nfor i in 1 2 3; do echo \"$i\"; done\n", *BASH),
    body("errexit-stops", "set -e\necho before\nfalse\necho never\n"),
    body("nounset-stops", "set -u\necho before\necho $never_set\necho never\n"),
    body("pipefail-stops", "set -eo pipefail\nfalse | cat\necho never\n", *BASH),
    body("trap-exit", "trap 'echo leaving with $? >> left' EXIT\n"),
    body("trap-err", "trap 'echo \"failed on line $LINENO\"' ERR\nfalse\ntrue\n", *BASH),
    body("trap-debug", "set -T; trap 'echo debug $LINENO' DEBUG\ntrue\ntrap - DEBUG\n", *BASH),
    body("background", "(sleep 0.3; echo late > late) & echo $! > /dev/null; wait; echo $?\n"),
    body("background-left", "(sleep 20; echo never > survivor) & echo started\n"),
    body("wait-n", "(sleep 0.1; exit 3) & (sleep 1; exit 4) & wait -n; echo $?; wait; echo $?\n", *BASH),
    body("job-control", "set -m; sleep 0.1 & fg >/dev/null 2>&1; echo $?\n", *BASH),
    body("own-group", "setsid sh -c 'sleep 0.2; echo grouped > grouped' & wait; ps -o pid= -g 0 >/dev/null; echo $?\n"),
    body("kill-own-group", "(trap '' TERM; sleep 1; echo survived > survived) & sleep 0.3; trap 'echo mine' TERM; kill -TERM 0; wait; wait; echo end\n", ways=("run", "run-none", "run-observe")),
    body("coproc", "coproc C { read -r x; echo \"got $x\"; }; echo hello >&\"${C[1]}\"; read -r y <&\"${C[0]}\"; echo \"$y\"\n", *BASH),
    body("process-substitution", "cat <(echo one) <(echo two); echo three > >(cat); sleep 0.2\n", *BASH),
    body("standard-input", "cat > input; wc -c < input\n"),
    body("reads-on", "read -r line && echo \"line $line\" || echo \"no line\"; [ -t 0 ] && echo terminal || echo none\n"),
    body("descriptors", "exec 5> five; echo five >&5; exec 5>&-; exec 6<&0; ls /proc/self/fd | wc -l\n"),
    body("redirects-itself", "exec > own.log 2>&1\necho in the log; nothing-there; cat missing\n"),
    body("line-numbers", "\n\n# four\necho ${BASH_LINENO} $LINENO\nfunction f { echo \"${BASH_SOURCE[0]##*/} ${BASH_LINENO[0]} ${FUNCNAME[0]}\"; caller; }\nf\n", *BASH),
    body("message-lines", "\ntrue\nnothing-there\ncat missing\ncd /nowhere\n"),
    body("syntax-error", "echo before\nif true; then\n"),
    body("unbalanced-quote", "echo before\necho \"never closed\n"),
    body("reads-itself", "grep -c . \"$0\"; head -n 1 \"$0\" > first-line; sed -n '/^#SBATCH/p' \"$0\"\n"),
    body("runs-itself", "[ -n \"$AGAIN\" ] && { echo again; exit 0; }\nAGAIN=1 sh \"$0\"\n"),
    body("data-behind-end", "sed '1,/^__DATA__$/d' \"$0\"; exit 0\n__DATA__\nfirst ( unclosed \"\nsecond\n"),
    body("sources", ". ./lib.sh; hello\n", files={"lib.sh": b"hello() { echo hello from lib; }\n"}),
    body("executes-file", "./tool a 'b c'; echo $?\n", files={"tool": b"#!/bin/sh\necho \"$0 $# $2\"; exit 7\n"}),
    body("exec-command", "exec sh -c 'echo executed; exit 6'\n"),
    body("exec-python", "exec python3 -c 'import sys; print(\"python\"); sys.exit(9)'\n"),
    body("long-line", "x=" + "y" * 5000 + "; echo ${#x}\n"),
    body("no-newline-at-end", "echo all; printf end"),
    body("carriage-returns", "echo one\r\necho two\r\n"),
    body("latin-1", b"# fa\xe7ade\necho 'caf\xe9' > latin; echo 'caf\xe9'\n"),
    body("latin-1-file", b"echo x > 'caf\xe9.txt'; ls\n"),
    body("utf-8", "# façade 日本\necho 'café 日本' > 'größe.txt'; cat größe.txt\n"),
    body("dollars-and-backslashes", "echo '$(LAUNCHER) $x `y` \\n %s {place} {{}}' > odd; cat odd\n"),
    body("arrays-and-arithmetic", "a=(1 2 3); echo ${a[@]:1} $((2**10)); declare -A m=([k]=v); echo ${m[k]}\n", *BASH),
    body("umask-and-limits", "umask 027; ulimit -c 0; ulimit -s; echo x > private; stat -c %a private\n"),
    body("changes-directory", "mkdir -p sub; cd sub; echo here > here; pwd > where\n"),
    body("temporary-files", "t=$(mktemp -d ./tmp.XXXXXX); echo x > $t/x; rm -r $t; ls\n"),
    body("locks", "(flock -n 9 && echo locked) 9> lock\n"),
    body("fifo", "mkfifo p; (echo through > p) & cat p; rm p\n"),
    body("symbolic-links", "echo x > target; ln -s target link; ls -l link | awk '{print $NF}'\n"),
    body("parent", "ps -o comm= -p $PPID > parent\n"),
    body("removes-itself", "rm -f -- \"$0\"; ls \"$0\" 2>&1 | sed 's,.*/,,'; echo still\n"),
    body("own-chain", "n=${N:-0}; echo run $n >> runs; [ $n -lt 2 ] && N=$((n+1)) sbatch --parsable -D \"$PWD\" --time=5 -o chain-$n.txt \"$0\" > id$n; exit $n\n", managers=("slurm",)),
    body("own-chain-waits", "n=${N:-0}; echo run $n >> runs; [ $n -lt 1 ] && N=1 sbatch --parsable -D \"$PWD\" --time=5 -d afterany:$SLURM_JOB_ID -o chain.txt job.sh > id; sleep 1; exit $n\n", managers=("slurm",)),
    body("own-sbatch", "sbatch --parsable -D . -J child --time=10 --wrap 'env -0 > environment.child; echo child > child' > id\n"),
    body("own-sbatch-script", "printf '#!/bin/sh\\n#SBATCH --time=10\\necho second > second\\n' > second.sh; sbatch --parsable -D . second.sh > id\n"),
    body("own-squeue", "squeue -h -j $SLURM_JOB_ID -o '%T %D %C %l %j'\n"),
    body("own-update", "scontrol update jobid=$SLURM_JOB_ID comment='a note'\n", managers=("slurm",)),
    body("own-cancel", "scancel $SLURM_JOB_ID; sleep 20; echo never\n"),
    body("srun-one", "srun -n1 hostname > /dev/null; echo $?; srun -n1 sh -c 'exit 3'; echo $?\n"),
    body("srun-input", "echo word | srun -n1 cat; srun -n1 cat < /dev/null; echo done\n"),
    body("srun-environment", "srun -n1 env -0 > environment.step\n"),
    body("srun-signal", "srun -n1 sh -c 'kill -SEGV $$'; echo $?\n"),
    body("srun-reads-loop", "printf '1\\n2\\n3\\n' > list; while read l; do srun -n1 echo got $l; done < list; while read l; do srun -n1 --input=none echo two $l; done < list\n", managers=("slurm",)),
    body("srun-signals", "srun -n1 sh -c 'trap \"echo got usr1 >> told; exit 5\" USR1; : > up; while :; do sleep 0.1; done' & p=$!; while [ ! -e up ]; do sleep 0.1; done; kill -USR1 $p; wait $p; echo $?\n", managers=("slurm",)),
    body("srun-exports", "srun -n1 --export=NONE sh -c 'echo [$A]'; A=1 srun -n1 --export=ALL,B=2 sh -c 'echo $A $B'; export C=3; srun -n1 --export=C sh -c 'echo [$A] $C'\n", managers=("slurm",)),
    body("srun-names", "srun -n1 -J mine true; srun -n1 --job-name='two words' true\n"),
    body("srun-missing", "srun -n1 /nowhere/program; echo $?\n"),
    body("srun-background", "srun -n1 --overlap sh -c 'sleep 0.3; echo a > a' & srun -n1 --overlap sh -c 'echo b > b' & wait; echo $?\n"),
    body("python-facts", "import os, subprocess, sys\nprint(os.path.basename(sys.argv[0]), sys.argv[1:], __name__, os.getcwd())\nprint(sys.path[0] == os.path.dirname(os.path.abspath(sys.argv[0])))\nsubprocess.run(['env', '-0'], stdout=open('environment', 'wb'))\n", "python"),
    body("python-traceback", "\n\ndef broken():\n    raise ValueError('here')\n\nbroken()\n", "python"),
    body("python-imports", "import beside_me\nprint(beside_me.value)\n", "python", files={"beside_me.py": b"value = 5\n"}),
    body("python-file", "import pathlib\nprint(pathlib.Path(__file__).read_text().count('SBATCH'))\n", "python"),
    body("python-latin", b"# -*- coding: latin-1 -*-\nprint(len('caf\xe9'))\n", "python"),
    body("perl-facts", "print \"@ARGV\\n\"; system('env -0 > environment'); open(F, $0); my @l = <F>; print scalar(@l), \"\\n\"; die 'here';\n", "perl"),
    body("perl-data", "print <DATA>;\n__DATA__\nline one\nline two\n", "perl"),
    body("csh-facts", "echo $#argv\nset x = (a b c)\necho $x[2]\nforeach i ($x)\n echo $i\nend\nenv -0 > environment\nnothing-there\n", "csh"),
    body("zsh-facts", "a=(x y z); echo $a[1] ${(U)a[2]} $0:t; env -0 > environment\nnothing-there\necho *.none\n", "zsh"),
    body("awk-program", "BEGIN { print 2 ^ 10; exit 3 }\n", "awk"),
    body("make-program", "all: a\n\t@echo all; exit 3\na:\n\t@echo a; echo b >&2\n", "makefile"),
    body("plain-text", "only text\n", "text"),
    body("writes-devices", "echo one; echo two > /dev/stderr; echo three >> /dev/stdout; echo four > /proc/self/fd/1; echo five\n"),
    body("empties-output", "echo before; f=$(readlink /proc/self/fd/1); : > \"$f\"; echo after; seq 3\n"),
    body("renames-output", "echo before; f=$(readlink /proc/self/fd/1); mv \"$f\" moved.txt; echo after; seq 3\n"),
    body("removes-output", "echo before; f=$(readlink /proc/self/fd/1); rm \"$f\"; echo after\n"),
    body("closes-output", "exec >&- 2>&-; echo lost; echo kept > kept\n"),
    body("closes-input", "exec <&-; echo open > open; ls /proc/self/fd | wc -l\n"),
    body("empty-environment", "env -i PATH=/usr/bin:/bin sh -c 'env; hostname > /dev/null; echo $?'\n"),
    body("empty-environment-srun", "env -i PATH=/usr/bin:/bin SLURM_JOB_ID=$SLURM_JOB_ID SLURM_CONF=$SLURM_CONF $(command -v srun) -n1 sh -c 'echo rank $SLURM_PROCID'; echo $?\n", managers=("slurm",)),
    body("unsets-slurm", "unset ${!SLURM_*}; env | grep -c ^SLURM; hostname > /dev/null; echo $?\n", *BASH),
    body("function-exported", "f() { echo \"f on rank $SLURM_PROCID\"; }; export -f f; srun -n1 bash -c f; bash -c f\n", *BASH),
    body("traces-to-descriptor", "exec 7> trace; BASH_XTRACEFD=7; PS4='+$LINENO '; set -x; true; echo a\n", *BASH),
    body("srun-multi-prog", "printf '0 echo first %%t\\n1 echo second %%t\\n' > conf; srun -n2 --overcommit --multi-prog conf | sort\n", managers=("slurm",)),
    body("srun-label", "srun -n2 --overcommit --label echo word | sort; srun -n2 --overcommit -o out.%t echo word; cat out.0 out.1\n", managers=("slurm",)),
    body("srun-output-patterns", "srun -n1 -o step-%j-%s-%t-%N.txt echo a; srun -n1 -e errors.txt sh -c 'echo b >&2'; ls step-*\n", managers=("slurm",)),
    body("srun-three-at-once", "for i in 1 2 3; do srun -n1 --overlap --exact sh -c \"sleep 2; echo $i > at-$i; exit $i\" & p[$i]=$!; sleep 0.5; done; for i in 1 2 3; do wait ${p[$i]}; echo $?; done\n", "bash", managers=("slurm",)),
    body("srun-killed", "srun -n1 sh -c 'kill -9 $$'; echo $?; srun -n1 sh -c 'kill -TERM $$'; echo $?; srun -n2 --overcommit -K sh -c '[ $SLURM_PROCID = 0 ] && exit 2; sleep 20'; echo $?\n", managers=("slurm",)),
    body("srun-cancelled", "srun -n1 -J long sleep 30 & sleep 1; scancel --name=long $SLURM_JOB_ID.0 2>/dev/null || scancel $SLURM_JOB_ID.0; wait $!; echo $?\n", managers=("slurm",)),
    body("srun-time", "srun -n1 -t 0:01 true; echo $?; SLURM_TIMELIMIT=1 srun -n1 true; echo $?\n", managers=("slurm",)),
    body("srun-script", "printf '#!/bin/sh\\necho \"$0 $1 $SLURM_PROCID\"\\n' > prog; chmod +x prog; srun -n1 ./prog a; srun -n1 $PWD/prog b | sed \"s,$PWD,here,\"; cd /; srun -n1 -D /tmp pwd\n", managers=("slurm",)),
    body("srun-umask", "umask 077; srun -n1 sh -c 'umask; echo x > private-step; stat -c %a private-step'; ulimit -n 512; srun -n1 sh -c 'ulimit -n'\n", managers=("slurm",)),
    body("sbcast", "echo sent > given; sbcast -f given /tmp/given.$SLURM_JOB_ID && srun -n1 cat /tmp/given.$SLURM_JOB_ID; rm -f /tmp/given.$SLURM_JOB_ID\n", managers=("slurm",)),
    body("own-batch-script", "scontrol write batch_script $SLURM_JOB_ID - | tail -n +2 | cksum; tail -n +2 \"$0\" | cksum\n", managers=("slurm",), ways=("run", "run-none", "run-observe")),
    body("own-time-limit", "scontrol update jobid=$SLURM_JOB_ID timelimit=7; squeue -h -j $SLURM_JOB_ID -o %l\n", managers=("slurm",)),
    body("own-steps", "srun -n1 -J mine sleep 3 & sleep 1.5; squeue -h -s -j $SLURM_JOB_ID -o %j | grep -c mine; wait\n", managers=("slurm",)),
    body("own-hold-child", "id=$(sbatch --parsable -D . --hold --time=10 --wrap 'echo released > released'); scontrol release $id; echo $?\n", managers=("slurm",)),
    body("own-wait", "sbatch --wait --parsable -D . --time=10 --wrap 'exit 7' > id; echo $?\n"),
    body("own-array-child", "sbatch --parsable -D . --array=0-1 --time=10 --wrap 'echo $SLURM_ARRAY_TASK_ID $SLURM_JOB_NAME > child-$SLURM_ARRAY_TASK_ID' > id\n"),
    body("salloc-inside", "salloc -n1 --time=1 --immediate=1 true 2>/dev/null; echo $?\n", managers=("slurm",)),
    body("suspends-itself", "(sleep 0.5; kill -CONT $$) & kill -STOP $$; echo went on\n"),
    body("stops-child", "sleep 1 & kill -STOP $!; (sleep 0.3; kill -CONT $!) & wait; echo $?\n"),
    body("timeout", "timeout 0.5 sleep 5; echo $?; timeout -s KILL 0.5 sleep 5; echo $?; timeout --foreground 0.5 sleep 5; echo $?\n"),
    body("nohup", "nohup sh -c 'echo in nohup; sleep 0.2; echo out > nohup-done' > n.log 2>&1 & wait $!; cat n.log\n"),
    body("make", "make -s -j2 all; echo $?\n", files={"Makefile": b"all: a b\n\t@cat a b\na b:\n\t@sleep 0.1; echo $@ > $@\n"}),
    body("xargs-parallel", "seq 4 | xargs -P 4 -I{} sh -c 'echo {} > x-{}'; ls x-*\n"),
    body("python-pool", "python3 - <<'END'\nimport multiprocessing\nif __name__ == '__main__':\n    with multiprocessing.Pool(2) as pool:\n        print(pool.map(abs, [-1, -2]))\nEND\n"),
    body("python-signals", "import signal, os, sys\nsignal.signal(signal.SIGTERM, lambda *_: sys.exit(5))\nprint(signal.getsignal(signal.SIGINT) is signal.default_int_handler, signal.getsignal(signal.SIGPIPE), flush=True)\nos.kill(os.getpid(), signal.SIGTERM)\n", "python"),
    body("python-children", "import subprocess, sys\nr = subprocess.run(['srun', '-n1', 'sh', '-c', 'echo out; echo err >&2; exit 4'], capture_output=True, text=True)\nprint(r.returncode, r.stdout, [l for l in r.stderr.splitlines() if 'err' == l])\n", "python", managers=("slurm",)),
    body("core-limit", "ulimit -c unlimited; ulimit -c; ulimit -Hc; ulimit -v 4000000; ulimit -v; ulimit -u\n"),
    body("niceness", "renice -n 5 $$ > /dev/null; nice; nice -n 3 nice; chrt -p $$ | head -1 | sed 's/pid [0-9]*/pid/'\n"),
    body("affinity", "taskset -cp $$ | sed 's/pid [0-9]*/pid/'; nproc\n"),
    body("control-group", "sed 's/job_[0-9]*/job/' /proc/self/cgroup > cgroup; cat /proc/self/loginuid; cat /proc/self/timerslack_ns\n"),
    body("read-only-directory", "mkdir closed; chmod 500 closed; echo x > closed/y; echo $?; rmdir closed\n"),
    body("removes-directory", "mkdir gone; cd gone; rmdir ../gone; pwd; ls; echo $?\n"),
    body("terminal-modes", "tty; stty -a; [ -t 1 ]; echo $?; python3 -c 'import os; print(os.isatty(0), os.isatty(1))'\n"),
    body("locale", "locale 2>/dev/null | sort | head -3; printf '%s\\n' \"$LANG $LC_ALL\"; TZ=UTC date +%Z\n"),
    body("home-moved", "HOME=$PWD; export HOME; cd ~; pwd | sed \"s,$PWD,here,\"; srun -n1 sh -c 'cd ~; [ \"$PWD\" = \"$HOME\" ]; echo $?'\n"),
    body("path-reset", "PATH=/usr/bin:/bin; export PATH; command -v ls; date > /dev/null; echo $?\n"),
    body("carriage-bar", "for i in 1 2 3; do printf '\\r%d%%' $i >&2; sleep 0.05; done; printf '\\033[1mbold\\033[0m\\n'\n"),
    body("sparse-output", "printf 'a'; sleep 0.2; printf 'b\\n'; sleep 0.2; printf 'c'\n"),
    body("exit-in-trap", "trap 'exit 9' EXIT; exit 3\n"),
    body("traps-term-itself", "trap 'echo got; exit 4' TERM; kill -TERM $$; sleep 5; echo never\n"),
    body("ignores-term", "trap '' TERM; kill -TERM $$; sh -c 'kill -TERM $$'; echo $?; echo still\n"),
    body("kills-parent", "kill -USR1 $PPID; sleep 0.5; echo still here\n", managers=("slurm",), ways=("run", "run-none", "run-observe")),
    body("kills-group-of-child", "set -m; sleep 30 & kill -TERM -- -$!; wait $!; echo $?\n", *BASH),
    body("status-of-fifo-reader", "mkfifo q; (exec 3> q; echo a >&3; exit 3) & read x < q; wait $!; echo $? $x\n"),
)  # fmt: skip


def _ends() -> tuple[Feature, ...]:
    codes = (0, 1, 2, 3, 42, 63, 64, 75, 77, 126, 127, 128, 129, 137, 143, 200, 254, 255)
    signals = (
        "HUP",
        "INT",
        "QUIT",
        "ILL",
        "ABRT",
        "BUS",
        "FPE",
        "KILL",
        "SEGV",
        "USR1",
        "USR2",
        "PIPE",
        "ALRM",
        "TERM",
        "XCPU",
        "XFSZ",
        "VTALRM",
        "PROF",
        "SYS",
        "TRAP",
        "IO",
        "PWR",
        "STKFLT",
    )

    def end(name: str, text: str, *speaks: str) -> Feature:
        return Feature(name=name, kind=Kind.END, speaks=speaks or SH, text=text.encode())

    return (
        *(end(f"exit-{code}", f"exit {code}\n", "sh", "csh", "zsh") for code in codes),
        *(end(f"dies-by-{name}", f"ulimit -c 0; kill -{name} $$; sleep 5\n", "sh", "zsh") for name in signals),
        end("last-fails", "true\nfalse\n", "sh", "csh", "zsh"),
        end("command-missing", "nothing-there\n", "sh", "csh", "zsh"),
        end("returns", "return 4 2>/dev/null\n"),
        end("python-exits", "import sys\nsys.exit('said at the end')\n", "python"),
        end("python-dies", "import os, signal\nos.kill(os.getpid(), signal.SIGUSR2)\n", "python"),
        end("child-dies", "sh -c 'kill -9 $$'\n"),
    )  # fmt: skip


ENDS = _ends()
