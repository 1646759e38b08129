sbatch --wait --nodes=3 --no-kill --output=study.out --wrap "cd /p/me/study && python study.py"
cat study.out
