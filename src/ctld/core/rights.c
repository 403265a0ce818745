/* rights.c - which user may do what; see rights.h */
#include "ctld/core/rights.h"

#include <stdlib.h>

#include "ctld/ctld.h"

bool core_is_admin(const struct ctld *ctld, uid_t uid)
{
    return uid == 0 || uid == atomic_load_explicit(&ctld->slurm_uid, memory_order_relaxed);
}

void core_learn_admin(struct ctld *ctld)
{
    atomic_store(&ctld->slurm_uid, conf_slurm_uid(ctld->conf));
}

uid_t cmd_rights_uid(const struct cmd *cmd)
{
    return cmd->as_user ? cmd->uid : conn_peer(cmd->conn)->uid;
}

bool cmd_is_admin(const struct ctld *ctld, const struct cmd *cmd)
{
    return !cmd->conn || core_is_admin(ctld, cmd_rights_uid(cmd)) ||
           (cmd->caller && am_admin_level(ctld->cluster->am, cmd->caller) >=
                               PST__ADMIN_LEVEL__ADMIN_ADMINISTRATOR);
}

bool cmd_may_act_as(const struct ctld *ctld, const struct cmd *cmd, uid_t uid)
{
    return !cmd->conn || conn_peer(cmd->conn)->uid == uid ||
           core_is_admin(ctld, conn_peer(cmd->conn)->uid);
}

void cmd_act_as(struct cmd *cmd, uid_t uid)
{
    cmd->uid = uid;
    cmd->as_user = true;
    free(cmd->caller);
    cmd->caller = cmd->user_name;
    cmd->user_name = NULL;
}

uid_t core_lane(const struct ctld *ctld, uid_t uid)
{
    return uid == atomic_load_explicit(&ctld->slurm_uid, memory_order_relaxed) ? 0 : uid;
}
