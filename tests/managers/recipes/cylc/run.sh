set -e
export CYLC_CONF_PATH=/p/me/study
mkdir -p flow && cp flow.cylc flow/
cylc vip --no-detach --no-run-name ./flow
# Each try of each task: cycle, name, submissions, tries, status.
python - <<'P'
import sqlite3
for row in sqlite3.connect("cylc-run/flow/log/db").execute(
    "select cycle, name, submit_num, try_num, run_status from task_jobs"
):
    print(*row, sep="|")
P
