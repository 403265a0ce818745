/* post.c - handing commands to the core; see cmd.h.  Any thread. */
#include <stdlib.h>

#include "base/must.h"

#include "ctld/core/corequeue.h"

bool core_post(struct ctld *ctld, struct cmd *cmd)
{
    return core_queue_put(ctld->queue, cmd);
}

void core_post_kind(struct ctld *ctld, enum cmd_kind kind)
{
    struct cmd *cmd = must(calloc(1, sizeof(*cmd)));

    cmd->kind = kind;
    (void)core_post(ctld, cmd); /* never refused: it is no request */
}

void ctld_stop(struct ctld *ctld)
{
    if (!atomic_exchange(&ctld->stopping, true))
        core_post_kind(ctld, CMD_STOP);
}

bool core_again(struct ctld *ctld, const struct cmd *of, void (*fn)(void *arg),
                void (*drop)(void *arg), void *arg)
{
    struct cmd *cmd = calloc(1, sizeof(*cmd));

    if (!cmd)
        return false;
    cmd->kind = CMD_CALL;
    cmd->conn = of->conn ? conn_ref(of->conn) : NULL; /* whose wish it is goes on */
    cmd->op = of->op;
    cmd->fn = fn;
    cmd->drop = drop;
    cmd->arg = arg;
    cmd->lane = of->lane;
    (void)core_post(ctld, cmd); /* never refused: it is no request */
    return true;
}
