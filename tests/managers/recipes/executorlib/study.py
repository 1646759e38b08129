import subprocess

from executorlib import SlurmClusterExecutor

TEMPLATE = """\
#!/bin/bash
#SBATCH --job-name={{job_name}} --chdir={{working_directory}} --output=%j.out --nodes=NODES --no-kill
{%- if dependency_list %}
#SBATCH --dependency=afterok:{{ dependency_list | join(',') }}
{%- endif %}
{{command}}
"""


def task(command: str, after: int = 0) -> int:
    return after + subprocess.call(f"whesl exec -e rules.esl {command}", shell=True)


def resources(step: str, nodes: int) -> dict[str, object]:
    template = TEMPLATE.replace("NODES", str(nodes))
    return {"cores": 1, "job_name": step, "cwd": "/p/me/study", "submission_template": template}


make = "--step make --nodes 1 --no-own-node -- srun -n 1 sh make.sh small/made.txt"
use = "--step use --nodes 1 -- sh use.sh small/made.txt used.txt"
with SlurmClusterExecutor(cache_directory="/p/me/study/cache") as executor:
    made = executor.submit(task, make, resource_dict=resources("make", 3))
    used = executor.submit(task, use, made, resource_dict=resources("use", 1))
    print("done:", made.result(), used.result())
