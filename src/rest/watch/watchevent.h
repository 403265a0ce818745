/* watchevent.h - changes and other events as text; pure */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/pb/pbutil.h"
#include "base/strbuf.h"
#include "rest/watch/watchring.h"

/* A change as an item; caller frees or puts it.  Errors: -EBADMSG slurmctld sent what is no change;
 * -ENOMEM. */
int watchevent_make(struct pb_arena *arena, const Pst__WatchChange *change,
                    struct watch_item **ret);

/* What a watcher is sent: an event of a stream (sse), or a line.  object: with the job's own JSON
 * behind the change, where the item has one, or with those members of the JSON that the comma list
 * names (NULL: all). */
void watchevent_item(struct strbuf *out, bool sse, const struct watch_item *item, bool object,
                     const char *fields);
/* "hello", "reset", "away", "back" or "bye"; reason NULL: none. */
void watchevent_word(struct strbuf *out, bool sse, const char *word, struct watch_at at,
                     const char *reason);
void watchevent_beat(struct strbuf *out, bool sse, struct watch_at at);
/* The head of the answer. */
void watchevent_head(struct strbuf *out, bool sse, int64_t now_us);
