set -e
redis-server --port 16389 --bind 127.0.0.1 --save "" --daemonize yes > /dev/null
trap 'redis-cli -p 16389 shutdown nosave' EXIT
mkdir -p .merlin && cp app.yaml .merlin/
merlin run study.yaml
sbatch --nodes=3 --no-kill --output=workers.out --wrap "$(merlin run-workers --echo study.yaml)"
until [ -e merlin/study_*/use/MERLIN_FINISHED ]; do sleep 1; done
cat merlin/study_*/*/MERLIN_STATUS.json
merlin stop-workers
while squeue -h | grep -q .; do sleep 1; done
