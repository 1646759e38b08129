/* A program of MPI whose ranks write one HDF5 file together: every rank counts. shared_hdf5 STEPS MILLISECONDS */
#define _POSIX_C_SOURCE 200809L

#include <hdf5.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "whesl_ckpt.h"

/* Every rank's row of /state, written or read by all ranks together; less than 0 where that failed. */
static int all(const char *path, int writing, int rank, int ranks, long state[2])
{
    hid_t access = H5Pcreate(H5P_FILE_ACCESS), transfer = H5Pcreate(H5P_DATASET_XFER);
    H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL);
    H5Pset_dxpl_mpio(transfer, H5FD_MPIO_COLLECTIVE);
    hsize_t whole[2] = {(hsize_t)ranks, 2}, row[2] = {1, 2}, at[2] = {(hsize_t)rank, 0};
    hid_t file = writing ? H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, access) : H5Fopen(path, H5F_ACC_RDONLY, access);
    int result = -1;
    if (file >= 0) {
        hid_t space = H5Screate_simple(2, whole, NULL), memory = H5Screate_simple(2, row, NULL);
        hid_t data = writing ? H5Dcreate2(file, "state", H5T_NATIVE_LONG, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT)
                             : H5Dopen2(file, "state", H5P_DEFAULT);
        H5Sselect_hyperslab(space, H5S_SELECT_SET, at, NULL, row, NULL);
        result = writing ? H5Dwrite(data, H5T_NATIVE_LONG, memory, space, transfer, state)
                         : H5Dread(data, H5T_NATIVE_LONG, memory, space, transfer, state);
        H5Dclose(data);
        H5Sclose(memory);
        H5Sclose(space);
        if (H5Fclose(file) < 0) result = -1;
    }
    H5Pclose(transfer);
    H5Pclose(access);
    return result;
}

int main(int argc, char **argv)
{
    if (argc < 3) return fprintf(stderr, "shared_hdf5 STEPS MILLISECONDS\n"), 2;
    MPI_Init(&argc, &argv);
    int rank, ranks, found;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    long state[2] = {0, 0}; /* step and sum */
    struct timespec pause = {0, atol(argv[2]) * 1000000};
    char path[4096];

    whesl_ckpt *ckpt = whesl_ckpt_init(rank, ranks);
    whesl_ckpt_shared(ckpt);
    if ((found = whesl_ckpt_restore(ckpt, path, sizeof path)) < 0) {
        fprintf(stderr, "rank %d: %s\n", rank, whesl_ckpt_error(ckpt));
        MPI_Abort(MPI_COMM_WORLD, 3);
    }
    if (found == 0) {
        if (all(path, 0, rank, ranks, state) < 0) MPI_Abort(MPI_COMM_WORLD, 2);
        printf("rank %d restored step %ld\n", rank, state[0]);
        fflush(stdout);
    }
    while (state[0] < atol(argv[1])) {
        nanosleep(&pause, NULL);
        state[0]++;
        state[1] += state[0] * (rank + 1);
        if (!whesl_ckpt_poll(ckpt)) continue;
        if (all(whesl_ckpt_path(ckpt), 1, rank, ranks, state) < 0)
            whesl_ckpt_give_up(ckpt, "the state cannot be written");
        else if (whesl_ckpt_commit(ckpt, whesl_ckpt_path(ckpt)))
            fprintf(stderr, "rank %d: %s\n", rank, whesl_ckpt_error(ckpt));
    }
    whesl_ckpt_finish(ckpt);
    printf("rank %d ends at %ld %ld\n", rank, state[0], state[1]);
    MPI_Finalize();
    return 0;
}
