/* A real MPI program in three calls: heat in a rod, every rank a piece of it.
 *
 *     heat CELLS STEPS MILLISECONDS      cells and pause of each rank and step
 *
 * Prints the sum of all temperatures, which does not depend on how often it was interrupted. */
#define _POSIX_C_SOURCE 200809L

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "whesl_ckpt.h"

static int save(const char *path, long step, const double *cells, size_t count)
{
    FILE *file = fopen(path, "w");
    if (!file) return -1;
    size_t written = fwrite(&step, sizeof step, 1, file) + fwrite(cells, sizeof *cells, count, file);
    return fclose(file) == 0 && written == count + 1 ? 0 : -1;
}

static int load(const char *path, long *step, double *cells, size_t count)
{
    FILE *file = fopen(path, "r");
    if (!file) return -1;
    size_t got = fread(step, sizeof *step, 1, file) + fread(cells, sizeof *cells, count, file);
    fclose(file);
    return got == count + 1 ? 0 : -1;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, ranks;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    size_t count = argc > 1 ? (size_t)atol(argv[1]) : 1000;
    long steps = argc > 2 ? atol(argv[2]) : 1000, step = 0;
    struct timespec pause = {0, (argc > 3 ? atol(argv[3]) : 1) * 1000000};
    double *cells = calloc(count + 2, sizeof *cells), *next = calloc(count + 2, sizeof *next);
    for (size_t i = 1; i <= count; i++) cells[i] = rank + (double)i / (double)count;

    whesl_ckpt *ckpt = whesl_ckpt_init(rank, ranks);
    char path[4096];
    int found = whesl_ckpt_restore(ckpt, path, sizeof path);
    if (found < 0) { /* others may have restored */
        fprintf(stderr, "rank %d: %s\n", rank, whesl_ckpt_error(ckpt));
        MPI_Abort(MPI_COMM_WORLD, 3);
    }
    if (found == 0) {
        if (load(path, &step, cells, count + 2)) MPI_Abort(MPI_COMM_WORLD, 2);
        if (rank == 0) printf("restored checkpoint %lu, step %ld\n", (unsigned long)whesl_ckpt_epoch(ckpt), step);
    }
    int left = rank ? rank - 1 : MPI_PROC_NULL, right = rank + 1 < ranks ? rank + 1 : MPI_PROC_NULL;
    for (; step < steps; step++) {
        MPI_Sendrecv(&cells[1], 1, MPI_DOUBLE, left, 0, &cells[count + 1], 1, MPI_DOUBLE, right, 0, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        MPI_Sendrecv(&cells[count], 1, MPI_DOUBLE, right, 1, &cells[0], 1, MPI_DOUBLE, left, 1, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        if (left == MPI_PROC_NULL) cells[0] = cells[1];
        if (right == MPI_PROC_NULL) cells[count + 1] = cells[count];
        for (size_t i = 1; i <= count; i++) next[i] = cells[i] + 0.25 * (cells[i - 1] - 2 * cells[i] + cells[i + 1]);
        double *swap = cells;
        cells = next, next = swap;
        nanosleep(&pause, NULL);
        if (whesl_ckpt_poll(ckpt)) {
            if (save(whesl_ckpt_path(ckpt), step + 1, cells, count + 2))
                whesl_ckpt_give_up(ckpt, "the state cannot be written");
            else if (whesl_ckpt_commit(ckpt, whesl_ckpt_path(ckpt)))
                fprintf(stderr, "rank %d: %s\n", rank, whesl_ckpt_error(ckpt));
        }
    }
    whesl_ckpt_finish(ckpt);
    double sum = 0, total = 0;
    for (size_t i = 1; i <= count; i++) sum += cells[i] * (double)i;
    MPI_Reduce(&sum, &total, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0) printf("sum %.9e after %ld steps\n", total, step);
    MPI_Finalize();
    return 0;
}
