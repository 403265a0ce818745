/* constraint.h - constraint expressions over node features
 *
 *     expr   := term { '|' term }         a node satisfies one of them
 *     term   := factor { '&' factor }     ... all of them; ',' says the same as '&'
 *     factor := name | '!' factor | '(' expr ')' | '[' expr ']'   each may be followed by '*' count
 *
 * Brackets around alternatives mean that all nodes of the job satisfy the same one.  A count asks
 * for that many nodes with the feature; it stands alone, or in brackets joined by '&' to others.
 * Neither parentheses nor brackets stand inside their own kind.  A sign at the end says nothing.
 * Pure data: parsed once, evaluated against node bitmaps. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/bitmap.h"
#include "base/cleanup.h"
#include "base/err.h"

#define CONSTRAINT_TEXT_MAX 4096
#define CONSTRAINT_OPS_MAX 512
#define CONSTRAINT_DEPTH_MAX 32
#define CONSTRAINT_ALTS_MAX 64
#define CONSTRAINT_COUNTS_MAX 32
#define CONSTRAINT_NODES_MAX 1000000u

struct constraint;

/* The nodes that have the feature, or NULL for none. */
typedef const struct bitmap *constraint_lookup_fn(void *arg, const char *name, size_t len);

/* Errors: -EINVAL syntax, -E2BIG a limit above, -ENOMEM. */
int constraint_parse(const char *text, struct constraint **ret_f, struct err *err);
struct constraint *constraint_free(struct constraint *f); /* always NULL */
DEFINE_CLEANUP(struct constraint *, constraint_free)

/* Alternatives of which all nodes of a job must take the same one; at least 1. */
uint32_t constraint_alts(const struct constraint *f);
/* Counted sets of one alternative. */
uint32_t constraint_counts(const struct constraint *f, uint32_t alt);
/* Remove from mask the nodes that no set of the alternative admits.  Errors: -ENOMEM. */
int constraint_mask(const struct constraint *f, uint32_t alt, constraint_lookup_fn *lookup,
                    void *arg, struct bitmap *mask);
/* Set mask to the nodes of counted set i; *ret_n = how many the job needs of them.  Errors:
 * -ENOMEM. */
int constraint_count_mask(const struct constraint *f, uint32_t alt, uint32_t i,
                          constraint_lookup_fn *lookup, void *arg, struct bitmap *mask,
                          uint32_t *ret_n);
