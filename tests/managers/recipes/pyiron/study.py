from pyiron_base import Project

WHESL = "cd /p/me/study && whesl exec -e rules.esl"
STEPS = {
    "make": f"{WHESL} --step make --nodes 1 --no-own-node -- srun -n 1 sh make.sh small/made.txt",
    "use": f"{WHESL} --step use --nodes 1 -- sh use.sh small/made.txt used.txt",
}
project = Project("calculations")
for step, command in STEPS.items():
    project.create_job_class(class_name=step.title(), executable_str=command)
    job = getattr(project.create.job, step.title())(job_name=step)
    job.server.queue = step
    job.run()
    project.wait_for_job(job, interval_in_s=2, max_iterations=130)
    print(step, job.status, job.server.queue_id)
