/* lics.h - licences: counts that belong to no node, and those that belong to sets of nodes */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sched;
struct sched_lic_req;

struct license {
    uint64_t total, used;
    uint32_t hres;     /* 1 + place of the resource with this name, 0 = none */
    uint32_t layer_of; /* 1 + place of the resource that it is a layer of, 0 = none */
};

struct job_lic {
    uint32_t id;
    uint64_t count;
};

struct job_lics { /* all of v, or any one of it */
    struct job_lic *v;
    uint32_t n;
    bool any;
    bool layered; /* some of them are resources with layers */
};

/* Of one that more is held of than there is: 0. */
static inline uint64_t license_unused(const struct license *l)
{
    return l->total > l->used ? l->total - l->used : 0;
}

int lic_id(struct sched *s, const char *name, uint32_t *ret_id);
void lics_free(struct job_lics *l);
int lics_build(struct sched *s, const struct sched_lic_req *req, size_t n, bool any,
               struct job_lics *ret);
int lics_choose(const struct job_lics *want, uint32_t which, struct job_lics *ret);
void lics_take(struct sched *s, const struct job_lics *l);
void lics_release(struct sched *s, const struct job_lics *l);
uint64_t *lics_spare(const struct sched *s); /* NULL: out of memory */
int lics_tell(const struct sched *s, const struct job_lics *l, struct sched_lic_req **ret,
              size_t *ret_n);

/* ---- resources with layers -------------------------------------------------------------------
 *
 * A layer is a licence of its own, named "port(n[01-12])": what jobs and reservations hold of
 * layers is counted, released and planned like any other licence.  The resource has a name among
 * the licences too, of which jobs hold what they asked for, so that limits count that. */

#define HRES_NONE UINT32_MAX
#define HRES_ENDLESS (UINT64_MAX / 4) /* total of a layer that never runs out */

struct hres_layer {
    uint32_t lic;    /* id in lic_tab */
    uint32_t parent; /* mode 3: place in layers, behind its own; HRES_NONE */
    uint32_t from;   /* word of a bitmap of nodes where words[0] stands */
    uint32_t nwords;
    uint64_t *words; /* its nodes */
};

#define HRES_MASKS 16u

/* The nodes on which the layers allow so much, of what nobody holds. */
struct hres_mask {
    uint64_t each; /* 0 = none is kept here */
    bool stale;    /* a layer has come to have enough, or too little */
    uint32_t nwords, used;
    uint64_t *words;
};

struct hres {
    uint32_t lic; /* id of its own name */
    unsigned mode;
    /* Mode 3 with a single layer: a job is charged once, not once a node. */
    bool pooled;
    char *topology; /* NULL = none */
    struct hres_layer *layers;
    uint32_t n;
    uint32_t *deepest; /* mode 3, by node: the smallest layer it lies in, HRES_NONE; ndeepest */
    uint32_t ndeepest;
    /* By node: layers[of[first[node]]] .. are those it lies in; nodes below nfirst. */
    uint32_t *first, *of, nfirst;
    struct hres_mask masks[HRES_MASKS]; /* of the counts asked for lately */
    uint32_t mask_clock;
    struct hres_value {
        char *name;
        uint64_t value;
    } * values;
    uint32_t nvalues;
};

void hres_done(struct sched *s); /* frees all */

/* The resource of this licence id; NULL: it is a licence without layers. */
const struct hres *hres_of(const struct sched *s, uint32_t lic);
/* How much a request asks for: its count, or what its variable stands for.  A variable that there
 * is none of stands for more than there ever is. */
uint64_t hres_count(const struct sched *s, uint32_t lic, const struct sched_lic_req *req);
/* So many of them are charged for each node. */
uint32_t hres_trees(const struct sched *s, const struct job_lics *l);
/* What a reservation keeps that names no layer: the first one.  Other licences are as they are. */
uint32_t hres_default(const struct sched *s, uint32_t lic);
/* Of a layer so much was in use until now: keep masks right. */
void hres_moved(struct sched *s, uint32_t lic, uint64_t used_before);
/* Nodes, nwords words, on which the layers allow so much; kept until the next change.  NULL: out of
 * memory. */
const uint64_t *hres_nodes_with(struct sched *s, struct hres *h, uint64_t each, uint32_t nwords);
/* As told in a decision; names are the scheduler's. */
struct sched_lic_req hres_request(const struct sched *s, const struct job_lic *l);
/* Does the node lie in the layer? */
static inline bool hres_contains(const struct hres_layer *l, uint32_t node)
{
    uint32_t w = node >> 6;

    return w >= l->from && w - l->from < l->nwords && l->words[w - l->from] >> (node & 63) & 1;
}
