from pathlib import Path

from aiida import load_profile, orm
from aiida.engine import run_get_node
from aiida.plugins import CalculationFactory

load_profile()
WHESL = "whesl exec -e /p/me/study/rules.esl"
STEPS = {
    "make": (f"{WHESL} --step make --nodes 1 --no-own-node -- srun -n 1", 3, ["make.sh", "small/made.txt"]),
    "use": (f"{WHESL} --step use --nodes 1 -- srun -n 1", 1, ["use.sh", "small/made.txt", "used.txt"]),
}
for step, (command, nodes, files) in STEPS.items():
    computer = orm.Computer(
        step, "localhost", "", "core.local", "core.slurm", workdir="/p/me/study/aiida"
    ).store()
    computer.set_mpirun_command(command.split())
    computer.set_minimum_job_poll_interval(1)
    computer.configure(safe_interval=0)
    code = orm.InstalledCode(label=step, computer=computer, filepath_executable="/bin/sh").store()
    builder = CalculationFactory("core.templatereplacer").get_builder()
    builder.code = code
    words = [str(Path("/p/me/study") / file) for file in files]
    builder.template = orm.Dict({"cmdline_params": words, "output_file_name": "out"})
    builder.metadata.options.resources = {"num_machines": nodes, "num_mpiprocs_per_machine": 1}
    builder.metadata.options.withmpi = True
    builder.metadata.options.custom_scheduler_commands = "#SBATCH --no-kill"
    _, node = run_get_node(builder)
    print(step, node.process_state, node.exit_status, node.get_job_id())
