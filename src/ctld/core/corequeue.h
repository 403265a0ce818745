/* corequeue.h - commands on their way to the core: first the controller's own, then users in turns
 *
 * What is in lane 0 (the controller's own commands, root's and the nodes') is taken first, in
 * order.  Every other user has a lane, which holds a bounded share of the queue; the lanes take
 * turns, one command each, in order each. */
#pragma once

#include "ctld/ctld.h"

#define LANE_MAX 20000u         /* commands of one user that may wait */
#define LANE_BYTES (128u << 20) /* likewise of their requests; one request may always wait */

int core_queue_new(struct core_queue **ret);
struct core_queue *core_queue_free(struct core_queue *q); /* with what waits in it */
/* Takes cmd.  False, and cmd is freed: it is a request, and its user's share or the queue is
 * full. */
bool core_queue_put(struct core_queue *q, struct cmd *cmd);
/* Take all commands of lane 0; when the queue is empty, wait until `until_mono_us` for a command.
 * NULL = lane 0 is empty; commands of users may wait. */
struct cmd *core_queue_take(struct core_queue *q, int64_t until_mono_us);
/* Take the next command of the user whose turn it is; NULL: no user's command waits. */
struct cmd *core_queue_next(struct core_queue *q);
void cmd_free_list(struct cmd *head);
