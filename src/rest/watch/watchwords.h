/* watchwords.h - what one watcher over HTTP asks for, read from the words of its request */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "cli/query/out_filter.h"

#include "watch.pb-c.h"

struct hostlist;
struct rest_pair;

/* A place in the log: everything up to and with it has been seen.  index UINT32_MAX: all of lsn. */
struct watch_at {
    uint64_t lsn;
    uint32_t index;
};

enum { WATCH_AT_BYTES = 40 };

bool watch_at_before(struct watch_at a, struct watch_at b); /* a < b */
/* "57.3", or "57" for all of it. */
const char *watch_at_text(struct watch_at at, char text[WATCH_AT_BYTES]);

struct watch_words {
    uint32_t entities; /* 1 << WATCH_JOB ... */
    struct filter_ids ids;
    struct filter_states states;
    uint32_t *uids;
    size_t n_uids;
    bool by_state;
    char *partitions; /* comma list; NULL: all */
    struct hostlist *nodes;
    bool objects; /* with the job as it is */
    char *fields; /* these members of it, a comma list; NULL: all */
    bool has_cursor;
    struct watch_at cursor;
};

/* Read the words of the query; cursor NULL: no header names one (the word wins).  Errors: -EINVAL
 * and -E2BIG with a sentence, -ENOMEM. */
int watchwords_read(const struct rest_pair *query, size_t n, const char *cursor,
                    struct watch_words *ret, struct err *err);
void watchwords_done(struct watch_words *w);

/* What filters look at of a change. */
struct watch_facts {
    uint32_t entity, id, array_id, task, uid;
    bool has_task;
    /* Base states that it tells, before and after, as bits; and flags likewise. */
    uint32_t states, flags;
    const char *name, *partition; /* partition: a job's, a comma list */
};
bool watchwords_match(const struct watch_words *w, const struct watch_facts *f);
