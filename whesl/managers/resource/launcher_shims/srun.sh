#!/bin/sh
# Becomes the real srun; see whesl.managers.resource.launcher_shims.
#
# A recovered program waits for this, and an interpreter of Python takes longer to start than all the rest. So
# what scripts mostly ask for, a step over all nodes in use, in options that have nothing to do with nodes, is
# settled here. Everything else is settled by @START@.
# Both say the same: tests/managers/resource/test_shims_srun.py compares them. Names begin with whesl_, since a variable of
# the caller's that was assigned here would reach the program changed.

# One command, so that a part of this file that could be read is an error, and starts nothing.
whesl_main() {
slow() {
	exec @START@ srun "$@"
}

# The caller's facts: launcher_node_swap.py and nodes_in_use.py have the meaning of each.
case ${WHESL_NODELIST-} in '' | ,* | *, | *,,* | *[!A-Za-z0-9._,-]*) slow "$@" ;; esac
case ${WHESL_JOB-} in '' | "${SLURM_JOB_ID-}") ;; *) slow "$@" ;; esac
case ${SRUN_EXPORT_ENV-${SLURM_EXPORT_ENV-ALL}} in ALL | ALL,*) ;; *) slow "$@" ;; esac
whesl_overlap=
case ${WHESL_SWAPPED-} in '{}') ;; '{"'*'"}') whesl_overlap=--overlap ;; *) slow "$@" ;; esac
[ -z "${WHESL_LOST_NODES-}" ] || whesl_overlap=--overlap
whesl_lost=$whesl_overlap whesl_memory=
[ -z "$whesl_lost" ] || [ -z "${SLURM_MEM_PER_CPU-}" ] || whesl_memory=--mem=0
[ -n "${SLURM_JOB_ID-}" ] && [ -z "${SLURM_HET_SIZE-}${SLURM_HOSTFILE-}${WHESL_FLUX_INSTANCE-}" ] || slow "$@"
[ $# -le 100 ] || slow "$@"
case " $* " in *' : '*) slow "$@" ;; esac

# How many words are srun's own, how many of them were kept, and what is asked for. Words that are kept are
# put behind the others, until the command's own words follow them there.
whesl_wanted= whesl_tasks= whesl_given= whesl_own=0 whesl_total=$#
word_and_value() {
	[ "$3" -ge 2 ] && [ -n "$2" ] || return 1
	case $1 in
	-N | --nodes) whesl_wanted=$2 ;;
	-n | --ntasks) whesl_tasks=$2 ;;
	--mem) whesl_memory= ;;
	--mpi) [ "$2" != list ] ;;
	--export) case $2 in ALL | ALL,*) ;; *) return 1 ;; esac ;;
	esac
}
measure() {
	while [ $# -gt 0 ]; do
		case $1 in
		- | --) break ;;
		-N | -n | -c | -J | -t | -o | -e | -i | --nodes | --ntasks | --mpi | --export | --cpus-per-task | \
			--ntasks-per-node | --job-name | --time | --output | --error | --cpu-bind | --gpus-per-task | --mem)
			word_and_value "$1" "${2-}" $# || return 1
			whesl_own=$((whesl_own + 2))
			shift 2
			continue
			;;
		-N?*) whesl_wanted=${1#-N} ;;
		-n?*) whesl_tasks=${1#-n} ;;
		--nodes=?*) whesl_wanted=${1#*=} ;;
		--ntasks=?*) whesl_tasks=${1#*=} ;;
		--overlap) whesl_overlap= whesl_given=1 ;;
		--mem=*) whesl_memory= ;;
		--mem-per-cpu=*) [ -z "$whesl_lost" ] || return 1 ;;
		--mpi=list) return 1 ;;
		--export=ALL | --export=ALL,*) ;;
		-c?* | -l | -u | -K | --label | --unbuffered | --kill-on-bad-exit | --kill-on-bad-exit=* | --mpi=* | \
			--cpus-per-task=* | --ntasks-per-node=* | --job-name=* | --time=* | --output=* | --error=* | \
			--input=* | --cpu-bind=* | --gpus-per-task=* | --gpus-per-node=* | --gpu-bind=* | \
			--hint=* | --wait=* | --open-mode=* | --chdir=*) ;;
		-*) return 1 ;;
		*) break ;;
		esac
		whesl_own=$((whesl_own + 1))
		shift
	done
}
measure "$@" || slow "$@"
[ -z "$whesl_given" ] || whesl_overlap=

# The step's nodes: what is asked for, and never more than there are tasks (node_count in launcher_node_swap.py).
whesl_asked=$whesl_wanted
if [ -z "$whesl_wanted" ]; then
	whesl_wanted=${SLURM_JOB_NUM_NODES:-${SLURM_NNODES-}}
	: "${whesl_tasks:=${SLURM_NTASKS-}}"
fi
case $whesl_wanted in '' | 0* | *[!0-9]* | ??????*) slow "$@" ;; esac
case $whesl_tasks in 0* | *[!0-9]* | ???????????*) slow "$@" ;; esac
whesl_active=0
set -f
IFS=,
for whesl_node in $WHESL_NODELIST; do whesl_active=$((whesl_active + 1)); done
[ "$whesl_active" -le 64 ] && [ "$whesl_wanted" -ge "$whesl_active" ] || slow "$@"
[ -n "$whesl_lost${WHESL_HIDDEN_NODES-}" ] || [ "${whesl_asked:-0}" -le "$whesl_active" ] || slow "$@"
[ "${whesl_tasks:-$whesl_active}" -ge "$whesl_active" ] || slow "$@"

whesl_real=
IFS=:
for whesl_place in $PATH; do
	whesl_place=${whesl_place:-.}
	[ -e "$whesl_place/@MARKER@" ] && continue
	[ -f "$whesl_place/srun" ] && [ -x "$whesl_place/srun" ] && whesl_real=$whesl_place/srun && break
done
[ -n "$whesl_real" ] || slow "$@"
unset IFS

whesl_seen=0
while [ "$whesl_seen" -lt "$whesl_own" ]; do
	whesl_word=$1
	shift
	whesl_seen=$((whesl_seen + 1))
	case $whesl_word in
	-N | --nodes)
		shift
		whesl_seen=$((whesl_seen + 1))
		;;
	-N* | --nodes=*) ;;
	-n | -c | -J | -t | -o | -e | -i | --ntasks | --mpi | --export | --cpus-per-task | \
		--ntasks-per-node | --job-name | --time | --output | --error | --cpu-bind | --gpus-per-task | --mem)
		set -- "$@" "$whesl_word" "$1"
		shift
		whesl_seen=$((whesl_seen + 1))
		;;
	*) set -- "$@" "$whesl_word" ;;
	esac
done
while [ "$whesl_seen" -lt "$whesl_total" ]; do
	set -- "$@" "$1"
	shift
	whesl_seen=$((whesl_seen + 1))
done
exec "$whesl_real" $whesl_overlap $whesl_memory "--nodes=$whesl_active" "--nodelist=$WHESL_NODELIST" "$@"
}
whesl_main "$@"
