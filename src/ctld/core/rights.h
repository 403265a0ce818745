/* rights.h - which users are administrators, and which may act in another user's name */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

struct cmd;
struct ctld;

/* Whose word is law: root and SlurmUser.  Any thread. */
bool core_is_admin(const struct ctld *ctld, uid_t uid);
/* ctld->conf is another one: SlurmUser as it has him.  The thread that changed it. */
void core_learn_admin(struct ctld *ctld);
/* The user whose rights count: the sender, or with as_user the user that the sender names.  cmd has
 * a connection. */
uid_t cmd_rights_uid(const struct cmd *cmd);
/* Is that user root or SlurmUser, or an administrator of accounting?  Core thread. */
bool cmd_is_admin(const struct ctld *ctld, const struct cmd *cmd);
/* May the sender have something done in the name and with the rights of uid: a step, a file, a
 * token, a crontab?  That user himself, root and SlurmUser may.  An administrator of accounting may
 * not: he would be root. */
bool cmd_may_act_as(const struct ctld *ctld, const struct cmd *cmd, uid_t uid);
/* From now on the rights of uid count for cmd, whose user_name is the name of uid: it becomes the
 * caller.  The sender may act as uid. */
void cmd_act_as(struct cmd *cmd, uid_t uid);
/* The lane of a user in the core's queue: 0 for root and SlurmUser, whose daemons the nodes are.
 * Any thread. */
uid_t core_lane(const struct ctld *ctld, uid_t uid);
