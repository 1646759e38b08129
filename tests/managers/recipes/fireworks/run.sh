set -e
export FW_CONFIG_FILE=/p/me/study/FW_config.yaml
echo '{}' > mock.json
lpad -c . reset --password $(date +%F)
lpad -c . add flow.yaml
qlaunch -c . -q adapter.yaml rapidfire --nlaunches 1 -m 1
while squeue -h | grep -q .; do sleep 1; done
qlaunch -c . -q adapter.yaml rapidfire --nlaunches 1 -m 1
while squeue -h | grep -q .; do sleep 1; done
lpad -c . get_fws -d more
