/* restdbindex.h - records of the store by their names
 *
 * A body may name hundreds of thousands of them; each is found without a walk over all. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

/* A record's names; NULL and "" are alike. */
struct restdb_names {
    const char *plain[2];   /* in any case: clusters, accounts, wckeys */
    const char *exactly[2]; /* users, partitions */
};

/* False: no memory.  The first record of some names stays the one that is found. */
bool restdbindex_put(json_t *index, const struct restdb_names *names, size_t place);
bool restdbindex_find(const json_t *index, const struct restdb_names *names, size_t *ret);
