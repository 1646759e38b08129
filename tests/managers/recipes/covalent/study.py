import subprocess

import covalent as ct

MAKE = "--step make --nodes 1 --no-own-node -- srun -n 1 sh make.sh small/made.txt"
USE = "--step use --nodes 1 -- sh use.sh small/made.txt used.txt"


@ct.electron(executor="local")
def task(command, after=0):
    return after + subprocess.call(f"cd /p/me/study && whesl exec -e rules.esl {command}", shell=True)


@ct.lattice
def flow():
    return task(USE, task(MAKE))


result = ct.get_result(ct.dispatch(flow)(), wait=True)
print("done:", result.status, result.result)
