/* abort.c - rank 1 ends the program with the code of argv[1] while the others sleep. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    int rank;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1)
        MPI_Abort(MPI_COMM_WORLD, argc > 1 ? atoi(argv[1]) : 1);
    sleep(30);
    printf("rank %d went on\n", rank);
    MPI_Finalize();
    return 0;
}
