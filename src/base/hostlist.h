/* hostlist.h - lists of host names in Slurm's bracket grammar: n[1-3,07],r[1-2]n[1-4]-ib,login
 *
 * Pure data, one thread at a time per object.  Functions returning int give 0 (or a count) or a
 * negative errno and change nothing on failure.  Grammar and folding rules: reference of the
 * configuration files. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"
#include "base/err.h"

#define HOSTLIST_MAX_HOSTS (1u << 20) /* names one list may hold */
#define HOSTLIST_MAX_RANGE 65536u     /* names one range may make */
#define HOSTLIST_MAX_NODES 65536u     /* nodes a cluster may have, and names a request may list */
#define HOSTLIST_MAX_NAME 256u        /* bytes of one name */

struct hostlist; /* an ordered list, duplicates kept */

/* Parse text; "" and NULL give an empty list; names are parted by commas or white space.  On
 * failure err names the bad part: "Invalid range: `3-1'" and "Too many hosts in range `1-100000'"
 * are the known texts, anything else is about the item as a whole.  Bare numbers ([1,3-5]) are
 * names too. Errors: -EINVAL syntax, -E2BIG over a limit, -ENOMEM. */
int hostlist_parse(const char *text, struct hostlist **ret_hl, struct err *err);
/* Likewise, of at most `most` names: what a list from outside may cost. */
int hostlist_parse_most(const char *text, size_t most, struct hostlist **ret_hl, struct err *err);
int hostlist_new(struct hostlist **ret_hl);
struct hostlist *hostlist_free(struct hostlist *hl); /* always NULL */
DEFINE_CLEANUP(struct hostlist *, hostlist_free)

size_t hostlist_count(const struct hostlist *hl); /* O(1) */
/* The i-th name (borrowed, valid until hl changes), NULL when out of range.  O(1). */
const char *hostlist_nth(const struct hostlist *hl, size_t i);
/* One name, copied.  Errors: -EINVAL empty or with a separator, bracket or control character,
 * -E2BIG. */
int hostlist_push(struct hostlist *hl, const char *name);
int hostlist_push_list(struct hostlist *hl, const char *text, struct err *err); /* an expression */

void hostlist_sort(struct hostlist *hl); /* by prefix, then number, then width */
void hostlist_uniq(struct hostlist *hl); /* sorts and drops duplicates */
/* Position of name or -1.  O(n); use a table of your own for many look-ups. */
long hostlist_find(const struct hostlist *hl, const char *name);
bool hostlist_remove(struct hostlist *hl, const char *name);

/* Fold in list order: neighbours of equal prefix share a bracket, consecutive numbers in it a range
 * (n3,n1,n2 -> n[3,1-2]).  Only digits that end a name are folded: a1b1,a1b2 -> a1b[1-2], while
 * n1-ib,n2-ib stays.  Reading the result gives the same names again.  Caller frees *ret_text.
 * Errors: -ENOMEM. */
int hostlist_fold(const struct hostlist *hl, char **ret_text);

/* The length of the first item of a list of expressions: up to a comma outside brackets and braces
 * (functions such as block{b1,b2}), or to the end. */
size_t hostlist_item_length(const char *list);

/* Shortcut: fold n names.  Caller frees. */
int hostlist_fold_names(const char *const *names, size_t n, char **ret_text);
