import shutil

import numpy as np
from libensemble.alloc_funcs.give_pregenerated_work import give_pregenerated_sim_work
from libensemble.executors import Executor
from libensemble.libE import libE

executor = Executor()
executor.register_app(full_path=shutil.which("whesl"), app_name="whesl", precedent="")
MAKE = "exec -e rules.esl --step make --nodes 1 --no-own-node -- srun -n 1 sh make.sh small/made.txt"
USE = "exec -e rules.esl --step use --nodes 1 -- sh use.sh small/made.txt used.txt"


def simulate(points, persistent, specs, info):
    states = []
    for words in (MAKE, USE):
        task = info["executor"].submit(app_name="whesl", app_args=words)
        task.wait()
        states.append(task.state)
    print("states:", *states)
    return np.zeros(1, dtype=[("f", float)])


points = np.zeros(1, dtype=[("x", float), ("sim_id", int)])
_, _, flag = libE(
    sim_specs={"sim_f": simulate, "in": ["x"], "out": [("f", float)]},
    gen_specs={},
    exit_criteria={"sim_max": 1},
    libE_specs={"comms": "local", "nworkers": 1},
    alloc_specs={"alloc_f": give_pregenerated_sim_work},
    H0=points,
)
print("flag:", flag)
