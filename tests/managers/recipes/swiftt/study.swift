import io;

app (file made) make() {
    "whesl" "exec" "-e" "rules.esl" "--step" "make" "--nodes" 1 "--no-own-node" "--" "srun" "-n" 1 "sh" "make.sh" made;
}

app (file used) use(file made) {
    "whesl" "exec" "-e" "rules.esl" "--step" "use" "--nodes" 1 "--" "sh" "use.sh" made used;
}

file made<"small/made.txt"> = make();
file used<"used.txt"> = use(made);
wait (used) { printf("done"); }
