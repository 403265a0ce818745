/* watchflow.h - following changes of the cluster over connections that come and go
 *
 * The caller owns the connection; this knows the place reached, so that the next connection goes on
 * there: no change is missed, and none is given twice.  Nothing here prints, exits or waits. */
#pragma once

#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>
#include <stdint.h>

#include "api.pb-c.h"
#include "watch.pb-c.h"
#include "wire/client.h"

struct pb_arena;

#define WATCHFLOW_ENTITIES (PST__WATCH_ENTITY__WATCH_PARTITION + 1)
#define WATCHFLOW_WHOLE UINT32_MAX /* an index: all events of that lsn have been seen */

struct watchflow_place {
    uint64_t lsn;
    uint32_t index;
};

/* Everything is borrowed for the call; before and after hold the fields that changed.  < 0 ends the
 * reading of the frame with that value. */
typedef int watchflow_change_fn(void *ctx, const Pst__WatchChange *change,
                                const ProtobufCMessage *before, const ProtobufCMessage *after);
/* A place has been agreed at which changes begin. */
typedef void watchflow_ready_fn(void *ctx);

/* Zeroed before; the first members are the caller's to set. */
struct watchflow {
    uint32_t entities;          /* 1 << WATCH_JOB ... */
    const Pst__JobFilter *jobs; /* may be NULL */
    const char *nodes;          /* hostlist, or NULL */
    char **partitions;          /* names, for partition records */
    size_t n_partitions;
    bool keep_text; /* texts keep control characters, for output that escapes them */
    watchflow_change_fn *on_change;
    watchflow_ready_fn *on_ready; /* of the first connection, and after a reset; may be NULL */
    void *ctx;
    struct watchflow_place at; /* everything up to here was given to on_change */
    bool have_at;              /* go on from there */
};

/* "57" or "57.0".  Errors: -EINVAL. */
int watchflow_place_parse(const char *text, struct watchflow_place *ret);

/* Ask for what follows `at`, or (since false) for what follows now. */
int watchflow_ask(const struct watchflow *w, struct client *c, bool since);

/* Take a frame of OP_WATCH that is no error; the arena is reset.  Gives 0, 1 the log no longer
 * reaches back to `at` (clear have_at and begin anew), -EBADMSG, or what on_change gave. */
int watchflow_take(struct watchflow *w, struct pb_arena *arena, const struct frame *frame);
