"""Written by `whesl ckpt install`. Tells the jobs of PBS's nodes that their node is predicted to fail.

PBS runs this hook on each node again and again (exechost_periodic), in a process of its own beside pbs_mom.
The hook starts WHESL, hands it the node's jobs and does not wait for it, so no job waits for the hook.
"""

import json
import subprocess
from pathlib import Path

import pbs

MOST = 64  # jobs of a node that are told


def main(event):
    """Hand the jobs of this node to WHESL."""
    options = json.loads(Path(pbs.hook_config_filename).read_text())
    jobs = [
        {
            "id": str(job.id),
            "owner": str(job.euser),
            "home": str((job.Variable_List or {}).get("WHESL_HOME") or ""),
        }
        for job in [event.job_list[name] for name in event.job_list][:MOST]
    ]
    if not jobs:
        return
    state = Path(pbs.hook_config_filename).parent.parent / "whesl_ckpt.json"  # in mom_priv, which is root's
    started = subprocess.Popen(
        [*options["command"], str(state)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"},
        cwd="/",
        start_new_session=True,
    )
    started.stdin.write(json.dumps({"node": pbs.get_local_nodename(), "jobs": jobs}).encode())
    started.stdin.close()


if hasattr(pbs, "event"):
    try:
        main(pbs.event())
    except BaseException as error:  # a failure leaves node and jobs as they are
        pbs.logmsg(pbs.LOG_WARNING, f"whesl ckpt: {type(error).__name__}: {error}")
    pbs.event().accept()
