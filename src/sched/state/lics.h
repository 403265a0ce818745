/* lics.h - licences: counts for the whole cluster, and counts for sets of nodes (layers) */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sched;
struct sched_lic_req;

struct license {
    uint64_t total, used;
    uint32_t hres;         /* 1 + place of the resource that has this name; 0: no resource has it */
    uint32_t layer_of;     /* 1 + place of the resource that has this layer; 0: it is no layer */
    uint64_t awaited_walk; /* the walk in which a job waits for it */
};

struct job_lic {
    uint32_t id;
    uint64_t count;
};

struct job_lics { /* all entries of v or, with `any`, one of them */
    struct job_lic *v;
    uint32_t n;
    bool any;
    bool layered; /* some entries are resources with layers */
};

/* How many are not held; 0 also where more are held than there are. */
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
 * A resource has layers, and each layer belongs to a set of nodes.  A layer is a licence, named
 * "port(n[01-12])", so that jobs and reservations hold, release and plan layers like other
 * licences.  The resource itself is a licence too: a job also holds the count that it asked for
 * under the resource's own name, because limits count by that name. */

#define HRES_NONE UINT32_MAX
#define HRES_ENDLESS (UINT64_MAX / 4) /* total of a layer that never runs out */

struct hres_layer {
    uint32_t lic;    /* id in lic_tab */
    uint32_t parent; /* mode 3: place of the next larger layer, behind this one; HRES_NONE */
    uint32_t from;   /* words[0] is this word of a bitmap of all nodes */
    uint32_t nwords;
    uint64_t *words; /* its nodes */
};

#define HRES_MASKS 16u

/* A bitmap of the nodes on which every layer has `each` or more that nobody holds. */
struct hres_mask {
    uint64_t each; /* 0: this entry is empty */
    bool stale;    /* since then a layer passed the limit `each`, up or down */
    uint32_t nwords, used;
    uint64_t *words;
};

struct hres {
    uint32_t lic; /* id of the licence with the resource's own name */
    unsigned mode;
    /* Mode 3 with a single layer: a job is charged once, not once a node. */
    bool pooled;
    char *topology; /* NULL = none */
    struct hres_layer *layers;
    uint32_t n;
    uint32_t *deepest; /* mode 3, by node: the smallest layer with the node, or HRES_NONE */
    uint32_t ndeepest;
    /* For a node below nfirst: of[first[node]] and the next entries are its places in layers. */
    uint32_t *first, *of, nfirst;
    struct hres_mask masks[HRES_MASKS]; /* for the counts that were asked for last */
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
/* How many entries of l are charged once for each node. */
uint32_t hres_trees(const struct sched *s, const struct job_lics *l);
/* The layer that a reservation keeps which names a resource and no layer.  Other licences: lic. */
uint32_t hres_default(const struct sched *s, uint32_t lic);
/* A bitmap, nwords words, of the nodes on which every layer has `each` or more free; good until the
 * next change.  NULL: out of memory. */
const uint64_t *hres_nodes_with(struct sched *s, struct hres *h, uint64_t each, uint32_t nwords);
/* Does the layer have the node? */
static inline bool hres_contains(const struct hres_layer *l, uint32_t node)
{
    uint32_t w = node >> 6;

    return w >= l->from && w - l->from < l->nwords && l->words[w - l->from] >> (node & 63) & 1;
}
