/* podvolume.h - claims of pods: where their volumes may be, and which wait for a node
 *
 * A claim that is bound names a volume, whose node affinity says where it can be reached.  One
 * whose class says WaitForFirstConsumer is made where a node is chosen for it.  Pure. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "base/strbuf.h"

/* Where objects are looked up.  Each is borrowed; NULL: there is none. */
enum podvolume_static {
    PODVOLUME_NONE,
    PODVOLUME_SOME,      /* there is a volume that would do for it, somewhere */
    PODVOLUME_SET_ASIDE, /* one is being bound to it */
};
struct podvolume_facts {
    const json_t *(*claim)(void *ctx, const char *namespace_, const char *name);
    const json_t *(*volume)(void *ctx, const char *name);
    const json_t *(*class_)(void *ctx, const char *name);
    void *ctx;
    enum podvolume_static (*statics)(void *ctx, const json_t *claim);
};

enum podvolume_state {
    PODVOLUME_READY, /* every claim is bound, or there is none */
    PODVOLUME_LATE,  /* one wants a node first */
    PODVOLUME_WAIT,  /* one is not there, or is not bound yet */
    PODVOLUME_NEVER, /* one cannot be served here: so it is with channels (devchannel.h) alone */
};

/* The name of a claim that a volume of a pod's spec refers to; false: it refers to none. */
#define PODVOLUME_NAME 512u
bool podvolume_claim(const json_t *pod, const json_t *volume, char ret[static PODVOLUME_NAME]);
/* why: a sentence about the first claim that is the reason of WAIT. */
enum podvolume_state podvolume_judge(const struct podvolume_facts *f, const json_t *pod,
                                     struct strbuf *why);
/* Does the claim wait for a node?  If so, are volumes of its class made by nobody? */
bool podvolume_is_late(const struct podvolume_facts *f, const json_t *claim);
bool podvolume_is_static(const struct podvolume_facts *f, const json_t *claim);
/* What the pod's volumes and devices want of a node: an array that podvolume_meets() reads, but for
 * {static: a claim} of those that want a volume which is there.  NULL: no memory. */
json_t *podvolume_needs(const struct podvolume_facts *f, const json_t *pod);
bool podvolume_meets(const json_t *needs, const json_t *node);
