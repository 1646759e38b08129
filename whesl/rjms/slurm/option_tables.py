"""The options of Slurm's commands that start something, in the words of ``whesl.rjms.shims.options.Table``.

Tables: sbatch(1) and srun(1) of 22.05; ``NEWER`` has what came until 24.11, or was there before.
"""

from __future__ import annotations

# Of sbatch and srun.
JOB = """
account/A= acctg-freq= bb= bbf= begin/b= burst-buffer= chdir/D= cluster-constraint= clusters/M= comment=
constraint/C= container= contiguous core-spec/S= cores-per-socket= cpu-freq= cpus-per-gpu=
cpus-per-task/c= deadline= delay-boot= dependency/d= distribution/m= error/e= exclude/x= exclusive?
export= extra-node-info/B= gid= gpu-bind= gpu-freq= gpus/G= gpus-per-node= gpus-per-socket= gpus-per-task=
gres= gres-flags= help/h hint= hold/H input/i= job-name/J= licenses/L= mail-type= mail-user= mcs-label=
mem= mem-bind= mem-per-cpu= mem-per-gpu= mincpus= network= nice? no-kill/k? nodefile/F= nodelist/w=
nodes/N= ntasks/n= ntasks-per-core= ntasks-per-gpu= ntasks-per-node= ntasks-per-socket= open-mode=
output/o= overcommit/O oversubscribe/s partition/p= power= prefer= priority= profile= propagate? qos/q=
quiet/Q reboot reservation= share signal= sockets-per-node= spread-job switches= thread-spec=
threads-per-core= time/t= time-min= tmp= uid= usage use-min-nodes verbose/v version/V wckey=
"""
SBATCH = """
array/a= batch= export-file= get-user-env? ignore-pbs kill-on-invalid-dep= no-requeue parsable requeue
test-only wait/W wait-all-nodes= wrap=
"""
SRUN = """
accel-bind= bcast? compress? cpu-bind= debugger-test disable-status/X epilog= exact export-file= het-group=
immediate/I? interactive jobid= kill-on-bad-exit/K? label/l launch-cmd max-threads= mpi= msg-timeout=
multi-prog no-allocate/Z no-shell overlap preserve-env/E prolog= pty quit-on-interrupt/q relative/r=
resv-ports? send-libs? slurmd-debug= task-epilog= task-prolog= threads/T= unbuffered/u wait/W= whole x11?
"""
NEWER = """
bcast-exclude= cluster= container-id= dependency/P= disable-stdout-job-summary external-launcher extra=
ntasks-per-tres= pack-group= resv-ports? segment= stepmgr tres-bind= tres-per-task= wait-for-children
"""
