/* copyparts.h - which files, and how much of them, are a whole journal at one moment
 *
 * For copies of a journal that is being written: a copy of these bytes recovers to `last`. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/err.h"

struct journal_part {
    char name[64];  /* in <dir>/journal */
    uint64_t bytes; /* from its beginning; files only grow */
};
struct journal_parts {
    struct journal_part *items; /* owned */
    size_t n;
    uint64_t last; /* the newest record in them; 0: none */
};

/* Errors: -ENOENT no log, or a file went while it was read (try again), -EUCLEAN damage; err has
 * the sentence. */
int journal_parts_list(const char *dir, struct journal_parts *ret, struct err *err);
void journal_parts_done(struct journal_parts *p);
