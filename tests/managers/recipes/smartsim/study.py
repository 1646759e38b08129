from smartsim import Experiment

RULES = ["exec", "-e", "/p/me/study/rules.esl"]
STEPS = {
    "make": "--nodes 1 --no-own-node -- srun -n 1 sh /p/me/study/make.sh /p/me/study/small/made.txt",
    "use": "--nodes 1 -- sh /p/me/study/use.sh /p/me/study/small/made.txt /p/me/study/used.txt",
}
experiment = Experiment("study", launcher="local")
for step, words in STEPS.items():
    settings = experiment.create_run_settings("whesl", exe_args=[*RULES, "--step", step, *words.split()])
    model = experiment.create_model(step, settings)
    experiment.start(model, block=True)
    print(step, *experiment.get_status(model))
