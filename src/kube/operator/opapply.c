/* opapply.c - what the operator sends to the API server
 *
 * Objects are applied by the server (server-side apply) under the operator's name as manager, and
 * only when they differ from what is there: a cluster that does not change costs no requests.  An
 * object that another one owns is never touched. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/timefmt.h"
#include "kube/api/kubejson.h"
#include "kube/operator/opapply.h"
#include "kube/operator/opguard.h"
#include "kube/operator/opreach.h"
#include "kube/make/opkeys.h"

#define APPLIED "operator.penstock/applied" /* the hash of what was applied */
#define ENDING_US (30 * USEC_PER_SEC)

/* ---- answers --------------------------------------------------------------------------------- */

void opapply_fail(struct opwork *w, const char *text)
{
    char *copy = strdup(text);

    w->failed = true;
    if (!copy)
        return;
    free(kubemap_take(&w->op->errors, w->uid));
    if (kubemap_put(&w->op->errors, w->uid, copy) < 0)
        free(copy);
    kubeevents_tell(w->op->events, w->raw, true, "SyncFailed", text);
    log_seldom(LOG_ERROR, "%s %s/%s: %s", kubejson_text(w->raw, "kind"), kubejson_namespace(w->raw),
               kubejson_name(w->raw), text);
}

static void free_work(struct opwork *w)
{
    json_decref(w->raw);
    json_decref(w->cr);
    json_decref(w->controller);
    json_decref(w->nodesets);
    json_decref(w->status);
    free(w);
}

void opapply_finish(struct opwork *w)
{
    struct operator_ *op = w->op;
    char *error;

    if (w->deciding || w->requests)
        return;
    error = w->failed ? NULL : kubemap_take(&op->errors, w->uid);
    if (w->failed && w->denied)
        kubequeue_refuse(op->queue, w->uid);
    else
        kubequeue_done(op->queue, w->uid, !w->failed);
    if (error)
        (void)kubequeue_add(op->queue, w->uid); /* so that the status says so */
    else if (w->wake_s && !w->failed)
        (void)kubequeue_add_after(op->queue, w->uid, w->wake_s * USEC_PER_SEC);
    free(error);
    free_work(w);
}

struct oprequest *opapply_begin(struct opwork *w, const char *hash, const char *uid)
{
    struct oprequest *q = calloc(1, sizeof(*q));

    if (!q)
        return NULL;
    q->w = w;
    q->hash = hash ? strdup(hash) : NULL;
    q->uid = uid ? strdup(uid) : NULL;
    q->next = w->op->requests;
    if (q->next)
        q->next->link = &q->next;
    q->link = &w->op->requests;
    w->op->requests = q;
    w->requests++;
    return q;
}

static struct opwork *free_request(struct oprequest *q)
{
    struct opwork *w = q->w;

    *q->link = q->next;
    if (q->next)
        q->next->link = q->link;
    json_decref(q->act);
    json_decref(q->object);
    free(q->hash);
    free(q->uid);
    free(q);
    w->requests--;
    return w;
}

void opapply_end(struct oprequest *q)
{
    opapply_finish(free_request(q));
}

void opapply_drop(struct operator_ *op)
{
    while (op->requests) {
        struct opwork *w = free_request(op->requests);

        if (!w->requests)
            free_work(w);
    }
}

static void keep_settled(struct operator_ *op, const json_t *object, const char *hash)
{
    const char *uid = kubejson_uid(object);
    char text[200];
    char *copy;

    (void)snprintf(text, sizeof(text), "%s %s", kubejson_version(object), hash);
    copy = strdup(text);
    free(kubemap_take(&op->settled, uid));
    if (copy && kubemap_put(&op->settled, uid, copy) < 0)
        free(copy);
}

/* Objects that come and go are told. */
static void tell_done(const struct oprequest *s, bool done, const char *why)
{
    char reason[32], text[600];

    if (!s->verb)
        return;
    (void)snprintf(reason, sizeof(reason), "%s%s", done ? "Successful" : "Failed", s->verb);
    (void)snprintf(text, sizeof(text), "%s: %s", s->what, done ? "done" : why);
    kubeevents_tell(s->w->op->events, s->w->raw, !done, reason, text);
}

static void note_verb(struct oprequest *s, const char *verb, const json_t *object)
{
    s->verb = verb;
    (void)snprintf(s->what, sizeof(s->what), "%s %s", kubejson_text(object, "kind"),
                   kubejson_name(object));
}

static void take_reply(void *ctx, const struct kubereply *reply)
{
    struct oprequest *s = ctx;
    struct opwork *w = s->w;
    char text[300];
    bool gone = reply->status == 404 || (reply->status == 409 && s->uid) ||
                strcmp(reply->reason, "AlreadyExists") == 0;

    if (s->hash && reply->status >= 200 && reply->status < 300)
        keep_settled(w->op, reply->body, s->hash);
    if (s->uid && reply->status >= 400)
        free(kubemap_take(&w->op->ending, s->uid)); /* it is not, or no longer, being deleted */
    if (!gone)
        tell_done(s, reply->status >= 200 && reply->status <= 299, reply->text);
    if ((reply->status < 200 || reply->status > 299) && !gone) {
        (void)snprintf(text, sizeof(text), "the API server: %d %.200s", reply->status, reply->text);
        w->denied = w->denied || kubereply_is_refusal(reply);
        opapply_fail(w, text);
    }
    opapply_end(s);
}

/* A request that could not be started. */
static void check_started(struct oprequest *s, int r)
{
    if (r >= 0)
        return;
    opapply_fail(s->w, r == -EINVAL ? "a name that cannot be in a path" : ERR_NOMEM);
    opapply_end(s);
}

/* ---- objects --------------------------------------------------------------------------------- */

static struct kubeapi_target target_of(const struct kubekind *kind, const json_t *object,
                                       const char *sub)
{
    return (struct kubeapi_target){ kind, kubejson_namespace(object), kubejson_name(object), sub };
}

static const char *owner_uid(const json_t *object)
{
    const json_t *owner = kubejson_controller(object);

    return owner ? kubejson_text(owner, "uid") : "";
}

/* Is an object that is there another's?  One that no controller owns is ours by its labels. */
static bool is_foreign(const json_t *have, const json_t *object)
{
    static const char *const keys[] = { OPKEY_NAME, OPKEY_INSTANCE };
    const json_t *a = kubejson_at(have, "metadata.labels");
    const json_t *b = kubejson_at(object, "metadata.labels");

    if (strcmp(owner_uid(have), owner_uid(object)) != 0)
        return true;
    for (size_t i = 0; !*owner_uid(object) && i < ARRAY_SIZE(keys); i++)
        if (!json_equal(json_object_get(a, keys[i]), json_object_get(b, keys[i])))
            return true;
    return false;
}

static bool is_settled(struct operator_ *op, const json_t *have, const char *hash)
{
    const char *settled = kubemap_get(&op->settled, kubejson_uid(have));
    char text[200];

    (void)snprintf(text, sizeof(text), "%s %s", kubejson_version(have), hash);
    return settled && strcmp(settled, text) == 0;
}

static void hash_object(const json_t *object, char hash[static MKBASE_HASH])
{
    _cleanup_free_ char *text = json_dumps(object, JSON_COMPACT | JSON_SORT_KEYS);
    _cleanup_json_ json_t *map = text ? json_pack("{s:s}", "v", text) : NULL;

    hash[0] = '\0';
    if (map)
        mkbase_hash(map, hash);
}

static void refuse_foreign(struct opwork *w, const json_t *object)
{
    char text[300];

    (void)snprintf(text, sizeof(text), "%s %.200s is there already, and belongs to another",
                   kubejson_text(object, "kind"), kubejson_name(object));
    w->denied = true;
    opapply_fail(w, text);
}

static void send_apply(struct oprequest *s, const json_t *object)
{
    struct kubeapi_target t =
        target_of(&opowned_kinds[opkinds_owned(kubejson_text(object, "kind"))], object, NULL);

    check_started(s, kubeapi_patch(s->w->op->kube, &t, KUBEAPI_APPLY, object, OPKEY_MANAGER, true,
                                   take_reply, s));
}

/* Our list has no such object.  What the server has may be younger than the list. */
static void take_look(void *ctx, const struct kubereply *reply)
{
    struct oprequest *s = ctx;

    if (reply->status == 404) {
        send_apply(s, s->object);
    } else if (reply->status == 200 && is_foreign(reply->body, s->object)) {
        refuse_foreign(s->w, s->object);
        opapply_end(s);
    } else if (reply->status == 200) {
        opapply_end(s); /* ours: the list brings it, and then it is looked at again */
    } else {
        take_reply(s, reply);
    }
}

/* Look whether there is such an object, and apply it if not: to apply what another one made in this
 * moment would merge ours into it. */
static void make_object(struct opwork *w, json_t *object, const char *hash)
{
    struct oprequest *s = opapply_begin(w, hash, NULL);
    struct kubeapi_target t =
        target_of(&opowned_kinds[opkinds_owned(kubejson_text(object, "kind"))], object, NULL);

    if (!s)
        return;
    s->object = json_incref(object);
    check_started(s, kubeapi_get(w->op->kube, &t, take_look, s));
}

void opapply_object(struct opwork *w, json_t *object)
{
    enum opowned kind = opkinds_owned(kubejson_text(object, "kind"));
    struct operator_ *op = w->op;
    const json_t *have;
    char hash[MKBASE_HASH];
    struct oprequest *s;

    if (!object || kind == OPOWNED_MAX_) {
        opapply_fail(w, ERR_NOMEM);
        return;
    }
    have = kubeinformer_by_name(op->owned[kind], kubejson_namespace(object), kubejson_name(object));
    if (opguard_note(w, object) < 0) {
        opapply_fail(w, ERR_NOMEM);
        return;
    }
    hash_object(object, hash);
    if (have && is_foreign(have, object)) {
        refuse_foreign(w, object);
        return;
    }
    if (have && (kubejson_is_deleted(have) || kubejson_true(have, "immutable")))
        return;
    if (mkbase_note(json_object_get(object, "metadata"), APPLIED, hash) < 0) {
        opapply_fail(w, ERR_NOMEM);
        return;
    }
    if (have && (kubejson_is_within(object, have) || is_settled(op, have, hash)))
        return;
    if (!have) {
        make_object(w, object, hash);
        return;
    }
    s = opapply_begin(w, hash, NULL);
    if (s)
        send_apply(s, object);
}

void opapply_all(struct opwork *w, json_t *objects)
{
    size_t i;
    json_t *one;

    json_array_foreach(objects, i, one) opapply_object(w, one);
    json_decref(objects);
}

void opapply_create(struct opwork *w, const json_t *object)
{
    enum opowned kind = opkinds_owned(kubejson_text(object, "kind"));
    struct kubeapi_target t;
    struct oprequest *s;

    if (!object || kind == OPOWNED_MAX_) {
        opapply_fail(w, ERR_NOMEM);
        return;
    }
    if (kubeinformer_by_name(w->op->owned[kind], kubejson_namespace(object), kubejson_name(object)))
        return;
    s = opapply_begin(w, NULL, NULL);
    t = target_of(&opowned_kinds[kind], object, NULL);
    t.name = NULL;
    if (s)
        note_verb(s, "Create", object);
    if (s)
        check_started(s, kubeapi_create(w->op->kube, &t, object, take_reply, s));
}

void opapply_patch(struct opwork *w, const struct kubekind *kind, const json_t *object,
                   const char *sub, enum kubeapi_patch type, const json_t *body)
{
    struct kubeapi_target t = target_of(kind, object, sub);
    struct oprequest *s = opapply_begin(w, NULL, NULL);

    if (s)
        check_started(
            s, kubeapi_patch(w->op->kube, &t, type, body, OPKEY_MANAGER, false, take_reply, s));
}

void opapply_delete_pod(struct opwork *w, const json_t *pod, bool born)
{
    struct kubeapi_target t = target_of(&opowned_kinds[OPOWNED_PODS], pod, NULL);
    const char *uid = kubejson_uid(pod);
    struct oprequest *s = opapply_begin(w, NULL, uid);
    int64_t *until = malloc(sizeof(*until));

    if (until) {
        *until = now_mono_us() + ENDING_US;
        free(kubemap_take(&w->op->ending, uid));
        if (kubemap_put(&w->op->ending, uid, until) < 0)
            free(until);
    }
    if (s)
        note_verb(s, "Delete", pod);
    if (s)
        check_started(s, kubeapi_delete(w->op->kube, &t, uid, born ? NULL : kubejson_version(pod),
                                        -1, take_reply, s));
}

void opapply_delete(struct opwork *w, const struct kubekind *kind, const json_t *object)
{
    struct kubeapi_target t = target_of(kind, object, NULL);
    struct oprequest *s = opapply_begin(w, NULL, NULL);

    if (s)
        check_started(
            s, kubeapi_delete(w->op->kube, &t, kubejson_uid(object), NULL, -1, take_reply, s));
}

void opapply_scale(struct opwork *w, int64_t replicas)
{
    struct kubeapi_target t = target_of(&opkinds_group(w->raw)->kinds[w->kind], w->raw, NULL);
    struct oprequest *s = opapply_begin(w, NULL, NULL);

    if (s)
        check_started(s, kubeapi_set_scale(w->op->kube, &t, replicas, take_reply, s));
}

/* ---- status ---------------------------------------------------------------------------------- */

void opwork_say(struct opwork *w, bool ready, bool progressing, const char *reason,
                const char *text)
{
    w->ready = ready;
    w->progressing = progressing;
    (void)snprintf(w->reason, sizeof(w->reason), "%s", reason);
    (void)snprintf(w->text, sizeof(w->text), "%s", text);
}

static void set_word(const struct opwork *w, json_t *list, const char *type, const char *word,
                     const char *reason, const char *text)
{
    json_t *one, *old = NULL, *made;
    char stamp[40];
    size_t i, at = json_array_size(list);

    kubejson_stamp(now_us(), false, stamp, sizeof(stamp));
    json_array_foreach(list, i, one)
    {
        if (strcmp(kubejson_text(one, "type"), type) == 0) {
            old = one;
            at = i;
        }
    }
    if (old && strcmp(kubejson_text(old, "status"), word) == 0)
        (void)snprintf(stamp, sizeof(stamp), "%s", kubejson_text(old, "lastTransitionTime"));
    made = json_pack("{s:s, s:s, s:s, s:s, s:s, s:I}", "type", type, "status", word, "reason",
                     reason, "message", text, "lastTransitionTime", stamp, "observedGeneration",
                     (json_int_t)kubejson_int(w->raw, "metadata.generation", 0));
    if (old)
        (void)json_array_set_new(list, at, made);
    else
        (void)json_array_append_new(list, made);
}

static void set_condition(const struct opwork *w, json_t *list, const char *type, bool value,
                          const char *reason, const char *text)
{
    set_word(w, list, type, value ? "True" : "False", reason, text);
}

/* Only what is external has a word of it. */
static void set_reach(const struct opwork *w, json_t *list)
{
    const char *word = w->reach == OPREACH_ANSWERS                                 ? "True"
                       : w->reach == OPREACH_SILENT || w->reach == OPREACH_UNREADY ? "False"
                                                                                   : "Unknown";

    if (w->reach != OPREACH_NONE) {
        set_word(w, list, "Reachable", word, w->reach_reason, w->reach_text);
        return;
    }
    for (size_t i = json_array_size(list); i-- > 0;)
        if (strcmp(kubejson_text(json_array_get(list, i), "type"), "Reachable") == 0)
            (void)json_array_remove(list, i);
}

/* What the condition Ready says now is told when it is something else. */
static void tell_change(struct opwork *w, const json_t *conditions)
{
    static const char *const troubles[] = { "KeyMissing",        "NoController",     OPWORK_UNKNOWN,
                                            "ControllerChanged", "InvalidSpec",      "FieldChanged",
                                            OPWORK_OVERDUE,      OPREACH_UNREACHABLE };
    const char *reason = w->reason;
    bool trouble = false;
    size_t i;
    json_t *one;

    json_array_foreach(conditions, i, one)
    {
        if (strcmp(kubejson_text(one, "type"), "Ready") == 0 &&
            strcmp(kubejson_text(one, "reason"), reason) == 0 &&
            (strcmp(reason, OPWORK_UNKNOWN) != 0 ||
             strcmp(kubejson_text(one, "message"), w->text) == 0))
            return;
    }
    for (i = 0; i < ARRAY_SIZE(troubles); i++)
        trouble = trouble || strcmp(troubles[i], reason) == 0;
    if (strcmp(reason, "NoController") == 0)
        reason = "ControllerRefFailed"; /* the word that others look for */
    kubeevents_tell(w->op->events, w->raw, trouble, reason, w->text);
}

/* Sets that never wanted a reservation have no word of it. */
static bool set_reservation(const struct opwork *w, json_t *conditions)
{
    bool there = w->reservation == OPRESERVATION_THERE, had = false, was = false;
    size_t i;
    json_t *one;

    json_array_foreach(conditions, i, one)
    {
        if (strcmp(kubejson_text(one, "type"), "ReservationCreated") == 0) {
            had = true;
            was = strcmp(kubejson_text(one, "status"), "True") == 0;
        }
    }
    if (w->reservation == OPRESERVATION_UNKNOWN || (!there && !had))
        return false;
    set_condition(w, conditions, "ReservationCreated", there, there ? "Created" : "NotExists", "");
    return !had || was != there;
}

void opapply_status(struct opwork *w)
{
    const char *error = kubemap_get(&w->op->errors, w->uid);
    const json_t *have = json_object_get(w->raw, "status");
    json_t *conditions = json_is_array(json_object_get(have, "conditions"))
                             ? json_copy(json_object_get(have, "conditions"))
                             : json_array();
    _cleanup_json_ json_t *body = NULL;

    tell_change(w, conditions);
    set_condition(w, conditions, "Ready", w->ready, w->reason, w->text);
    set_condition(w, conditions, "Progressing", w->progressing, w->reason, w->text);
    set_condition(w, conditions, "Degraded", error != NULL || !w->cr || w->refused,
                  error                    ? "SyncFailed"
                  : (!w->cr || w->refused) ? w->reason
                                           : "AsExpected",
                  error                    ? error
                  : (!w->cr || w->refused) ? w->text
                                           : "");
    set_reach(w, conditions);
    (void)set_reservation(w, conditions);
    if (!w->status)
        w->status = json_object();
    (void)json_object_set_new(w->status, "conditions", conditions);
    (void)json_object_set_new(w->status, "observedGeneration",
                              json_integer(kubejson_int(w->raw, "metadata.generation", 0)));
    if (kubejson_is_within(w->status, have))
        return;
    body = json_pack("{s:O}", "status", w->status);
    opapply_patch(w, &opkinds_group(w->raw)->kinds[w->kind], w->raw, "status", KUBEAPI_MERGE, body);
}

void opapply_reservation(struct opwork *w)
{
    const json_t *have = kubejson_at(w->raw, "status.conditions");
    const json_t *sent = kubejson_at(w->status, "conditions");
    _cleanup_json_ json_t *list = json_copy((json_t *)(uintptr_t)(sent ? sent : have)),
                          *body = NULL;

    if (!list || !set_reservation(w, list))
        return;
    body = json_pack("{s:{s:O}}", "status", "conditions", list);
    opapply_patch(w, &opkinds_group(w->raw)->kinds[w->kind], w->raw, "status", KUBEAPI_MERGE, body);
}
