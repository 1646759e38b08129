set -e
export AIIDA_PATH=/p/me/study
verdi presto --no-broker --non-interactive > presto.log
python study.py
