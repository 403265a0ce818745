/* fuzz_simmodel.c - models of clusters, YAML: a graph, or a sentence */
#include <stdint.h>

#include "topograph/read/simmodel.h"
#include "tggraph.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct err err = { .text = "" };
    struct graph *g;
    int r;

    if (graph_new(&g) < 0)
        return 0;
    r = simmodel_read((const char *)data, size, NULL, g, &err);
    check_graph(g, r, &err, 0);
    graph_free(g);
    return 0;
}
