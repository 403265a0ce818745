/* nodes.h - the nodes, what jobs hold on them, and the bitmaps that index both */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bitmap.h"
#include "sched/base/cbits.h"

struct gres_row;
struct job;
struct json_t;
struct sched;
struct sched_alloc_gres;
struct sched_alloc_node;

struct node {
    bool exists, schedulable;
    bool awaited;  /* counts as schedulable where a start is asked about */
    bool external; /* only external jobs run here */
    bool off;      /* without power */
    uint32_t cpus, nwords, sockets, cores_per_socket, threads, raw_threads, weight;
    uint64_t *spec;     /* CPUs kept from jobs, whole cores, also in busy and firm; or NULL */
    uint64_t *gpu_cpus; /* for jobs with GPUs alone, whole cores; or NULL */
    bool shares, near;  /* some row has */
    uint32_t nspec;     /* how many */
    uint32_t units, per_socket, spec_units; /* cores: all, of a socket, of nspec */
    uint32_t njobs, nowned;    /* jobs holding anything; those that share with their user alone */
    uint32_t nlabelled, label; /* of njobs with a label; which it is */
    uint64_t uid_sum;          /* over njobs */
    unsigned __int128 uid_squares;
    uint64_t mem_mib, mem_used;
    uint32_t free_cpus, free_cores;
    uint32_t nrun;           /* jobs holding CPUs */
    struct cbits busy, firm; /* held CPUs; held by jobs that do not share */
    uint32_t *features, nfeatures;
    struct json_t *extra; /* NULL = none; see sched/base/extra.h */
    struct gres_row *gres;
    uint32_t ngres;
    uint32_t *parts, nparts, cap_parts;
};

struct wclass { /* nodes of one weight */
    uint32_t weight;
    struct bitmap *nodes;
};

static inline void set_member(struct bitmap *bm, uint32_t id, bool in)
{
    if (in)
        bitmap_set(bm, id);
    else
        bitmap_clear(bm, id);
}

void job_node_take(struct sched *s, const struct job *j, size_t i); /* on its i-th node alone */
int nodes_reserve(struct sched *s, uint32_t id);
uint32_t count_free_cores(const struct node *n, const uint64_t *avail);
/* Bring the counters and indexes of node id in line with what is held. */
void node_refresh(struct sched *s, uint32_t id);
void node_note_growth(struct sched *s, const struct node *n);
struct gres_row *node_gres_row(struct sched *s, struct node *n, const struct sched_alloc_gres *g);
void node_take(struct sched *s, const struct sched_alloc_node *an, uint32_t part, bool firm,
               bool cpus, bool rest);
void node_release(struct sched *s, const struct sched_alloc_node *an, uint32_t part, bool firm,
                  bool cpus, bool rest);
/* How many of these CPUs no job holds. */
uint32_t node_would_take(const struct sched *s, const struct sched_alloc_node *an);
void node_own(struct sched *s, uint32_t id, const struct job *j,
              bool add); /* it comes to the node or leaves it */
void node_clear(struct node *n);
void nodes_done(struct sched *s);
/* in n->parts, nparts when not there */
uint32_t node_part_index(const struct node *n, uint32_t part);
bool node_alike(const struct node *a, const struct node *b);
const struct bitmap *feature_nodes(void *arg, const char *name, size_t len);
/* Those that have it, or would have it after a boot; valid until s->dup is used. */
const struct bitmap *feature_boot_nodes(void *arg, const char *name, size_t len);
#define FEATURE_BOOT "\1" /* begins the names of features that a node has after a boot */
