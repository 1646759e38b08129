set -e
sed -i "s:WHESL:$(command -v whesl):" workflow.yml
pegasus-plan --conf pegasus.properties --sites local --output-sites local --dir plan --relative-submit-dir run workflow.yml
sbatch --wait --nodes=3 --no-kill --output=study.out --wrap "cd plan/run && bash study.sh" || cat study.out
cat plan/run/jobstate.log
