/* kubeapi.c - see kubeapi.h */
#include "kube/api/kubeapi.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/strbuf.h"
#include "kube/api/kubejson.h"

const struct kubekind kubekind_pods = { "", "v1", "pods", "Pod", true };
const struct kubekind kubekind_nodes = { "", "v1", "nodes", "Node", false };
const struct kubekind kubekind_events = { "", "v1", "events", "Event", true };
const struct kubekind kubekind_jobs = { "batch", "v1", "jobs", "Job", true };
const struct kubekind kubekind_leases = { "coordination.k8s.io", "v1", "leases", "Lease", true };

static bool is_good_or_none(const char *name)
{
    return !name || !*name || kubejson_name_is_good(name);
}

int kubeapi_path(const struct kubeapi_target *t, const char *query, char **ret)
{
    const struct kubekind *k = t->kind;
    struct strbuf path = STRBUF_INIT;

    if (!is_good_or_none(t->namespace_) || (t->name && !kubejson_name_is_good(t->name)))
        return -EINVAL;
    strbuf_addf(&path, *k->group ? "/apis/%s/%s" : "/api%s/%s", k->group, k->version);
    if (k->namespaced && t->namespace_ && *t->namespace_)
        strbuf_addf(&path, "/namespaces/%s", t->namespace_);
    strbuf_addf(&path, "/%s", k->plural);
    if (t->name)
        strbuf_addf(&path, "/%s", t->name);
    if (t->sub)
        strbuf_addf(&path, "/%s", t->sub);
    if (query)
        strbuf_addf(&path, "?%s", query);
    return strbuf_detach(&path, ret);
}

struct asked {
    const char *method, *query, *content_type;
    const json_t *body;
};

/* What is only told, conditions and events, does not stand before what is done. */
static unsigned lane_of(const struct kubeapi_target *t)
{
    if (t->kind == &kubekind_leases)
        return KUBECALL_LEASE;
    if (t->sub && strcmp(t->sub, "binding") == 0)
        return KUBECALL_URGENT;
    if (t->kind == &kubekind_events || (t->sub && strcmp(t->sub, "status") == 0))
        return KUBECALL_TOLD;
    return kubecall_lane(t->namespace_ ? t->namespace_ : "");
}

static int ask_server(struct kubeserver *s, const struct kubeapi_target *t, const struct asked *a,
                      kubecall_fn *done, void *ctx)
{
    _cleanup_free_ char *path = NULL;
    int r = kubeapi_path(t, a->query, &path);

    if (r < 0)
        return r;
    return kubecall_start(s,
                          &(struct kubecall_spec){
                              .method = a->method,
                              .path = path,
                              .body = a->body,
                              .content_type = a->content_type,
                              .lane = lane_of(t),
                              .unread = t->unread,
                              .done = done,
                              .ctx = ctx,
                          },
                          NULL);
}

int kubeapi_get(struct kubeserver *s, const struct kubeapi_target *t, kubecall_fn *done, void *ctx)
{
    return ask_server(s, t, &(struct asked){ .method = "GET" }, done, ctx);
}

int kubeapi_create(struct kubeserver *s, const struct kubeapi_target *t, const json_t *object,
                   kubecall_fn *done, void *ctx)
{
    return ask_server(s, t, &(struct asked){ .method = "POST", .body = object }, done, ctx);
}

int kubeapi_replace(struct kubeserver *s, const struct kubeapi_target *t, const json_t *object,
                    kubecall_fn *done, void *ctx)
{
    return ask_server(s, t, &(struct asked){ .method = "PUT", .body = object }, done, ctx);
}

int kubeapi_patch(struct kubeserver *s, const struct kubeapi_target *t, enum kubeapi_patch type,
                  const json_t *patch, const char *manager, bool force, kubecall_fn *done,
                  void *ctx)
{
    static const char *const types[] = {
        [KUBEAPI_MERGE] = "application/merge-patch+json",
        [KUBEAPI_STRATEGIC] = "application/strategic-merge-patch+json",
        [KUBEAPI_JSON] = "application/json-patch+json",
        [KUBEAPI_APPLY] = "application/apply-patch+yaml", /* JSON is YAML */
    };
    _cleanup_val_(strbuf_done) struct strbuf query = STRBUF_INIT;

    if (manager) {
        if (!kubejson_name_is_good(manager))
            return -EINVAL;
        strbuf_addf(&query, "fieldManager=%s", manager);
    }
    if (type == KUBEAPI_APPLY) {
        if (!manager)
            return -EINVAL;
        strbuf_addf(&query, "&force=%s", force ? "true" : "false");
    }
    return ask_server(s, t,
                      &(struct asked){ .method = "PATCH",
                                       .query = query.len ? strbuf_str(&query) : NULL,
                                       .content_type = types[type],
                                       .body = patch },
                      done, ctx);
}

int kubeapi_delete(struct kubeserver *s, const struct kubeapi_target *t, const char *uid,
                   const char *version, int grace_s, kubecall_fn *done, void *ctx)
{
    _cleanup_json_ json_t *options =
        json_pack("{s:s, s:s, s:{s:s*, s:s*}}", "apiVersion", "v1", "kind", "DeleteOptions",
                  "preconditions", "uid", uid, "resourceVersion", version);

    if (!options || (grace_s >= 0 &&
                     json_object_set_new(options, "gracePeriodSeconds", json_integer(grace_s)) < 0))
        return -ENOMEM;
    return ask_server(s, t, &(struct asked){ .method = "DELETE", .body = options }, done, ctx);
}

int kubeapi_bind(struct kubeserver *s, const char *namespace_, const char *pod, const char *uid,
                 const char *node, const json_t *annotations, kubecall_fn *done, void *ctx)
{
    const struct kubeapi_target t = { &kubekind_pods, namespace_, pod, "binding", true };
    _cleanup_json_ json_t *binding = json_pack(
        "{s:s, s:s, s:{s:s, s:s, s:s, s:O*}, s:{s:s, s:s, s:s}}", "apiVersion", "v1", "kind",
        "Binding", "metadata", "name", pod, "namespace", namespace_, "uid", uid, "annotations",
        annotations, "target", "apiVersion", "v1", "kind", "Node", "name", node);

    return binding ? kubeapi_create(s, &t, binding, done, ctx) : -EINVAL;
}

int kubeapi_set_scale(struct kubeserver *s, const struct kubeapi_target *t, int64_t replicas,
                      kubecall_fn *done, void *ctx)
{
    const struct kubeapi_target scale = { t->kind, t->namespace_, t->name, "scale" };
    _cleanup_json_ json_t *patch = json_pack("{s:{s:I}}", "spec", "replicas", (json_int_t)replicas);

    return patch ? kubeapi_patch(s, &scale, KUBEAPI_MERGE, patch, NULL, false, done, ctx) : -ENOMEM;
}

int kubeapi_discover(struct kubeserver *s, const char *group, const char *version,
                     kubecall_fn *done, void *ctx)
{
    _cleanup_val_(strbuf_done) struct strbuf path = STRBUF_INIT;

    if (!is_good_or_none(group) || !kubejson_name_is_good(version))
        return -EINVAL;
    strbuf_addf(&path, *group ? "/apis/%s/%s" : "/api%s/%s", group, version);
    return kubecall_start(
        s,
        &(struct kubecall_spec){
            .method = "GET", .path = strbuf_str(&path), .lane = 1, .done = done, .ctx = ctx },
        NULL);
}

bool kubeapi_serves(const json_t *list, const struct kubekind *kind)
{
    size_t i;
    json_t *one;

    json_array_foreach(json_object_get(list, "resources"), i,
                       one) if (strcmp(kubejson_text(one, "name"), kind->plural) == 0) return true;
    return false;
}

/* ---- read, change, write --------------------------------------------------------------------- */

struct change {
    struct kubeserver *s;
    const struct kubekind *kind;
    char *namespace_, *name, *sub;
    kubeapi_edit_fn *edit;
    kubecall_fn *done;
    void *ctx;
    unsigned tries;
};

static void end_change(struct change *c, const struct kubereply *reply)
{
    c->done(c->ctx, reply);
    free(c->namespace_);
    free(c->name);
    free(c->sub);
    free(c);
}

static void fail_change(struct change *c, const char *text)
{
    end_change(c, &(struct kubereply){ .reason = "", .text = text });
}

static int read_object(struct change *c);

static void take_written(void *ctx, const struct kubereply *reply)
{
    struct change *c = ctx;

    if (reply->status == 409 && ++c->tries < KUBEAPI_TRIES) {
        if (read_object(c) < 0)
            fail_change(c, ERR_NOMEM);
        return;
    }
    end_change(c, reply);
}

static struct kubeapi_target target_of(const struct change *c)
{
    return (struct kubeapi_target){ c->kind, c->namespace_, c->name, c->sub };
}

static void take_object(void *ctx, const struct kubereply *reply)
{
    struct change *c = ctx;
    const struct kubeapi_target t = target_of(c);
    _cleanup_json_ json_t *object = NULL;

    if (reply->status != 200 || !json_is_object(reply->body)) {
        end_change(c, reply);
        return;
    }
    object = json_deep_copy(reply->body);
    if (!object || c->edit(c->ctx, object) < 0)
        fail_change(c, object ? "nothing is to be changed" : ERR_NOMEM);
    else if (kubeapi_replace(c->s, &t, object, take_written, c) < 0)
        fail_change(c, ERR_NOMEM);
}

static int read_object(struct change *c)
{
    const struct kubeapi_target t = target_of(c);

    return kubeapi_get(c->s, &t, take_object, c);
}

int kubeapi_change(struct kubeserver *s, const struct kubeapi_target *t, kubeapi_edit_fn *edit,
                   kubecall_fn *done, void *ctx)
{
    struct change *c = calloc(1, sizeof(*c));
    int r;

    if (!c)
        return -ENOMEM;
    *c = (struct change){ .s = s, .kind = t->kind, .edit = edit, .done = done, .ctx = ctx };
    c->namespace_ = strdup(t->namespace_ ? t->namespace_ : "");
    c->name = strdup(t->name);
    c->sub = t->sub ? strdup(t->sub) : NULL;
    r = c->namespace_ && c->name && (c->sub || !t->sub) ? read_object(c) : -ENOMEM;
    if (r < 0) {
        free(c->namespace_);
        free(c->name);
        free(c->sub);
        free(c);
    }
    return r;
}
