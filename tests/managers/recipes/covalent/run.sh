sbatch --wait --nodes=3 --no-kill --output=study.out --wrap "cd /p/me/study && covalent start --no-cluster --no-triggers && python study.py; covalent stop"
cat study.out
