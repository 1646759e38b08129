/* The smallest program with checkpoints, without MPI: every rank counts. counter RANK RANKS STEPS MILLISECONDS BYTES
 *
 * BYTES is the size of a rank's checkpoint beyond its counter. Under srun the rank is SLURM_PROCID, in Flux FLUX_TASK_RANK. */
#define _POSIX_C_SOURCE 200809L

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "whesl_ckpt.h"

int main(int argc, char **argv)
{
    if (argc < 6) return fprintf(stderr, "counter RANK RANKS STEPS MILLISECONDS BYTES\n"), 2;
    const char *task = getenv(getenv("FLUX_TASK_RANK") ? "FLUX_TASK_RANK" : "SLURM_PROCID");
    int rank = atoi(task ? task : argv[1]), ranks = atoi(argv[2]);
    long steps = atol(argv[3]), step = 0, sum = 0;
    struct timespec pause = {0, atol(argv[4]) * 1000000};
    size_t size = (size_t)atol(argv[5]);
    char *ballast = calloc(size + 1, 1), path[4096];
    memset(ballast, 'x', size);

    whesl_ckpt *ckpt = whesl_ckpt_init(rank, ranks);
    int found = whesl_ckpt_restore(ckpt, path, sizeof path);
    if (found < 0) return fprintf(stderr, "rank %d: %s\n", rank, whesl_ckpt_error(ckpt)), 3;
    if (found == 0) {
        FILE *file = fopen(path, "r");
        if (!file || fscanf(file, "%ld %ld", &step, &sum) != 2) return 3;
        fclose(file);
        printf("rank %d restored step %ld\n", rank, step);
        fflush(stdout);
    }
    while (step < steps) {
        nanosleep(&pause, NULL);
        step++;
        sum += step * (rank + 1);
        if (!whesl_ckpt_poll(ckpt)) continue;
        FILE *file = fopen(whesl_ckpt_path(ckpt), "w");
        if (!file || fprintf(file, "%ld %ld\n", step, sum) < 0 || fwrite(ballast, 1, size, file) != size || fclose(file))
            whesl_ckpt_give_up(ckpt, "the state cannot be written");
        else if (whesl_ckpt_commit(ckpt, whesl_ckpt_path(ckpt)))
            fprintf(stderr, "rank %d: %s\n", rank, whesl_ckpt_error(ckpt));
    }
    whesl_ckpt_finish(ckpt);
    printf("rank %d ends at %ld %ld\n", rank, step, sum);
    return 0;
}
