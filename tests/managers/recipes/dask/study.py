import subprocess

from dask.distributed import Client
from dask_jobqueue import SLURMCluster


def task(command: str, after: int = 0) -> int:
    return after + subprocess.call(f"cd /p/me/study && whesl exec -e rules.esl {command}", shell=True)


make = "--step make --nodes 1 --no-own-node -- srun -n 1 sh make.sh small/made.txt"
use = "--step use --nodes 1 -- sh use.sh small/made.txt used.txt"
cluster = SLURMCluster(
    cores=1,
    processes=1,
    memory="200MB",
    python="/p/me/venv/bin/python",
    interface="lo",
    scheduler_options={"dashboard_address": None},
    worker_extra_args=["--no-dashboard"],
    job_extra_directives=["--nodes=3", "--no-kill", "--ntasks=3", "--mem=0"],
)
cluster.scale(jobs=1)
with cluster, Client(cluster) as client:
    made = client.submit(task, make, pure=False)
    used = client.submit(task, use, made, pure=False)
    print("done:", made.result(), used.result())
