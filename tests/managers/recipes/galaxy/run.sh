export GALAXY_CONFIG_FILE=/p/me/study/galaxy.yml
uvicorn --factory galaxy.webapps.galaxy.fast_factory:factory --host 127.0.0.1 --port 18080 > galaxy.out 2>&1 &
trap "kill $!" EXIT
while ! grep -q "startup complete" galaxy.out; do sleep 1; done
python study.py
