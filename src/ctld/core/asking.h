/* asking.h - questions of users that the scheduler's thread answers: how many of one user's may
 * be under way
 *
 * Why a job waits, when it would start, priorities, associations: each is a walk over the queue
 * between two passes of the scheduler.  More than ASKING_MAX of one user's are told to come
 * back, or one user would keep it from scheduling.  Any thread, but for tickets. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define ASKING_MAX 8u

struct asking;
struct cmd;
struct ctld;

int asking_new(struct asking **ret);          /* -ENOMEM */
struct asking *asking_free(struct asking *a); /* always NULL */
/* One more of the user in lane (0: no limit).  False: he has as many as he may. */
bool asking_begin(struct asking *a, uid_t lane);
void asking_end(struct asking *a, uid_t lane); /* of one that began */
/* Core thread.  asking_begin() for the user of cmd.  False: the client was told to come back
 * later. */
bool asking_admit(struct ctld *ctld, const struct cmd *cmd);

/* Core thread.  The question that began has this ticket.  Errors: -ENOMEM. */
int asking_note(struct asking *a, uint64_t ticket, uid_t lane);
/* Core thread.  End the question of a ticket; one that is not known is no question. */
void asking_answered(struct asking *a, uint64_t ticket);
