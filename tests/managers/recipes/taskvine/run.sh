set -e
makeflow -T vine --port-file=port --retry-count=2 flow.makeflow &
while [ ! -s port ]; do sleep 0.5; done
sbatch --wait --nodes=3 --no-kill --output=worker.out --wrap "vine_worker --timeout 20 localhost $(cat port)" &
wait %1
cat flow.makeflow.makeflowlog
wait
