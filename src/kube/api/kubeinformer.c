/* kubeinformer.c - see kubeinformer.h
 *
 * by_uid owns a reference to each object; by_name borrows.  While a list is read its objects gather
 * in `listed`, and take effect when it is whole.  Several namespaces are a chain of parts, each
 * with a watch of its own: the first is what callers have. */
#include "kube/api/kubeinformer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "base/timefmt.h"
#include "kube/api/kubejson.h"
#include "kube/api/kubemap.h"
#include "kube/api/kubewatch.h"

#define PAGE 500u
#define WATCH_S 300
#define PAUSE_US INT64_C(100000)
#define MOST_PAUSE_US (INT64_C(2) * USEC_PER_SEC)
#define IN_ORDER 1u /* failures: a watch that ended as it should counts as one */
#define OBJECTS_MAX 2000000u

struct kubeinformer {
    struct kubeinformer *first, *next; /* parts: a namespace each */
    char *namespace_;
    struct kubeserver *s;
    struct kubeinformer_options o;
    struct kubemap by_uid, by_name;
    json_t *listed; /* of a list under way, by uid; NULL: none */
    char *version;  /* the watch goes on behind it; NULL: a list is needed */
    char *more;     /* the list's next page */
    bool synced;
    unsigned failures;
    struct kubecall *call;
    struct kubetimer timer;
};

static void go_on(void *ctx);

/* namespace_, of n bytes: NULL: all. */
static struct kubeinformer *make_part(struct kubeserver *s, const struct kubeinformer_options *o,
                                      const char *namespace_, size_t n)
{
    struct kubeinformer *i = calloc(1, sizeof(*i));

    if (!i || (namespace_ && !(i->namespace_ = strndup(namespace_, n)))) {
        free(i);
        return NULL;
    }
    i->first = i;
    i->s = s;
    i->o = *o;
    i->o.namespace_ = i->namespace_;
    i->o.page = o->page ? o->page : PAGE;
    i->o.watch_s = o->watch_s ? o->watch_s : WATCH_S;
    i->timer = (struct kubetimer){ .fn = go_on, .ctx = i };
    kubeloop_arm(kubeserver_loop(s), &i->timer, now_mono_us());
    return i;
}

int kubeinformer_new(struct kubeserver *s, const struct kubeinformer_options *o,
                     struct kubeinformer **ret)
{
    const char *at = o->namespace_;
    size_t n = at ? strcspn(at, ",") : 0;
    struct kubeinformer *first = make_part(s, o, at, n), *last = first;

    while (last && at && at[n]) {
        at += n + 1;
        n = strcspn(at, ",");
        last->next = make_part(s, o, at, n);
        last = last->next;
        if (last)
            last->first = first;
    }
    if (!last)
        return kubeinformer_free(first), -ENOMEM;
    *ret = first;
    return 0;
}

static void drop_object(void *object)
{
    json_decref(object);
}

struct kubeinformer *kubeinformer_free(struct kubeinformer *i)
{
    while (i) {
        struct kubeinformer *next = i->next;

        kubeloop_disarm(kubeserver_loop(i->s), &i->timer);
        if (i->call)
            kubecall_cancel(i->call);
        kubemap_done(&i->by_name, NULL);
        kubemap_done(&i->by_uid, drop_object);
        json_decref(i->listed);
        free(i->version);
        free(i->more);
        free(i->namespace_);
        free(i);
        i = next;
    }
    return NULL;
}

bool kubeinformer_is_synced(const struct kubeinformer *i)
{
    for (; i && i->synced; i = i->next)
        continue;
    return !i;
}

size_t kubeinformer_count(const struct kubeinformer *i)
{
    size_t n = 0;

    for (; i; i = i->next)
        n += i->by_uid.n;
    return n;
}

const json_t *kubeinformer_by_uid(const struct kubeinformer *i, const char *uid)
{
    const json_t *found = NULL;

    for (; i && !found; i = i->next)
        found = kubemap_get(&i->by_uid, uid);
    return found;
}

static void write_name(const char *namespace_, const char *name, struct strbuf *out)
{
    strbuf_addf(out, "%s/%s", namespace_, name);
}

const json_t *kubeinformer_by_name(const struct kubeinformer *i, const char *namespace_,
                                   const char *name)
{
    _cleanup_val_(strbuf_done) struct strbuf key = STRBUF_INIT;
    const json_t *found = NULL;

    write_name(namespace_, name, &key);
    for (; i && !found; i = i->next)
        found = kubemap_get(&i->by_name, strbuf_str(&key));
    return found;
}

struct walk_objects {
    void (*fn)(void *ctx, const json_t *object);
    void *ctx;
};

static void visit_object(void *ctx, const char *key, void *value)
{
    const struct walk_objects *w = ctx;

    (void)key;
    w->fn(w->ctx, value);
}

void kubeinformer_walk(const struct kubeinformer *i, void (*fn)(void *ctx, const json_t *object),
                       void *ctx)
{
    struct walk_objects w = { fn, ctx };

    for (; i; i = i->next)
        kubemap_walk(&i->by_uid, visit_object, &w);
}

/* ---- the objects ----------------------------------------------------------------------------- */

static void remove_object(struct kubeinformer *i, const char *uid)
{
    _cleanup_json_ json_t *old = kubemap_take(&i->by_uid, uid);
    _cleanup_val_(strbuf_done) struct strbuf key = STRBUF_INIT;

    if (!old)
        return;
    write_name(kubejson_namespace(old), kubejson_name(old), &key);
    if (kubemap_get(&i->by_name, strbuf_str(&key)) == old)
        (void)kubemap_take(&i->by_name, strbuf_str(&key)); /* it is the same object */
    i->o.fn(i->o.ctx, old, NULL);
}

/* Borrows object.  -ENOMEM: the place in the stream must not be kept. */
static int store_object(struct kubeinformer *i, json_t *object)
{
    const char *uid = kubejson_uid(object);
    _cleanup_val_(strbuf_done) struct strbuf key = STRBUF_INIT;
    _cleanup_json_ json_t *old = json_incref(kubemap_get(&i->by_uid, uid));
    const json_t *other;

    if (old && strcmp(kubejson_version(old), kubejson_version(object)) == 0)
        return 0;
    write_name(kubejson_namespace(object), kubejson_name(object), &key);
    other = kubemap_get(&i->by_name, strbuf_str(&key));
    if (other && strcmp(kubejson_uid(other), uid) != 0)
        remove_object(i, kubejson_uid(other)); /* the name has a new bearer */
    if (i->by_uid.n >= OBJECTS_MAX || kubemap_put(&i->by_uid, uid, object) < 0)
        return -ENOMEM;
    json_incref(object);
    if (kubemap_put(&i->by_name, strbuf_str(&key), object) < 0)
        return -ENOMEM;
    json_decref(old); /* the map's reference */
    i->o.fn(i->o.ctx, old, object);
    return 0;
}

static void keep_version(struct kubeinformer *i, const char *version)
{
    char *copy = *version ? strdup(version) : NULL;

    free(i->version);
    i->version = copy; /* NULL: a list is made */
}

/* Items of lists come without kind and version of the API.  What says that it is of another kind is
 * refused: -EINVAL. */
static int name_kind(const struct kubeinformer *i, json_t *object)
{
    const struct kubekind *k = i->o.kind;
    const json_t *kind = json_object_get(object, "kind"),
                 *version = json_object_get(object, "apiVersion");
    char api[128];

    (void)snprintf(api, sizeof(api), "%s%s%s", k->group, *k->group ? "/" : "", k->version);
    if ((kind && strcmp(kubejson_text(kind, ""), k->kind) != 0) ||
        (version && strcmp(kubejson_text(version, ""), api) != 0))
        return -EINVAL;
    if ((!kind && json_object_set_new(object, "kind", json_string(k->kind)) < 0) ||
        (!version && json_object_set_new(object, "apiVersion", json_string(api)) < 0))
        return -ENOMEM;
    return 0;
}

/* ---- lists ----------------------------------------------------------------------------------- */

struct missing {
    const json_t *listed;
    json_t *uids;
};

static void note_missing(void *ctx, const char *uid, void *value)
{
    const struct missing *m = ctx;

    (void)value;
    if (!json_object_get(m->listed, uid))
        (void)json_array_append_new(m->uids, json_string(uid)); /* told by the next list then */
}

static void take_list(struct kubeinformer *i)
{
    _cleanup_json_ json_t *listed = TAKE_PTR(i->listed);
    struct missing m = { listed, json_array() };
    const char *uid;
    size_t at;
    json_t *object;

    kubemap_walk(&i->by_uid, note_missing, &m);
    json_array_foreach(m.uids, at, object) remove_object(i, json_string_value(object));
    json_decref(m.uids);
    json_object_foreach(listed, uid, object) if (store_object(i, object) < 0) keep_version(i, "");
    if (i->synced)
        return;
    i->synced = true;
    if (i->o.synced && kubeinformer_is_synced(i->first))
        i->o.synced(i->o.ctx);
}

/* A watch that is answered has no line yet, and may end at once: what has failed still counts. */
static void hear_answer(void *ctx)
{
    struct kubeinformer *i = ctx;

    if (i->failures > IN_ORDER && i->o.back)
        i->o.back(i->o.ctx);
}

/* -EINVAL: what is no object, or too many. */
static int gather_page(struct kubeinformer *i, const json_t *body)
{
    const json_t *items = json_object_get(body, "items");
    size_t at;
    json_t *object;

    if (!json_is_array(items) && !json_is_null(items))
        return -EINVAL;
    json_array_foreach(items, at, object) if (!*kubejson_uid(object) || !*kubejson_name(object) ||
                                              !*kubejson_version(object) ||
                                              name_kind(i, object) < 0 ||
                                              json_object_size(i->listed) >= OBJECTS_MAX ||
                                              json_object_set(i->listed, kubejson_uid(object),
                                                              object) < 0) return -EINVAL;
    return 0;
}

static void pause_then_go(struct kubeinformer *i)
{
    int64_t pause = PAUSE_US << MIN(i->failures, 9u);

    i->failures++;
    pause = MIN(pause, MOST_PAUSE_US);
    pause += pause * (now_mono_us() % 100) / 200; /* not all at once */
    kubeloop_arm(kubeserver_loop(i->s), &i->timer, now_mono_us() + pause);
}

static void drop_list(struct kubeinformer *i)
{
    json_decref(i->listed);
    i->listed = NULL;
    free(i->more);
    i->more = NULL;
}

static void take_page(void *ctx, const struct kubereply *reply)
{
    struct kubeinformer *i = ctx;
    const char *version = kubejson_text(reply->body, "metadata.resourceVersion");
    const char *more = kubejson_text(reply->body, "metadata.continue");
    char *next = *more ? strdup(more) : NULL; /* without it the list would seem whole */

    i->call = NULL;
    if (reply->status != 200 || !*version || (*more && !next) ||
        (next && i->more && strcmp(next, i->more) == 0) || gather_page(i, reply->body) < 0) {
        log_seldom(LOG_ERROR, "%s: the list failed: %d %s", i->o.kind->plural, reply->status,
                   reply->text);
        free(next);
        drop_list(i); /* 410 among others: a list whose pages have grown too old */
        pause_then_go(i);
        return;
    }
    free(i->more);
    i->more = next;
    if (!i->more) {
        keep_version(i, version);
        take_list(i);
        hear_answer(i);
        i->failures = 0;
    }
    kubeloop_arm(kubeserver_loop(i->s), &i->timer, now_mono_us());
}

/* ---- watches --------------------------------------------------------------------------------- */

static int take_event(void *ctx, const char *line, size_t len)
{
    struct kubeinformer *i = ctx;
    _cleanup_json_ json_t *object = NULL;
    struct err err = { .text = "" };
    enum kubewatch_type type;

    if (kubewatch_read(line, len, &type, &object, &err) < 0) {
        log_seldom(LOG_ERROR, "%s: a watch cannot be read: %s", i->o.kind->plural, err.text);
        keep_version(i, "");
        return -EINVAL;
    }
    if (type == KUBEWATCH_GONE) {
        keep_version(i, "");
        return -ESTALE;
    }
    if (type == KUBEWATCH_ERROR)
        return -EIO; /* the watch begins anew where it was */
    if (name_kind(i, object) < 0) {
        log_seldom(LOG_ERROR, "%s: a watch told of another kind", i->o.kind->plural);
        keep_version(i, "");
        return -EINVAL;
    }
    if (type == KUBEWATCH_DELETED)
        remove_object(i, kubejson_uid(object));
    else if (type != KUBEWATCH_BOOKMARK && store_object(i, object) < 0) {
        keep_version(i, "");
        return -ENOMEM;
    }
    keep_version(i, kubejson_version(object));
    i->failures = 0;
    return 0;
}

static void end_watch(void *ctx, const struct kubereply *reply)
{
    struct kubeinformer *i = ctx;

    i->call = NULL;
    if (reply->status == 410)
        keep_version(i, "");
    if (reply->status == 200 && i->version && i->failures == 0) {
        i->failures = IN_ORDER; /* it may end so at once again: then there is a pause */
        kubeloop_arm(kubeserver_loop(i->s), &i->timer, now_mono_us());
        return;
    }
    if (reply->status != 200)
        log_debug("%s: a watch ended: %d %s", i->o.kind->plural, reply->status, reply->text);
    pause_then_go(i);
}

static int ask_page(struct kubeinformer *i, struct strbuf *query, bool watch)
{
    const struct kubeapi_target t = { i->o.kind, i->o.namespace_, NULL, NULL };
    _cleanup_free_ char *path = NULL;
    int r;

    if (i->o.selector)
        strbuf_addf(query, "&%s", i->o.selector);
    if (query->failed)
        return -ENOMEM;
    r = kubeapi_path(&t, strbuf_str(query), &path);
    if (r < 0)
        return r;
    return kubecall_start(i->s,
                          &(struct kubecall_spec){
                              .method = "GET",
                              .path = path,
                              .lane = 1,
                              .timeout_ms = watch ? (i->o.watch_s + 60) * 1000 : 0,
                              .line = watch ? take_event : NULL,
                              .done = watch ? end_watch : take_page,
                              .begun = watch ? hear_answer : NULL,
                              .ctx = i,
                          },
                          &i->call);
}

static void go_on(void *ctx)
{
    struct kubeinformer *i = ctx;
    _cleanup_val_(strbuf_done) struct strbuf query = STRBUF_INIT;
    bool watch = i->version && !i->more;

    if (watch) {
        strbuf_addf(&query,
                    "watch=true&allowWatchBookmarks=true&timeoutSeconds=%d&resourceVersion=",
                    i->o.watch_s + (int)(now_mono_us() % (i->o.watch_s / 4 + 1)));
        kubecall_escape(&query, i->version);
    } else {
        if (!i->listed)
            i->listed = json_object();
        strbuf_addf(&query, "limit=%u", i->o.page);
        if (i->more) {
            strbuf_add(&query, "&continue=");
            kubecall_escape(&query, i->more);
        }
    }
    if (ask_page(i, &query, watch) < 0)
        pause_then_go(i);
}
