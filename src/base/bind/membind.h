/* membind.h - which NUMA domains of a node a task takes its memory from: --mem-bind
 *
 * Pure.  Domains and CPUs have the kernel's numbers.
 *
 * Form of the text: words parted by commas,
 * [quiet|verbose][,sort|nosort][,prefer][,none|rank|local|map_mem:LIST| mask_mem:LIST]; words
 * may be abbreviated.  A list (bindlist.h) is everything behind its colon. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/bind/bindlist.h"
#include "base/bitmap.h"
#include "base/err.h"

enum membind_kind {
    MEMBIND_UNSET, /* as MEMBIND_NONE */
    MEMBIND_NONE,
    MEMBIND_RANK,
    MEMBIND_LOCAL,
    MEMBIND_MAP,
    MEMBIND_MASK,
};

struct membind {
    enum membind_kind kind;
    bool verbose, quiet;
    bool prefer; /* the first domain, others when it is full */
    bool sort;   /* free pages before the start: taken, and nothing here does it */
    struct bindlist list;
};

/* Errors: -EINVAL with the sentence, -ENOMEM.  On failure nothing is kept. */
int membind_parse(const char *text, struct membind *ret, struct err *err);
void membind_done(struct membind *b);

/* What environments say of b: fn for each variable of the family, with what follows its name
 * ("", "_TYPE" ...). -ENOMEM. */
typedef void membind_var_fn(void *ctx, const char *suffix, const char *value);
int membind_vars(const struct membind *b, membind_var_fn *fn, void *ctx);

/* Domains of a node: domain i has cpus[i]; NULL: there is no domain i, or it has no memory. */
struct membind_node {
    struct bitmap *const *cpus;
    uint32_t n;
};

/* Set the domains of the task-th task of the node, which may use task_cpus (NULL: all), in *ret
 * of node->n bits; it stays empty when the task is not bound.  Errors: -ERANGE the list names a
 * domain that the node does not have, -ENODEV it has none; err has the sentence. */
int membind_mask(const struct membind *b, const struct membind_node *node, uint32_t task,
                 const struct bitmap *task_cpus, struct bitmap *ret, struct err *err);
