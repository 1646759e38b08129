from radical import entk

STEPS = {
    "make": "--step make --nodes 1 --no-own-node -- srun -n 1 sh make.sh small/made.txt",
    "use": "--step use --nodes 1 -- sh use.sh small/made.txt used.txt",
}

pipeline = entk.Pipeline()
tasks = []
for step, words in STEPS.items():
    task = entk.Task()
    task.name = step
    task.executable = "whesl"
    task.arguments = ["exec", "-e", "rules.esl", *words.split()]
    task.sandbox = "/p/me/study"
    stage = entk.Stage()
    stage.add_tasks(task)
    pipeline.add_stages(stage)
    tasks.append(task)
manager = entk.AppManager()
manager.resource_desc = {"resource": "local.localhost", "walltime": 10, "cpus": 2}
manager.workflow = [pipeline]
manager.run()
for task in tasks:
    print(task.name, task.state)
