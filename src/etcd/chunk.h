/* chunk.h - a chunk of the log as etcd has it: records one behind another
 *
 * Pure; what etcd has was perhaps written by an enemy, or is damaged. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct chunk {
    uint64_t first, last; /* records */
    uint32_t parts;       /* still to be added with chunk_add(); 0: it was whole */
    uint8_t *data;
    size_t len, cap;
};

/* From its key ("log/...") and value.  -EBADMSG, -ENOMEM.  The caller ends with chunk_done(). */
int chunk_begin(struct chunk *c, const char *key, const uint8_t *value, size_t n);
/* The next part of its one long record. */
int chunk_add(struct chunk *c, const uint8_t *part, size_t n);
/* Are these sound records, with no gap?  Sets c->last.  -EBADMSG. */
int chunk_check(struct chunk *c);
/* Where record lsn, which the checked chunk has, begins in c->data. */
size_t chunk_offset(const struct chunk *c, uint64_t lsn);
void chunk_done(struct chunk *c);
