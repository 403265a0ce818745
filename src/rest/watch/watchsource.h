/* watchsource.h - one caller's connection to slurmctld, followed by a thread
 *
 * A source asks slurmctld as its caller for all changes, so slurmctld decides what is seen.  It
 * asks again when the connection goes, where it was, and every minute, so that rights that changed
 * act.  It ends when the caller's token has run out or is refused.  All here wants hub->lock. */
#pragma once

#include "rest/restlink.h"
#include "rest/watch/restwatch_impl.h"

/* The caller's source that is not late and did not end; NULL: none. */
struct watch_source *watchsource_find(struct watch_hub *hub, const char *token, const char *name);
/* A new one, with one user; it starts on its own thread.  since NULL: from now on.  Errors: -EBUSY
 * too many; -ENOMEM, -EAGAIN. */
int watchsource_new(struct watch_hub *hub, const char *token, const char *name, bool late,
                    const struct watch_at *since, struct watch_source **ret);
void watchsource_leave(struct watch_source *s); /* one user less */
/* Watchers of a caller, on all of its sources. */
unsigned watchsource_users(const struct watch_hub *hub, const char *token, const char *name);
void watchsource_stop_all(struct watch_hub *hub);
