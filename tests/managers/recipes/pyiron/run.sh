export PYIRONPROJECTPATHS=/p/me/study PYIRONRESOURCEPATHS=/p/me/study/resources PYIRONSQLFILE=/p/me/study/pyiron.db
mkdir -p resources/queues && cp queue.yaml make.slurm use.slurm resources/queues/
python study.py
