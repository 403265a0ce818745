/* kubeevent.c - see kubeevent.h */
#include "kube/api/kubeevent.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/strbuf.h"
#include "base/timefmt.h"
#include "kube/api/kubeapi.h"
#include "kube/api/kubejson.h"
#include "kube/api/kubemap.h"

#define AGAIN_US (60 * USEC_PER_SEC)
#define NAME_HEAD 200u /* characters of the object's name in that of an event */

struct told {
    struct kubeevents *e;
    json_t *event; /* as it was made */
    int64_t count, sent_us;
    bool busy; /* a request is under way */
};

struct kubeevents {
    struct kubeserver *s;
    const char *program;
    struct kubemap told; /* "uid reason text" -> struct told */
    uint64_t last;       /* of the names of events */
};

int kubeevents_new(struct kubeserver *s, const char *program, struct kubeevents **ret)
{
    struct kubeevents *e = calloc(1, sizeof(*e));

    if (!e)
        return -ENOMEM;
    e->s = s;
    e->program = program;
    e->last = (uint64_t)now_us();
    *ret = e;
    return 0;
}

static void free_told(void *told)
{
    struct told *t = told;

    json_decref(t->event);
    free(t);
}

struct kubeevents *kubeevents_free(struct kubeevents *e)
{
    if (!e)
        return NULL;
    kubemap_done(&e->told, free_told);
    free(e);
    return NULL;
}

/* ---- what is remembered ---------------------------------------------------------------------- */

static void note_idle(void *ctx, const char *key, void *told)
{
    if (!((struct told *)told)->busy)
        (void)json_array_append_new(ctx, json_string(key)); /* else it stays */
}

/* Forget what nobody waits for: an event that is told again then has an Event of its own. */
static void forget_idle(struct kubeevents *e)
{
    _cleanup_json_ json_t *keys = json_array();
    size_t i;
    json_t *key;

    kubemap_walk(&e->told, note_idle, keys);
    json_array_foreach(keys, i, key)
    {
        struct told *t = kubemap_take(&e->told, json_string_value(key));

        if (t)
            free_told(t);
    }
}

/* Of a text, what fits without half a character at its end. */
static size_t cut_text(const char *text)
{
    size_t n = strnlen(text, KUBEEVENT_TEXT);

    while (n && text[n] && ((unsigned char)text[n] & 0xc0) == 0x80)
        n--;
    return n;
}

static json_t *make_event(struct kubeevents *e, const json_t *about, bool warning,
                          const char *reason, const char *text)
{
    const char *ns = kubejson_namespace(about);
    char stamp[40], name[NAME_HEAD + 32];

    e->last++;
    kubejson_stamp(now_us(), false, stamp, sizeof(stamp));
    (void)snprintf(name, sizeof(name), "%.*s.%llx", (int)NAME_HEAD, kubejson_name(about),
                   (unsigned long long)e->last);
    return json_pack(
        "{s:{s:s, s:s}, s:{s:s, s:s, s:s, s:s, s:s}, s:s, s:s, s:s%, s:{s:s}, s:s, s:s, s:s, s:i}",
        "metadata", "name", name, "namespace", *ns ? ns : "default", "involvedObject", "apiVersion",
        kubejson_text(about, "apiVersion"), "kind", kubejson_text(about, "kind"), "namespace", ns,
        "name", kubejson_name(about), "uid", kubejson_uid(about), "type",
        warning ? "Warning" : "Normal", "reason", reason, "message", text, cut_text(text), "source",
        "component", e->program, "reportingComponent", e->program, "firstTimestamp", stamp,
        "lastTimestamp", stamp, "count", 1);
}

static struct told *find_told(struct kubeevents *e, const json_t *about, bool warning,
                              const char *reason, const char *text)
{
    _cleanup_val_(strbuf_done) struct strbuf key = STRBUF_INIT;
    struct told *t;

    strbuf_addf(&key, "%s %s ", kubejson_uid(about), reason);
    strbuf_addn(&key, text, cut_text(text));
    if (key.failed)
        return NULL;
    t = kubemap_get(&e->told, strbuf_str(&key));
    if (t)
        return t;
    if (e->told.n >= KUBEEVENT_KEPT)
        forget_idle(e);
    t = e->told.n < KUBEEVENT_KEPT ? calloc(1, sizeof(*t)) : NULL;
    if (!t)
        return NULL;
    *t = (struct told){ .e = e, .event = make_event(e, about, warning, reason, text) };
    if (!t->event || kubemap_put(&e->told, strbuf_str(&key), t) < 0) {
        free_told(t);
        return NULL;
    }
    return t;
}

/* ---- requests -------------------------------------------------------------------------------- */

static void send_event(struct told *t);

static void take_made(void *ctx, const struct kubereply *reply)
{
    struct told *t = ctx;

    (void)reply; /* best effort */
    t->busy = false;
}

static void take_changed(void *ctx, const struct kubereply *reply)
{
    struct told *t = ctx;

    t->busy = false;
    if (reply->status == 404)
        send_event(t); /* the server keeps events for an hour */
}

static struct kubeapi_target target_of(const struct told *t, const char *name)
{
    return (struct kubeapi_target){ &kubekind_events, kubejson_namespace(t->event), name, NULL,
                                    true };
}

static void send_event(struct told *t)
{
    struct kubeapi_target at = target_of(t, NULL);

    t->sent_us = now_mono_us();
    t->busy = kubeapi_create(t->e->s, &at, t->event, take_made, t) == 0;
}

static void send_count(struct told *t)
{
    struct kubeapi_target at = target_of(t, kubejson_name(t->event));
    _cleanup_json_ json_t *patch = NULL;
    char stamp[40];

    kubejson_stamp(now_us(), false, stamp, sizeof(stamp));
    patch = json_pack("{s:I, s:s}", "count", (json_int_t)t->count, "lastTimestamp", stamp);
    if (!patch || json_object_update(t->event, patch) < 0)
        return;
    t->sent_us = now_mono_us();
    t->busy = kubeapi_patch(t->e->s, &at, KUBEAPI_MERGE, patch, NULL, false, take_changed, t) == 0;
}

void kubeevents_tell(struct kubeevents *e, const json_t *about, bool warning, const char *reason,
                     const char *text)
{
    struct told *t = find_told(e, about, warning, reason, text);

    if (!t)
        return;
    t->count++;
    if (t->count == 1)
        send_event(t);
    else if (!t->busy && now_mono_us() - t->sent_us >= AGAIN_US)
        send_count(t);
}
