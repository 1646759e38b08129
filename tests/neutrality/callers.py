"""Features of scripts that call a command: in pipes, in the background, under limits, with open descriptors.

``{call}`` stands for the command: plain, or behind ``whesl exec`` as a task of its own.
"""
# ruff: noqa: E501 - a row for each script

from __future__ import annotations

from tests.neutrality.outside import done, scancel
from tests.neutrality.records import Act, Feature, Kind

# What the command does, by its first word.
_APP = b"""\
case $1 in
status) exit $2 ;;
says) echo out; echo err >&2 ;;
reads) cat; echo "read $?" ;;
writes-3) echo to three >&3; echo $? ;;
locked) flock -n 9 && echo locked; echo $? ;;
limits) ulimit -S$2; ulimit -H$2 ;;
fills) head -c 5000000 /dev/zero > filled; echo $?; rm -f filled ;;
ignores) sh -c 'grep SigIgn /proc/self/status'; umask; nice; echo "[$GIVEN]" ;;
beats) trap 'echo got TERM; exit 5' TERM; : > up-$2; i=0; while [ $i -lt 300 ]; do echo >> beats-$2; sleep 0.1; i=$((i+1)); done ;;
waits) trap 'echo got USR1 > got-USR1; exit 5' USR1; : > ready; i=0; while [ $i -lt 300 ]; do sleep 0.1 & wait $!; i=$((i+1)); done ;;
esac
"""
_UP = "while [ ! -e up-{0} ]; do sleep 0.1; done; sleep 0.3; "
_STILL = "sleep 0.5; a=$(wc -l < beats-{0}); sleep 1; [ $a = $(wc -l < beats-{0}) ]; echo silent $?; rm beats-{0} up-{0}\n"


def caller(name: str, around: str, *acts: Act, **more: object) -> Feature:
    """Return a feature of a script around the command."""
    ways = ("exec", "exec-none", "observe", "observe-nodes")
    return Feature(name=name, kind=Kind.BODY, speaks=("sh", "bash"), text=_APP, around=around.encode(), acts=acts, ways=ways, managers=("slurm",), **more)  # type: ignore[arg-type] # the fields' own types hold  # fmt: skip


def _signalled(number: int, send: str) -> str:
    begin = f"{{call}} beats {number} & p=$!; {_UP}".replace("{0}", str(number))
    return f"{begin}{send}; wait $p; echo $?\n" + _STILL.replace("{0}", str(number))


CALLERS = (
    caller("called-with-input", "echo given | {call} reads\n{call} reads < given\n{call} reads <<END\nof $SLURM_NTASKS\nEND\n{call} reads <<< word\necho one > list; while read -r l; do {call} says; echo \"line $l\"; done < list\nmkfifo p; (sleep 0.5; echo late > p) & {call} reads < p; rm p\n", files={"given": b"a\nb\n"}),
    caller("called-with-output", "x=$({call} says 2> e1); echo \"x $x\"\n{call} says 2>&1 | sed 's/^/> /'\n{call} says > o2 2> e2; {call} says >> o2 2>&1; {call} says &> /dev/null; echo $?\n{call} says 2>&1 > o3 | sort\n{call} says > >(cat > o4) 2> >(cat > e4); sleep 1\n"),
    caller("called-and-judged", "set -o pipefail\n{call} status 3 || echo failed $?\nif ! {call} status 4; then echo no; fi\n{call} status 5 | cat; echo $? ${PIPESTATUS[0]}\n({call} status 6); echo $?\nsh -c '{call} status 7'; echo $?\neval '{call} status 8'; echo $?\ntrap 'echo failed on $LINENO' ERR; {call} status 9\nset -e; {call} status 10; echo never\n"),
    caller("called-in-background", "{call} says > o1 2>&1 & wait $!; echo $?\n{call} status 3 & {call} status 4 & wait -n; [ $? -ge 3 ]; echo $?; wait; jobs -p | wc -l\nset -m; {call} status 5 & fg > /dev/null; echo $?; set +m\n(sleep 0.2; {call} says > o6 2>&1) & wait\ncoproc {call} reads; echo word >&\"${COPROC[1]}\"; eval \"exec ${COPROC[1]}>&-\"; wait $COPROC_PID; echo $?\n"),
    caller("called-and-signalled", _signalled(1, "kill $p") + _signalled(2, "kill -STOP $p; sleep 0.5; kill -CONT $p; kill $p") + _signalled(4, "kill -USR2 $p") + "timeout 20 {call} beats 5; echo $?\n" + _STILL.replace("{0}", "5"), seconds=60.0),
    caller("called-with-descriptors", "exec 3> three; {call} writes-3; exec 3>&-; cat three\n(flock 9; {call} locked) 9> lock; flock -n lock echo free\nexec 9> lock; flock 9; {call} says; exec 9>&-; flock -n lock echo free\n(flock -n 9 || exit 7; {call} says & ) 9> lock; for i in $(seq 300); do flock -n lock true && break; sleep 0.1; done; flock -n lock echo free\n"),
    caller("called-with-limits", "(ulimit -n 40; {call} limits n)\n(ulimit -v 300000; {call} limits v)\n(ulimit -f 4000; {call} fills)\n(ulimit -t 20; {call} limits t)\n(ulimit -s 512; {call} limits s)\n(ulimit -c 0; ulimit -u 4000; {call} limits c)\n"),
    caller("called-by-others", "nohup {call} says > o1 2>&1; echo $?\nsetsid {call} says; nice -n 3 {call} ignores; (umask 077; trap '' TERM INT; GIVEN=5 {call} ignores)\necho says | xargs {call}; find given -exec {call} says \\;\nstdbuf -oL {call} says; script -qec '{call} says' typed > o2 < /dev/null; rm typed\npython3 -c 'import subprocess; print(subprocess.run(\"{call} says\", shell=True, capture_output=True))'\n", files={"given": b"a\n"}),
    caller("called-in-steps", "srun -n1 -J one {call} says; srun -n1 -J two {call} status 6; echo $?; srun -n1 sh -c '{call} says' | cat\nenv -i PATH=/usr/bin:/bin HOME=$PWD WHESL_HOME=$WHESL_HOME SLURM_CONF=$SLURM_CONF sh -c \"{call} says\"\nc=\"{call} status 3\"; unset ${!SLURM_*}; $c; echo $?\n"),
    caller("called-and-passed-signals", "trap 'kill -USR1 $p; wait $p; echo $? > told' USR1\n{call} waits & p=$!; wait $p; wait\n", scancel("-b", "-s", "USR1")),
    caller("called-behind-tee", "exec > >(tee all.log) 2>&1; {call} says; {call} status 3; echo $?; trap 'echo leaving' EXIT; {call} says | tail -n 1; exit 4\n"),
    caller("called-in-foreground", "trap 'echo later > told' USR1\n{call} waits; echo $? > ended\n", scancel("-b", "-s", "USR1"), Act(when=done("told").when, mark="ready", do=("scancel", "-f", "-s", "USR1", "{job}")), volatile=("file:slurm-*",)),
)  # fmt: skip
