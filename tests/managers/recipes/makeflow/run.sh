set -e
makeflow -T slurm --retry-count=2 flow.makeflow
cat flow.makeflow.makeflowlog
