"""Features of programs that submit jobs: loops, pipes, languages, errors. Plain, or under ``whesl front``."""
# ruff: noqa: E501 - a row for each program

from __future__ import annotations

from tests.neutrality.records import Feature, Kind

_JOB = b"#!/bin/bash\n#SBATCH --time=10\n"


def driver(name: str, text: str, *speaks: str, **more: object) -> Feature:
    """Return a program; beside it lies ``j.sh``, and what ``files`` say."""
    files = {"j.sh": _JOB + b'echo job "$@" $SLURM_JOB_NAME; echo to err >&2\n', **more.pop("files", {})}  # type: ignore[dict-item] # the fields' own types hold
    return Feature(name=name, kind=Kind.BODY, speaks=speaks or ("sh", "bash"), text=text.encode(), files=files, ways=("front",), managers=("slurm",), **more)  # type: ignore[arg-type] # the fields' own types hold  # fmt: skip


DRIVERS = (
    driver("submits-a-chain", "p=; for i in 1 2 3; do p=$(sbatch --parsable ${p:+--dependency=afterok:$p} j.sh $i); done; a=$(sbatch j.sh a | cut -d ' ' -f 4); sbatch -d afterany:$a j.sh b | cut -d ' ' -f 1-3; sbatch -t5 --array=0-1 -o element-%a.txt --wrap 'echo $SLURM_ARRAY_TASK_ID' | wc -l\n"),
    driver("submits-and-waits", "sbatch -W -o w1.txt j.sh > id; echo $?; cut -d ' ' -f 1-3 id; cat w1.txt; sbatch -t5 --wait -o w2.txt --wrap 'sleep 1; exit 7'; echo $?; sbatch -t5 -W -o /dev/null --array=0-2 --wrap 'exit $SLURM_ARRAY_TASK_ID' | wc -l; (SBATCH_WAIT=1 sbatch -o w3.txt w.sh > /dev/null; echo $?) & wait\n", seconds=60.0, files={"w.sh": _JOB + b"#SBATCH --wait\nexit 3\n"}),
    driver("submits-texts", "for s in 1 2; do sbatch <<END\n#!/bin/bash\n#SBATCH -J run$s -o o-$s.txt -t 5\necho seed $s; scontrol show job \\$SLURM_JOB_ID | grep -c whesl\nEND\ndone\nprintf '#!/bin/sh\\n#SBATCH -t 5 -o piped.txt\\necho $1 $#\\n' | sbatch --parsable /dev/stdin arg | wc -l\nprintf '#!/bin/sh\\n# caf\\351\\n#SBATCH -t 5 -o latin.txt\\necho \\351\\n' > l.sh; sbatch l.sh | wc -l\n"),
    driver("submits-substitutions", "sbatch -o ps.txt <(sed s/job/JOB/ j.sh) arg | wc -l; sbatch -J named -o hs.txt <<< $'#!/bin/sh\\n#SBATCH -t 5\\necho here' | wc -l; seq 2 | xargs -I{} sbatch -J n{} -o n{}.txt -t 5 --wrap 'echo {}' | wc -l; printf 'a\\nb\\n' | while read x; do sbatch -o in-$x.txt j.sh $x; done | wc -l\n", "bash"),
    driver("submits-commands", "sbatch -t5 -o w1.txt --wrap \"echo 'a  b' \\\"c\\\" \\$HOME\" > id; sbatch -t5 -o w2.txt --wrap='echo one\necho ${0##*/}; srun -n1 echo two; exit 3' > id; SBATCH_JOB_NAME=given sbatch -t5 -o w3.txt --wrap 'echo $SLURM_JOB_NAME' > id; sbatch --wrap 'echo x' j.sh; echo $?\n"),
    driver("submits-nothing", "sbatch gone.sh; echo $?; sbatch -p nowhere j.sh; echo $?; echo true > plain; sbatch plain; echo $?; printf '#!/bin/sh\\r\\ntrue\\r\\n' > crlf.sh; sbatch crlf.sh; echo $?; sbatch --bogus j.sh; echo $?; : > empty; sbatch empty; echo $?; sbatch < /dev/null; echo $?; sbatch .; echo $?; sbatch --time=abc j.sh; echo $?; sbatch --version | wc -l; sbatch --help | wc -l; sbatch --test-only j.sh 2>&1 | grep -c 'to start'\n"),
    driver("submits-from-elsewhere", "mkdir -p proj/slurm run; cp j.sh proj/slurm; cd run; sbatch -D .. -o r.txt ../proj/slurm/p.sh x | wc -l; cd ..; ln -s proj/slurm/p.sh link.sh; sbatch -o l.txt link.sh y | wc -l; cp j.sh once.sh; sbatch -o once.txt once.sh | wc -l; rm once.sh\n", files={"proj/slurm/p.sh": _JOB + b"scontrol show job $SLURM_JOB_ID | grep -o 'Command=.*'; echo ${0##*/} \"$@\"; env -0 > environment.$1\n"}),
    driver("submits-by-name", "mkdir d b; for p in d b; do sed \"s/job/job of $p/\" j.sh > $p/k.sh; done; mv b/k.sh b/own.sh; sed 's/job/job here/' j.sh > k.sh; sbatch -o c.txt k.sh | wc -l; sbatch -D d -o d.txt k.sh | wc -l; PATH=$PWD/b:$PATH; sbatch -o b.txt own.sh a | wc -l; sbatch gone.sh; echo $?; rm -f k.sh\n"),
    driver("submits-itself-again", "sbatch -o c0.txt chain.sh 0 | wc -l\n", files={"chain.sh": _JOB + b"echo link $1\n[ $1 -lt 2 ] && sbatch --parsable -o c$(($1+1)).txt \"$0\" $(($1+1)) | wc -l\nsrun -n1 echo step\nexit $1\n"}, seconds=40.0),
    driver("submits-by-python", "import subprocess as s\ntext = '#!/bin/bash\\n#SBATCH -t 5 -J py -o py.txt\\necho $SLURM_JOB_NAME\\n'\np = s.run(['sbatch'], input=text, capture_output=True, text=True)\nprint(p.stdout[:19], p.stderr, p.returncode)\nprint(s.run(['sbatch', 'gone.sh'], capture_output=True, text=True))\np = s.Popen(['sbatch', '-W', '-t5', '-owait.txt', '--wrap', 'sleep 1; exit 4'], stdout=s.PIPE, text=True)\nprint(p.stdout.readline()[:19], p.poll(), p.wait())\n", "python", seconds=40.0),
    # What of it runs with all tests: three jobs.
    driver("submits-brief", "sbatch -t5 -W -o w.txt --wrap 'exit 7'; echo $?; sbatch -o p.txt <(cat j.sh) arg | cut -d ' ' -f 1-3; sbatch < j.sh | wc -l; sbatch gone.sh; echo $?; sbatch -p nowhere j.sh; echo $?\n", "bash", seconds=40.0),
    driver("asks-for-nodes", "salloc -N2 -t5 srun -l true 2> err; echo $?; salloc -n1 -t5 sh -c 'echo $SLURM_NNODES; srun -n1 echo in; exit 5' 2> err; echo $?; srun -N2 -n2 -t5 -l echo direct | sort; srun -n1 -t5 sh -c 'exit 6' 2> err; echo $?; rm err\n", seconds=60.0),
)  # fmt: skip
