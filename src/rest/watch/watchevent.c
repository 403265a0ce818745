/* watchevent.c - changes and other events as text; see watchevent.h */
#include "rest/watch/watchevent.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "base/timefmt.h"
#include "cli/query/out_query.h"
#include "cli/query/watch_line.h"
#include "rest/watch/watchpick.h"
#include "wire/watchfields.h"

#define RETRY_MS 1000 /* before a browser dials again */

static const char *const entity_words[] = { "", "job", "node", "partition" };

static void note_states(struct watch_facts *f, const ProtobufCMessage *m)
{
    const Pst__JobRecord *j = (const Pst__JobRecord *)m;

    if (f->entity != PST__WATCH_ENTITY__WATCH_JOB)
        return;
    if (j->has_state && (unsigned)j->state < 32)
        f->states |= 1u << j->state;
    if (j->has_state_flags)
        f->flags |= j->state_flags;
}

int watchevent_make(struct pb_arena *arena, const Pst__WatchChange *c, struct watch_item **ret)
{
    const struct watch_fields *w = watch_fields(c->entity);
    struct watch_facts f = { .entity = c->entity,
                             .id = c->id,
                             .array_id = c->array_job_id,
                             .has_task = c->has_array_task_id,
                             .task = c->array_task_id,
                             .uid = c->uid,
                             .name = c->name,
                             .partition = c->partition };
    struct watch_line line = { .entity = c->entity,
                               .change = c,
                               .lsn = c->lsn,
                               .index = c->index,
                               .time_us = c->time_us,
                               .name = c->name };
    struct strbuf text = STRBUF_INIT;

    if (!w || c->entity > PST__WATCH_ENTITY__WATCH_PARTITION)
        return -EBADMSG;
    line.before = query_unpack(arena, w->desc, c->before.data, c->before.len);
    line.after = query_unpack(arena, w->desc, c->after.data, c->after.len);
    if (!line.before || !line.after)
        return -EBADMSG;
    note_states(&f, line.before);
    note_states(&f, line.after);
    watch_line_add(&text, &line, true);
    *ret = text.failed || !text.len ? NULL
                                    : watchring_item((struct watch_at){ c->lsn, c->index }, &f,
                                                     text.buf, text.len - 1); /* no newline */
    strbuf_done(&text);
    return *ret ? 0 : -ENOMEM;
}

/* ---- what is sent ---------------------------------------------------------------------------- */

static void begin_event(struct strbuf *out, bool sse, const char *word, struct watch_at at)
{
    char cursor[WATCH_AT_BYTES];

    if (sse)
        strbuf_addf(out, "event: %s\nid: %s\ndata: ", word, watch_at_text(at, cursor));
}

static void end_event(struct strbuf *out, bool sse)
{
    strbuf_add(out, sse ? "\n\n" : "\n");
}

void watchevent_item(struct strbuf *out, bool sse, const struct watch_item *item, bool object,
                     const char *fields)
{
    begin_event(out, sse, entity_words[item->facts.entity], item->at);
    if (object && item->object) { /* a member more, before the brace */
        strbuf_addn(out, item->text, item->len - 1);
        strbuf_add(out, ",\"job\":");
        if (fields)
            watchpick_add(out, item->object, fields);
        else
            strbuf_add(out, item->object);
        strbuf_addc(out, '}');
    } else {
        strbuf_addn(out, item->text, item->len);
    }
    end_event(out, sse);
}

void watchevent_word(struct strbuf *out, bool sse, const char *word, struct watch_at at,
                     const char *reason)
{
    char cursor[WATCH_AT_BYTES];

    if (sse && strcmp(word, "hello") == 0)
        strbuf_addf(out, "retry: %u\n", RETRY_MS);
    begin_event(out, sse, word, at);
    strbuf_addf(out, "{\"event\":\"%s\",\"cursor\":\"%s\"", word, watch_at_text(at, cursor));
    if (reason) /* ours: nothing in it needs an escape */
        strbuf_addf(out, ",\"reason\":\"%s\"", reason);
    strbuf_addc(out, '}');
    end_event(out, sse);
}

void watchevent_beat(struct strbuf *out, bool sse, struct watch_at at)
{
    char cursor[WATCH_AT_BYTES];

    /* An event without data only moves the id with which a browser would come again. */
    if (sse)
        strbuf_addf(out, ": beat\nid: %s\n\n", watch_at_text(at, cursor));
    else
        watchevent_word(out, false, "beat", at, NULL);
}

void watchevent_head(struct strbuf *out, bool sse, int64_t now_us)
{
    time_t now = (time_t)(now_us / USEC_PER_SEC);
    struct tm tm;
    char date[64] = "";

    if (gmtime_r(&now, &tm))
        (void)strftime(date, sizeof(date), "Date: %a, %d %b %Y %H:%M:%S GMT\r\n", &tm); /* fits */
    strbuf_addf(out,
                "HTTP/1.1 200 OK\r\n%sContent-Type: %s\r\nCache-Control: no-store\r\n"
                "X-Content-Type-Options: nosniff\r\nX-Accel-Buffering: no\r\n"
                "Connection: close\r\n\r\n",
                date, sse ? "text/event-stream" : "application/jsonl");
}
