/* adminfollow.h - controllers that hear of every change, and answers that wait for them
 *
 * A controller that `tells` says which version of the entities is in force there.  The answer to a
 * change is held until every such controller has it, so that a command's next words meet the new
 * limits.  A controller that does not say so in time holds up no further answer until it does.
 * Any thread, but for adminfollow_new() and adminfollow_free(). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "acct/admin/admin.h"

struct adminfollow;
struct conn;

/* What is left to do once the store has changed. */
struct admin_delivery {
    Pst__AcctChange **changes; /* in order; owned by the delivery */
    size_t n;
    struct conn *conn; /* held; NULL = no answer is expected */
    uint32_t id;
    uint8_t *answer; /* a frame; owned by the delivery */
    size_t answer_len;
};
struct admin_delivery *admin_delivery_free(struct admin_delivery *d); /* always NULL */

/* NULL: no memory. */
struct adminfollow *adminfollow_new(void);
struct adminfollow *adminfollow_free(struct adminfollow *fs); /* always NULL */
/* Its request's id; version: what it has or was sent.  -ENOMEM. */
int adminfollow_add(struct adminfollow *fs, struct conn *conn, uint32_t id, bool tells,
                    uint64_t version);
void adminfollow_gone(struct adminfollow *fs, struct conn *conn);
/* Changes to one of them; asks: it shall tell when they have arrived. */
void adminfollow_send(struct conn *conn, uint32_t id, bool asks, Pst__AcctChange **changes,
                      size_t n);
/* d (taken) to all; its changes end with the version.  True: its answer waits. */
bool adminfollow_deliver(struct adminfollow *fs, struct admin_delivery *d, uint64_t version);
void adminfollow_arrived(struct adminfollow *fs, struct conn *conn, uint64_t version);
/* Asks those that tell to bring the records they have.  A ticket for adminfollow_brought(); 0:
 * there is nobody to wait for. */
uint64_t adminfollow_ask(struct adminfollow *fs);
/* Up to which ticket all have. */
uint64_t adminfollow_brought(struct adminfollow *fs);
void adminfollow_has_brought(struct adminfollow *fs, struct conn *conn, uint64_t ticket);
/* Gives the answers that waited long enough, and waits for no records that are overdue.  When the
 * next is due (now_mono_us()); 0: none waits.  *gave_up: adminfollow_brought() has changed. */
int64_t adminfollow_expire(struct adminfollow *fs, bool *gave_up);
