"""The options of sbatch and srun, in the form of ``launcher_shims.launcher_options.Table``.

Source: Slurm's own tables (``src/common/slurm_opt.c``), releases 22.05.11, 23.02.8, 23.11.11, 24.05.8,
24.11.7, 25.05.8, 25.11.7 and 26.05.3. ``?`` marks an option whose argument is optional in any of these.
"""

from __future__ import annotations

# Options of both sbatch and srun since 22.05.
JOB = """
account/A= acctg-freq= bb= bbf= begin/b= chdir/D= cluster= cluster-constraint= clusters/M= comment=
constraint/C= container= context= contiguous core-spec/S= cores-per-socket= cpu-freq= cpus-per-gpu=
cpus-per-task/c= deadline= delay-boot= dependency/d= distribution/m= error/e= exclude/x= exclusive? export=
extra-node-info/B= gid= gpu-bind= gpu-freq= gpus/G= gpus-per-node= gpus-per-socket= gpus-per-task= gres=
gres-flags= help/h hint= hold/H input/i= job-name/J= licenses/L= mail-type= mail-user= mcs-label= mem=
mem-bind= mem-per-cpu= mem-per-gpu= mincpus= network= nice? no-kill/k? nodefile/F= nodelist/w= nodes/N=
ntasks/n= ntasks-per-core= ntasks-per-gpu= ntasks-per-node= ntasks-per-socket= ntasks-per-tres= open-mode=
output/o= overcommit/O oversubscribe/s partition/p= power= prefer= priority= profile= propagate? qos/q=
quiet/Q reboot reservation= signal= sockets-per-node= spread-job switches= tasks-per-node= test-only
thread-spec= threads-per-core= time/t= time-min= tmp= uid= usage use-min-nodes verbose/v version/V wckey=
"""
SBATCH = """
array/a= batch= export-file= get-user-env? ignore-pbs kill-on-invalid-dep= no-requeue parsable requeue?
wait/W wait-all-nodes= wrap=
"""
SRUN = """
accel-bind= bcast? bcast-exclude= compress? cpu-bind= cpu_bind= debugger-test disable-status/X epilog= exact
het-group= immediate/I? interactive jobid= kill-on-bad-exit/K? label/l mpi= msg-timeout= multi-prog
no-allocate/Z overlap? pack-group= preserve-env/E prolog= pty? quit-on-interrupt relative/r= resv-ports?
send-libs? slurmd-debug= task-epilog= task-prolog= threads/T= unbuffered/u wait/W= whole x11?
"""
# Options that releases after 22.05 have added.
LATER_JOB = """
autocomplete= consolidate-segments container-id= container-type= extra= mem-update= oom-kill-step? resources=
segment= spread-segments stepmgr tres-bind= tres-per-task=
"""
LATER_SBATCH = "external resv-ports?"
LATER_SRUN = "async external-launcher? ignore-signals= parsable treewidth= wait-for-children"
