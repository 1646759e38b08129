/* A program of MPI whose ranks write one file together, by MPI-IO: every rank counts. shared STEPS MILLISECONDS */
#define _POSIX_C_SOURCE 200809L

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "whesl_ckpt.h"

int main(int argc, char **argv)
{
    if (argc < 3) return fprintf(stderr, "shared STEPS MILLISECONDS\n"), 2;
    MPI_Init(&argc, &argv);
    int rank, ranks, found;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    long state[2] = {0, 0}; /* step and sum */
    struct timespec pause = {0, atol(argv[2]) * 1000000};
    char path[4096];
    MPI_File file;

    whesl_ckpt *ckpt = whesl_ckpt_init(rank, ranks);
    whesl_ckpt_shared(ckpt);
    if ((found = whesl_ckpt_restore(ckpt, path, sizeof path)) < 0) {
        fprintf(stderr, "rank %d: %s\n", rank, whesl_ckpt_error(ckpt));
        MPI_Abort(MPI_COMM_WORLD, 3);
    }
    if (found == 0) {
        if (MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDONLY, MPI_INFO_NULL, &file)) MPI_Abort(MPI_COMM_WORLD, 2);
        MPI_File_read_at_all(file, (MPI_Offset)sizeof state * rank, state, 2, MPI_LONG, MPI_STATUS_IGNORE);
        MPI_File_close(&file);
        printf("rank %d restored step %ld\n", rank, state[0]);
        fflush(stdout);
    }
    while (state[0] < atol(argv[1])) {
        nanosleep(&pause, NULL);
        state[0]++;
        state[1] += state[0] * (rank + 1);
        if (!whesl_ckpt_poll(ckpt)) continue;
        int mode = MPI_MODE_CREATE | MPI_MODE_WRONLY;
        int failed = MPI_File_open(MPI_COMM_WORLD, whesl_ckpt_path(ckpt), mode, MPI_INFO_NULL, &file);
        if (!failed) failed = MPI_File_write_at_all(file, (MPI_Offset)sizeof state * rank, state, 2, MPI_LONG,
                                                    MPI_STATUS_IGNORE);
        if (!failed) failed = MPI_File_close(&file);
        if (failed)
            whesl_ckpt_give_up(ckpt, "the state cannot be written");
        else if (whesl_ckpt_commit(ckpt, whesl_ckpt_path(ckpt)))
            fprintf(stderr, "rank %d: %s\n", rank, whesl_ckpt_error(ckpt));
    }
    whesl_ckpt_finish(ckpt);
    printf("rank %d ends at %ld %ld\n", rank, state[0], state[1]);
    MPI_Finalize();
    return 0;
}
