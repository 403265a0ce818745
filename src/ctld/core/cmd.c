/* cmd.c - commands for the core; see cmd.h */
#include "ctld/core/cmd.h"

#include <stdlib.h>

#include "base/pb/pbsafe.h"
#include "ctld/core/contents.h"

void cmd_free(struct cmd *cmd)
{
    if (!cmd)
        return;
    if (cmd->msg)
        protobuf_c_message_free_unpacked(cmd->msg, NULL);
    free((uint8_t *)cmd->packed.body); /* const for readers */
    if (cmd->conn)
        conn_unref(cmd->conn);
    if (cmd->drop)
        cmd->drop(cmd->arg); /* left over at the end */
    contents_free(cmd->contents, cmd->n_contents);
    free(cmd->caller);
    free(cmd->user_name);
    free(cmd->group_name);
    free(cmd);
}

int cmd_check_words(unsigned op, ProtobufCMessage *msg, struct err *err)
{
    if (op != OP_NODE_REGISTER && op != OP_NODE_REPORT)
        return pbsafe_check(msg, err);
    pbsafe_clean(msg);
    return 0;
}
