/* Two ranks, of which the second fails as its argument says. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int main(int argc, char **argv) {
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 1 && !strcmp(argv[1], "abort")) {
    fprintf(stderr, "cannot open input deck.in\n");
    MPI_Abort(MPI_COMM_WORLD, 3);
  }
  if (rank == 1 && !strcmp(argv[1], "segv")) { volatile int *p = 0; *p = 1; }
  if (rank == 1 && !strcmp(argv[1], "kill")) kill(getpid(), 9);
  if (rank == 1 && !strcmp(argv[1], "truncate")) {
    int two[2]; MPI_Recv(two, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else if (!strcmp(argv[1], "truncate")) { int four[4] = {0}; MPI_Send(four, 4, MPI_INT, 1, 0, MPI_COMM_WORLD); }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
}
