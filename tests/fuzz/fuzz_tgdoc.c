/* fuzz_tgdoc.c - documents of clouds, NetQ, Kubernetes and nvidia-smi; the first byte says whose */
#include <stdint.h>

#include "topograph/read/cliques.h"
#include "topograph/read/clouddoc.h"
#include "topograph/read/kubenodes.h"
#include "topograph/read/netq.h"
#include "tggraph.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int read_document(uint8_t whose, const char *text, size_t len, struct graph *g,
                         struct err *err)
{
    static const char *const clouds[] = { "aws",    "gcp",    "oci",    "oci-imds",
                                          "nebius", "nscale", "lambdai" };
    unsigned which = (unsigned)(whose - 'a') % 10;

    if (which == 9)
        return kubenodes_read(text, len, NULL, NULL, g, err);
    if (which == 8)
        return netq_read(text, len, NULL, g, err);
    if (which == 7)
        return cliques_read(text, len, NULL, g, err);
    return clouddoc_read(clouds[which], text, len, NULL, g, err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct err err = { .text = "" };
    struct graph *g;
    int r;

    if (!size || graph_new(&g) < 0)
        return 0;
    r = read_document(data[0], (const char *)data + 1, size - 1, g, &err);
    check_graph(g, r, &err, size % 3);
    graph_free(g);
    return 0;
}
