/* alltoall.c - every rank sends every other one numbers only it can send, 200 times. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define ROUNDS 200
#define EACH 64

int main(int argc, char **argv)
{
    int rank, size, wrong = 0, all_wrong;
    int *out, *in;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    out = malloc(sizeof(int) * (size_t)size * EACH);
    in = malloc(sizeof(int) * (size_t)size * EACH);
    for (int round = 0; round < ROUNDS; round++) {
        for (int to = 0; to < size; to++)
            for (int i = 0; i < EACH; i++)
                out[to * EACH + i] = ((round * size + rank) * size + to) * EACH + i;
        MPI_Alltoall(out, EACH, MPI_INT, in, EACH, MPI_INT, MPI_COMM_WORLD);
        for (int from = 0; from < size; from++)
            for (int i = 0; i < EACH; i++)
                wrong += in[from * EACH + i] != ((round * size + from) * size + rank) * EACH + i;
    }
    MPI_Allreduce(&wrong, &all_wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0 && all_wrong == 0)
        printf("%d ranks, %d exchanges, every value right\n", size, ROUNDS);
    free(out);
    free(in);
    MPI_Finalize();
    return all_wrong != 0;
}
