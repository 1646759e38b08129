import asyncio
from concurrent.futures import ThreadPoolExecutor

from radical.asyncflow import WorkflowEngine
from rhapsody.backends import ConcurrentExecutionBackend

MAKE = "--step make --nodes 1 --no-own-node -- srun -n 1 sh make.sh small/made.txt"
USE = "--step use --nodes 1 -- sh use.sh small/made.txt used.txt"


async def main() -> None:
    backend = await ConcurrentExecutionBackend(ThreadPoolExecutor())
    flow = await WorkflowEngine.create(backend=backend)

    @flow.executable_task
    async def make() -> str:
        return f"whesl exec -e rules.esl {MAKE}"

    @flow.executable_task
    async def use(after: object) -> str:
        return f"whesl exec -e rules.esl {USE}"

    await use(make())
    print("done")
    await flow.shutdown()


asyncio.run(main())
