/* kvs.h - what the ranks of a step have told each other: a table of names and values
 *
 * Names put here since the last meeting are kept apart, since that is what a node brings to the
 * next one.  One thread. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"

struct kvs {
    void *root;          /* tsearch(3) tree */
    struct strbuf fresh; /* NAME NUL VALUE NUL ..., put since the last kvs_take() */
};
#define KVS_INIT                                                                                   \
    {                                                                                              \
        .fresh = STRBUF_INIT                                                                       \
    }

/* Errors: -ENOMEM. */
int kvs_put(struct kvs *k, const char *name, const char *value);
const char *kvs_get(const struct kvs *k, const char *name); /* NULL: not there */
/* Add what other nodes brought: fresh bytes of theirs, one after the other.  Errors: -ENOMEM,
 * -EBADMSG. */
int kvs_merge(struct kvs *k, const uint8_t *data, size_t len);
void kvs_done(struct kvs *k);
