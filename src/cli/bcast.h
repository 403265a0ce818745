/* bcast.h - one file to the nodes of a job: sbcast and srun --bcast
 *
 * A connection to each node; a block is sent to all before the next is read, and at most two are on
 * the way to each. */
#pragma once

#include "api.pb-c.h"
#include "cli/cli.h"

#define BCAST_BLOCK_MAX (8u << 20)

struct bcast {
    struct cli *cli;
    const char *source;
    const char *target; /* absolute */
    bool node_suffix;   /* target_NODE */
    bool force, preserve;
    bool lz4;                     /* send blocks compressed where that makes them smaller */
    size_t block_size;            /* 0 = BCAST_BLOCK_MAX */
    int timeout_ms;               /* 0 = none of its own */
    const Pst__StepReply *access; /* of OP_ACCESS with CRED_BCAST */
};

/* Ask the controller for access to the nodes of "12" or "12.0".  The caller frees; exits when it is
 * refused. */
Pst__StepReply *bcast_access(struct cli *cli, const char *id);
/* "lz4", "none" or NULL for --compress alone, into *ret_lz4; -EINVAL another word. */
int bcast_compression(const char *word, bool *ret_lz4);
/* What BcastParameters says. */
void bcast_defaults(struct bcast *b);
/* 0, or the exit status with the messages printed. */
int bcast_send(const struct bcast *b);
