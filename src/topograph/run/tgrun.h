/* tgrun.h - one run: a request becomes a graph, and the graph a text
 *
 * | provider | input (parameters file, or command of the operator) |
 * | infiniband-bm, infiniband-k8s | ibnetdiscover; acceleratorFile: as accelerator.source says |
 * | aws, gcp, oci, oci-imds, nebius, nscale, lambdai | clouddoc.h |
 * | netq | netq.h |
 * | dra | nodes of Kubernetes, domains alone |
 * | kubernetes | the same with their switches |
 * | model, NAME-sim, test | simmodel.h; parameter modelFileName |
 *
 * | engine | output |
 * | slurm | topology.conf; topology.yaml with `topologies` or yaml: true |
 * | dynamic | NodeName= and Topology= of nodes |
 * | k8s | labels of nodes |
 * | graph | the list of instances |
 *
 * Files and programs are read through the caller. */
#pragma once

#include "topograph/run/tgrequest.h"
#include "topograph/write/topofile.h"

#define TGRUN_INPUT_MAX (64u << 20)
#define TGRUN_TOPOLOGIES_MAX 64u

struct tgrun_io {
    /* The bytes of a file, or what a program prints.  The caller frees *ret_text.  Errors are said
     * in err. */
    int (*load)(void *ctx, const char *what, bool program, char **ret_text, size_t *ret_len,
                struct err *err);
    /* Nodes of a partition, as a list of names the caller frees.  NULL: nobody can tell. */
    int (*partition)(void *ctx, const char *name, char **ret_nodes, struct err *err);
    void *ctx;
};

struct tgrun { /* what came of a run */
    struct graph *graph;
    struct topofile *topologies; /* as the engine's parameters have them; at least one */
    size_t ntopologies;
    struct graph **subsets; /* of graph, that topologies use */
    struct strbuf text;     /* what the engine writes */
    unsigned status;        /* of HTTP: 200, or why there is nothing, with err */
};

/* Is everything there that a run needs to begin?  What is found wrong is the request's fault:
 * -EINVAL. */
int tgrun_check(const struct tgrequest *q, struct err *err);
/* Errors: as the readers and writers have them; ret->status is set in any case, and tgrun_done()
 * is due. */
int tgrun_make(const struct tgrequest *q, const struct tgrun_io *io, struct tgrun *ret,
               struct err *err);
void tgrun_done(struct tgrun *run);
