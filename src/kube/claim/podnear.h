/* podnear.h - what pods say of other pods: required affinity and anti-affinity, spread
 *
 * The pods of a gang are given their nodes at once, one node each.  What they want of pods that are
 * there already is written as nodes that none of them may have, by kube-scheduler's rules; what
 * they want of each other is met by having a node each, by one domain for all of them, or is
 * refused.  What is preferred, or says ScheduleAnyway, changes nothing.  Pure. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "base/err.h"

typedef void podnear_node_fn(void *arg, const json_t *node);
typedef void podnear_pod_fn(void *arg, const json_t *pod, const char *node);

/* What there is.  Borrowed while a call lasts. */
struct podnear_facts {
    const json_t *(*node)(void *ctx, const char *name); /* NULL: there is none */
    void (*nodes)(void *ctx, podnear_node_fn *fn, void *arg);
    void (*pods)(void *ctx, podnear_pod_fn *fn, void *arg);      /* that have a node */
    void (*repellers)(void *ctx, podnear_pod_fn *fn, void *arg); /* those with anti-affinity */
    const char *scheduler;                                       /* of podread_fits() */
    void *ctx;
    const char *plan; /* of podnear_exclude(): a node of podnear_choose(); NULL: none */
    bool hosts;       /* a plan is of a single node, where single nodes are meant */
    /* How much is on the node beside; NULL: not known. */
    size_t (*load)(void *ctx, const json_t *node);
};

/* Does the pod ask for something of other pods?  Does it keep others away? */
bool podnear_wants(const json_t *pod);
bool podnear_repels(const json_t *pod);

/* Can the pods of a gang be placed as they ask?  Errors: -EINVAL (err: a sentence that names what
 * is not known, or cannot be had), -ENOMEM. */
int podnear_check(const json_t *pods, struct err *err);
/* A node in the domain where a pod would do best that keeps pods like itself away or wants them
 * spread, by whatever is there: the emptiest one, and there the emptiest node.  may: can the pod be
 * there for other reasons?  NULL: it says no such thing, or there is none.  Borrowed. */
const char *podnear_choose(const struct podnear_facts *f, const json_t *pods,
                           bool (*may)(void *ctx, const json_t *node), void *ctx);
/* Add the names of nodes that none of the pods may have to an array.  Checked pods only.  A gang
 * that wants to be together is given the domain with most nodes for it; a pod with a plan that of
 * its plan, if it may be there.  *ret_all: none is left.  -ENOMEM. */
int podnear_exclude(const struct podnear_facts *f, const json_t *pods, json_t *names,
                    bool *ret_all);
/* May the pods have these nodes, an array of {pod, node}, as pods are there now?  True also when
 * there is no memory. */
bool podnear_holds(const struct podnear_facts *f, const json_t *pods, const json_t *places);
