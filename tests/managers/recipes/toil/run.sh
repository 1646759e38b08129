set -e
export TOIL_SLURM_ARGS="--nodes=3 --no-kill"
toil-cwl-runner --batchSystem slurm --preserve-entire-environment --disableChaining true --retryCount 1 --jobStore /p/me/study/jobs --workDir /p/me/study/work \
  --defaultMemory 100Mi --defaultDisk 1Mi --statePollingWait 1 --stats --bypass-file-store \
  flow.cwl --made /p/me/study/small/made.txt --used /p/me/study/used.txt
