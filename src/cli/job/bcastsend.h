/* bcastsend.h - files to the nodes of a job: sbcast and srun --bcast
 *
 * A connection to each node or, when there are more than `width`, to relays (wire/fanout.h); a
 * block is sent to all before the next is read, and a few are on the way to each node. */
#pragma once

#include "api.pb-c.h"
#include "cli/base/cli.h"

#define BCAST_BLOCK_MAX (8u << 20)
#define BCAST_DIRECT UINT32_MAX /* width: no relays */

struct bcast {
    struct cli *cli;
    const char *source;
    const char *target; /* absolute */
    bool node_suffix;   /* target_NODE */
    bool force, preserve;
    bool lz4;       /* send blocks compressed where that makes them smaller */
    bool send_libs; /* the libraries of a program too, into the folder target_libs */
    /* ... but those below one of these folders; NULL = those of the configuration */
    const char *exclude;
    size_t block_size;            /* bytes; 0 = our choice */
    int timeout_ms;               /* without an answer; 0 = none of its own */
    uint32_t width;               /* connections at each level of the tree; 0 = TreeWidth */
    const Pst__StepReply *access; /* of OP_ACCESS with CRED_BCAST: nodes and permission */
    size_t n_libs;                /* by bcast_send(): libraries that were sent */
};

/* Ask the controller for access to the nodes of "12" or "12.0" or, for root and SlurmUser, to
 * the nodes of a list (id NULL).  The caller frees; exits when it is refused. */
Pst__StepReply *bcast_access(struct cli *cli, const char *id, const char *nodes);
/* The same, for a caller with words of its own.  0 with *ret_granted, or a negative errno. */
int bcast_try_access(struct cli *cli, const char *id, const char *nodes,
                     Pst__StepReply **ret_granted, struct err *err);
/* "lz4", "none" or NULL for --compress alone, into *ret_lz4; -EINVAL another word. */
int bcast_compression(const char *word, bool *ret_lz4);
/* "yes", "no" or NULL for --send-libs alone. */
int bcast_libs_word(const char *word, bool *ret_send);
/* What BcastParameters says of compression and libraries. */
void bcast_defaults(struct bcast *b);
/* A relative target is below DestDir of BcastParameters, else below `dir`.  The caller frees. */
char *bcast_target(struct cli *cli, const char *dir, const char *target);
/* 0, or the exit status with the messages printed. */
int bcast_send(struct bcast *b);
