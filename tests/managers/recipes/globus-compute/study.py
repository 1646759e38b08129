import uuid

from globus_compute_common import messagepack
from globus_compute_common.messagepack.message_types import Task
from globus_compute_endpoint.engines import GCFuture, GlobusComputeEngine
from globus_compute_sdk import ShellFunction
from parsl.launchers import SimpleLauncher
from parsl.providers import SlurmProvider

MAKE = "--step make --nodes 1 --no-own-node -- srun -n 1 sh make.sh small/made.txt"
USE = "--step use --nodes 1 -- sh use.sh small/made.txt used.txt"
provider = SlurmProvider(
    nodes_per_block=3,
    scheduler_options="#SBATCH --no-kill",
    launcher=SimpleLauncher(),
    exclusive=False,
    init_blocks=1,
    max_blocks=1,
)
engine = GlobusComputeEngine(
    provider=provider, address="127.0.0.1", max_workers_per_node=1, max_retries_on_system_failure=2
)


def call(words):
    """Send a function to the engine as the endpoint does for a task from the service; return its result."""
    function = ShellFunction(f"cd /p/me/study && whesl exec -e rules.esl {words}")
    task = GCFuture(uuid.uuid4())
    buffer = engine.serde.pack_buffers([engine.serde.serialize(each) for each in (function, [], {})])
    message = messagepack.pack(Task(task_id=task.gc_task_id, task_buffer=buffer))
    engine.submit(task, message, resource_specification={})
    return engine.serde.deserialize(messagepack.unpack(task.result()).data)


engine.start(endpoint_id=uuid.uuid4(), run_dir="/p/me/study/endpoint")
try:
    print("done:", call(MAKE).returncode, call(USE).returncode)
finally:
    engine.shutdown()
