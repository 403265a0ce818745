/* cmd.h - what the core has to do: a request, or a call from another thread
 *
 * Any thread makes a command and posts it; the core runs and frees it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "wire/server/server.h"

struct contents;
struct ctld;

enum cmd_kind {
    CMD_REQUEST, /* a decoded request */
    CMD_CLOSED,  /* a connection is gone */
    CMD_CALL,    /* fn(arg): from another thread, or the rest of a long walk */
    CMD_RECONFIGURE,
    CMD_STOP,
};

struct cmd {
    struct cmd *next;
    enum cmd_kind kind;
    struct conn *conn; /* held; NULL for our own */
    uint16_t op;
    uint32_t id;
    bool oneway;
    /* owned; NULL: unpacked once its sender turns out to be an administrator */
    ProtobufCMessage *msg;
    struct frame packed;      /* the request until then; its body is owned */
    int64_t deadline_mono_us; /* 0 = none */
    char *caller; /* name of the peer's user; owned, NULL = unknown here, or root or SlurmUser */
    /* of a submission or change of partition; owned, NULL = unknown here */
    char *user_name, *group_name;
    /* of the jobs that the request brings, in their order; owned; NULL = not made yet */
    struct contents *contents;
    size_t n_contents;
    uid_t uid; /* in force: root may submit for others */
    gid_t gid;
    bool as_user;   /* root or SlurmUser sent this in the name of uid: the rights of uid count */
    uid_t lane;     /* whose share of the core it takes; 0 = the controller's own */
    uint32_t bytes; /* of the request */
    void (*fn)(void *arg);
    void (*drop)(void *arg); /* in place of fn when the loop ends before; NULL: nothing to do */
    void *arg;
};

/* Free cmd with all that it owns.  NULL is a no-op. */
void cmd_free(struct cmd *cmd);
/* May the words of a request be there?  A user is told what he may not write.  A node cannot be:
 * its report would come again for ever, so its words are cleaned. */
int cmd_check_words(unsigned op, ProtobufCMessage *msg, struct err *err);

/* Any thread; takes cmd.  Gives false (and frees cmd) when its user's share of the queue is full
 * and cmd is a request.  Commands of lane 0 come first, in order; the other lanes take turns, each
 * in order. */
bool core_post(struct ctld *ctld, struct cmd *cmd);
void core_post_kind(struct ctld *ctld, enum cmd_kind kind); /* a command of our own; any thread */
/* Put off the rest of a long request: call fn(arg) at the next turn of the user that sent `of`, or
 * drop(arg) when the controller ends before; drop NULL: arg is not the request's to free.
 * False: out of memory. */
bool core_again(struct ctld *ctld, const struct cmd *of, void (*fn)(void *arg),
                void (*drop)(void *arg), void *arg);
/* End the core's loop after what is queued; any thread. */
void ctld_stop(struct ctld *ctld);
