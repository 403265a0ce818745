/* operator.c - see operator.h */
#include "kube/operator/operator.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "kube/api/kubejson.h"
#include "kube/operator/opapply.h"
#include "kube/operator/opclient.h"
#include "kube/operator/opguard.h"
#include "kube/operator/opleader.h"
#include "kube/operator/operator_impl.h"
#include "kube/operator/opnodeset.h"
#include "kube/operator/opreach.h"
#include "kube/operator/opreconcile.h"
#include "kube/make/opkeys.h"
#include "kube/make/opspec.h"

#define AT_ONCE 32u
#define PATIENCE_S 600

/* ---- finding --------------------------------------------------------------------------------- */

static bool is_followed(const struct operator_ *op, size_t owned)
{
    return owned != OPOWNED_MONITORS || op->o.monitors;
}

static bool is_ready(const struct operator_ *op)
{
    for (size_t i = 0; i < OPOWNED_MAX_; i++)
        if (is_followed(op, i) && (!op->owned[i] || !kubeinformer_is_synced(op->owned[i])))
            return false;
    if (!op->controllers || !kubeinformer_is_synced(op->controllers))
        return false;
    for (size_t g = 0; g < OPGROUPS; g++)
        for (size_t k = 0; op->o.groups[g] && k < OPKIND_MAX_; k++)
            if (!op->served[g][k] || !kubeinformer_is_synced(op->served[g][k]))
                return false;
    return true;
}

static const json_t *find_object(void *ctx, const struct mkbase_facts *f, const char *kind,
                                 const char *name)
{
    struct operator_ *op = ctx;
    enum opkind served = opkinds_served(kind);
    enum opowned owned = opkinds_owned(kind);
    struct kubeinformer *i = served < OPKIND_MAX_   ? op->served[f->group - opgroups][served]
                             : owned < OPOWNED_MAX_ ? op->owned[owned]
                                                    : NULL;

    return i ? kubeinformer_by_name(i, kubejson_namespace(f->cr), name) : NULL;
}

/* ---- waking ---------------------------------------------------------------------------------- */

static void wake_uid(struct operator_ *op, const char *uid)
{
    if (is_ready(op) && kubequeue_add(op->queue, uid) < 0)
        log_nomem("an object waits for its next change");
}

struct wish {
    struct operator_ *op;
    const char *namespace_, *path, *name; /* path NULL: whatever they refer to */
};

static void wake_if_refers(void *ctx, const json_t *object)
{
    const struct wish *w = ctx;

    if (w->namespace_ && strcmp(kubejson_namespace(object), w->namespace_) != 0)
        return;
    if (!w->path || strcmp(kubejson_text(object, w->path), w->name) == 0)
        wake_uid(w->op, kubejson_uid(object));
}

static void wake_kind(struct operator_ *op, size_t g, enum opkind kind, const char *namespace_,
                      const char *path, const char *name)
{
    struct wish w = { op, namespace_, path, name };

    if (op->served[g][kind])
        kubeinformer_walk(op->served[g][kind], wake_if_refers, &w);
}

/* What refers to an object that is served, or is referred to by it. */
static void wake_related(struct operator_ *op, const json_t *object)
{
    const struct opgroup *group = opkinds_group(object);
    size_t g = group ? (size_t)(group - opgroups) : 0;
    const char *ns = kubejson_namespace(object), *name = kubejson_name(object);
    const char *controller = kubejson_text(object, "spec.controllerRef.name");

    switch (group ? opkinds_served(kubejson_text(object, "kind")) : OPKIND_MAX_) {
    case OPKIND_CONTROLLER:
        wake_kind(op, g, OPKIND_NODESET, ns, "spec.controllerRef.name", name);
        wake_kind(op, g, OPKIND_RESTAPI, ns, "spec.controllerRef.name", name);
        wake_kind(op, g, OPKIND_LOGINSET, ns, "spec.controllerRef.name", name);
        break;
    case OPKIND_NODESET:
        wake_kind(op, g, OPKIND_CONTROLLER, ns, "metadata.name", controller);
        break;
    case OPKIND_RESTAPI:
        wake_kind(op, g, OPKIND_NODESET, ns, "spec.controllerRef.name", controller);
        break;
    case OPKIND_ACCOUNTING:
        wake_kind(op, g, OPKIND_CONTROLLER, ns, "spec.accountingRef.name", name);
        break;
    case OPKIND_LOGINSET:
    case OPKIND_TOKEN:
    case OPKIND_MAX_:
        break;
    }
}

static void take_served(void *ctx, const json_t *before, const json_t *now)
{
    struct operator_ *op = ctx;
    const json_t *object = now ? now : before;

    if (!now && strcmp(kubejson_text(object, "kind"), "Controller") == 0) {
        opclient_forget(op, kubejson_uid(object));
        opleader_forget(op, kubejson_uid(object));
    }
    if (!now)
        opreach_forget(op, kubejson_uid(object));
    if (!now)
        free(kubemap_take(&op->errors, kubejson_uid(object)));
    if (!is_ready(op))
        return;
    if (now)
        wake_uid(op, kubejson_uid(now));
    if (!before || !now ||
        !json_equal(json_object_get(before, "spec"), json_object_get(now, "spec")))
        wake_related(op, object);
}

static void take_owned(void *ctx, const json_t *before, const json_t *now)
{
    struct operator_ *op = ctx;
    const json_t *object = now ? now : before, *owners, *one;

    if (!now) {
        free(kubemap_take(&op->settled, kubejson_uid(object)));
        free(kubemap_take(&op->ending, kubejson_uid(object)));
    }
    owners = kubejson_at(object, "metadata.ownerReferences");
    for (size_t i = 0; (one = json_array_get(owners, i)); i++) {
        const json_t *pod = kubeinformer_by_uid(op->owned[OPOWNED_PODS], kubejson_text(one, "uid"));

        if (!opkinds_group(one)) /* a claim of a pod that goes: its NodeSet */
            one = pod ? kubejson_controller(pod) : NULL;
        if (one && opkinds_group(one))
            wake_uid(op, kubejson_text(one, "uid"));
    }
}

/* Secrets and ConfigMaps are referred to by name from many places of their namespace. */
static void take_data(void *ctx, const json_t *before, const json_t *now)
{
    struct operator_ *op = ctx;
    const json_t *object = now ? now : before;

    take_owned(ctx, before, now);
    if (before && now && json_equal(json_object_get(before, "data"), json_object_get(now, "data")))
        return;
    if (is_ready(op))
        for (size_t g = 0; g < OPGROUPS; g++)
            for (size_t k = 0; k < OPKIND_MAX_; k++)
                wake_kind(op, g, (enum opkind)k, kubejson_namespace(object), NULL, NULL);
}

/* Controllers name claims of users, which nobody of ours owns. */
static void take_claim(void *ctx, const json_t *before, const json_t *now)
{
    struct operator_ *op = ctx;

    take_owned(ctx, before, now);
    if (!(before && now) && is_ready(op))
        for (size_t g = 0; g < OPGROUPS; g++)
            wake_kind(op, g, OPKIND_CONTROLLER, kubejson_namespace(now ? now : before), NULL, NULL);
}

/* The pods of slurmctld are the StatefulSet's: their labels and addresses concern the Controller.
 */
static void take_controller_pod(void *ctx, const json_t *before, const json_t *now)
{
    struct operator_ *op = ctx;
    const json_t *pod = now ? now : before;
    const char *name = kubejson_label(pod, OPKEY_INSTANCE);

    if (name && is_ready(op))
        for (size_t g = 0; g < OPGROUPS; g++)
            wake_kind(op, g, OPKIND_CONTROLLER, kubejson_namespace(pod), "metadata.name", name);
}

static bool is_same(const json_t *a, const json_t *b, const char *path)
{
    const json_t *x = kubejson_at(a, path), *y = kubejson_at(b, path);

    return x == y || (x && y && json_equal(x, y));
}

static void take_node(void *ctx, const json_t *before, const json_t *now)
{
    struct operator_ *op = ctx;

    if (before && now && is_same(before, now, "spec") && is_same(before, now, "metadata.labels") &&
        is_same(before, now, "metadata.annotations") &&
        (!op->o.node_conditions || is_same(before, now, "status.conditions")))
        return;
    if (is_ready(op))
        for (size_t g = 0; g < OPGROUPS; g++)
            wake_kind(op, g, OPKIND_NODESET, NULL, NULL, NULL);
}

static void wake_all(void *ctx)
{
    struct operator_ *op = ctx;

    if (!is_ready(op))
        return;
    for (size_t g = 0; g < OPGROUPS; g++)
        for (size_t k = 0; k < OPKIND_MAX_; k++)
            wake_kind(op, g, (enum opkind)k, NULL, NULL, NULL);
}

static void hurry_works(void *ctx)
{
    struct operator_ *op = ctx;

    kubequeue_hurry(op->queue);
}

static void take_host_keys(void *ctx)
{
    struct operator_ *op = ctx;

    for (size_t g = 0; g < OPGROUPS; g++)
        wake_kind(op, g, OPKIND_LOGINSET, NULL, NULL, NULL);
}

/* ---- work ------------------------------------------------------------------------------------ */

static const json_t *find_served(struct operator_ *op, const char *uid)
{
    const json_t *found = NULL;

    for (size_t g = 0; g < OPGROUPS; g++)
        for (size_t k = 0; k < OPKIND_MAX_ && !found; k++)
            if (op->served[g][k])
                found = kubeinformer_by_uid(op->served[g][k], uid);
    return found;
}

struct sets {
    struct opwork *w;
    json_t *found; /* name -> NodeSet */
    bool failed;   /* no memory: there are more */
};

static void add_set(void *ctx, const json_t *one)
{
    struct sets *s = ctx;
    struct err err = { .text = "" };
    json_t *valid;
    int r;

    if (strcmp(kubejson_namespace(one), kubejson_namespace(s->w->cr)) != 0 ||
        strcmp(kubejson_text(one, "spec.controllerRef.name"), kubejson_name(s->w->cr)) != 0 ||
        kubejson_is_deleted(one))
        return;
    r = opspec_read(one, &valid, &err);
    if (r == -ENOMEM || (r == 0 && json_object_set_new(s->found, kubejson_name(one), valid) < 0))
        s->failed = true;
}

/* The NodeSets of a Controller in order of names; NULL: no memory.  With some of them alone
 * slurm.conf would lose the partitions of the others, and their jobs. */
static json_t *list_sets(struct opwork *w)
{
    struct sets s = { w, json_object(), false };
    json_t *list = json_array();
    _cleanup_free_ char *text = NULL;
    json_t *sorted, *one;
    const char *name;

    kubeinformer_walk(w->op->served[w->f.group - opgroups][OPKIND_NODESET], add_set, &s);
    text = json_dumps(s.found, JSON_SORT_KEYS | JSON_COMPACT);
    sorted = text ? json_loads(text, 0, NULL) : NULL;
    json_object_foreach(sorted, name, one)
    {
        if (json_array_append(list, one) < 0)
            s.failed = true;
    }
    if (!sorted || s.failed) {
        json_decref(list);
        list = NULL;
    }
    json_decref(sorted);
    json_decref(s.found);
    return list;
}

static void read_controller(struct opwork *w)
{
    const char *name = kubejson_text(w->cr, "spec.controllerRef.name");
    const json_t *found = mkbase_find(&w->f, "Controller", name);
    struct err err = { .text = "" };

    if (w->kind == OPKIND_CONTROLLER)
        w->controller = json_incref(w->cr);
    else if (found && !kubejson_is_deleted(found) && !opguard_refuses(&w->f, found, NULL, &err))
        (void)opspec_read(found, &w->controller, &err); /* a bad one says so in its own status */
    w->f.controller = w->controller;
}

static void reconcile_kind(struct opwork *w)
{
    switch (w->kind) {
    case OPKIND_CONTROLLER:
        w->f.nodesets = w->nodesets = list_sets(w);
        if (w->nodesets) {
            opreconcile_controller(w);
        } else {
            opwork_say(w, false, true, "SyncFailed", ERR_NOMEM);
            opapply_fail(w, ERR_NOMEM);
        }
        break;
    case OPKIND_NODESET:
        opnodeset_reconcile(w);
        break;
    case OPKIND_ACCOUNTING:
        opreconcile_accounting(w);
        break;
    case OPKIND_RESTAPI:
        opreconcile_restapi(w);
        break;
    case OPKIND_TOKEN:
        opreconcile_token(w);
        break;
    case OPKIND_LOGINSET:
        opreconcile_loginset(w);
        break;
    case OPKIND_MAX_:
        break;
    }
}

static void do_work(void *ctx, const char *uid)
{
    struct operator_ *op = ctx;
    const json_t *object = find_served(op, uid);
    struct opwork *w = object ? calloc(1, sizeof(*w) + strlen(uid) + 1) : NULL;
    struct err err = { .text = "" };

    if (!w) {
        kubequeue_done(op->queue, uid, !object);
        return;
    }
    memcpy(w->uid, uid, strlen(uid) + 1);
    w->op = op;
    w->raw = json_incref((json_t *)(uintptr_t)object);
    w->kind = opkinds_served(kubejson_text(object, "kind"));
    w->f = (struct mkbase_facts){
        .group = opkinds_group(object), .image = op->o.image, .find = find_object, .ctx = op
    };
    w->deciding = true;
    if (w->kind == OPKIND_NODESET && kubejson_is_deleted(object)) { /* good or not, it may go */
        w->f.cr = w->cr = json_incref(w->raw);
        read_controller(w);
        reconcile_kind(w);
    } else if (opspec_read(object, &w->cr, &err) < 0) {
        opwork_say(w, false, false, "InvalidSpec", err.text);
    } else {
        w->f.cr = w->cr;
        w->refused = opguard_refuses(&w->f, w->raw, op->owned[OPOWNED_REVISIONS], &err);
        if (w->refused) {
            opwork_say(w, false, false, "FieldChanged", err.text);
        } else {
            read_controller(w);
            reconcile_kind(w);
        }
    }
    opapply_status(w);
    w->deciding = false;
    opapply_finish(w);
}

/* ---- life ------------------------------------------------------------------------------------ */

static int follow_kind(struct operator_ *op, const struct kubekind *kind, const char *selector,
                       kubeinformer_fn *fn, struct kubeinformer **ret)
{
    const struct kubeinformer_options o = { .kind = kind,
                                            .namespace_ =
                                                kind->namespaced ? op->o.namespace_ : NULL,
                                            .selector = selector,
                                            .fn = fn,
                                            .synced = wake_all,
                                            .back = hurry_works,
                                            .ctx = op };

    return kubeinformer_new(op->kube, &o, ret);
}

int operator_new(struct kubeserver *kube, const struct operator_options *o, struct operator_ **ret)
{
    const struct kubequeue_options q = { .at_once = AT_ONCE };
    struct operator_ *op = calloc(1, sizeof(*op));
    int r = op ? 0 : -ENOMEM;

    if (r < 0)
        return r;
    op->kube = kube;
    op->o = *o;
    op->o.patience_s = o->patience_s ? o->patience_s : PATIENCE_S;
    r = kubequeue_new(kubeserver_loop(kube), &q, do_work, op, &op->queue);
    if (r == 0)
        r = kubeevents_new(kube, OPKEY_MANAGER, &op->events);
    if (r == 0)
        r = opkeymaker_new(kubeserver_loop(kube), take_host_keys, op, &op->keymaker);
    for (size_t i = 0; r == 0 && i < OPOWNED_MAX_; i++)
        if (is_followed(op, i))
            r = follow_kind(op, &opowned_kinds[i],
                            i == OPOWNED_PODS ? "labelSelector=" OPKEY_COMPONENT "%3Dworker" : NULL,
                            i == OPOWNED_NODES                                ? take_node
                            : i == OPOWNED_SECRETS || i == OPOWNED_CONFIGMAPS ? take_data
                            : i == OPOWNED_CLAIMS                             ? take_claim
                                                                              : take_owned,
                            &op->owned[i]);
    if (r == 0)
        r = follow_kind(op, &opowned_kinds[OPOWNED_PODS],
                        "labelSelector=" OPKEY_COMPONENT "%3Dcontroller", take_controller_pod,
                        &op->controllers);
    for (size_t g = 0; g < OPGROUPS; g++)
        for (size_t k = 0; r == 0 && o->groups[g] && k < OPKIND_MAX_; k++)
            r = follow_kind(op, &opgroups[g].kinds[k], NULL, take_served, &op->served[g][k]);
    if (r < 0) {
        operator_stop(op);
        (void)operator_free(op);
        return r;
    }
    *ret = op;
    return 0;
}

void operator_stop(struct operator_ *op)
{
    opclient_stop(op);
    opleader_stop(op);
    opreach_stop(op);
    op->controllers = kubeinformer_free(op->controllers);
    for (size_t i = 0; i < OPOWNED_MAX_; i++)
        op->owned[i] = kubeinformer_free(op->owned[i]);
    for (size_t g = 0; g < OPGROUPS; g++)
        for (size_t k = 0; k < OPKIND_MAX_; k++)
            op->served[g][k] = kubeinformer_free(op->served[g][k]);
}

struct operator_ *operator_free(struct operator_ *op)
{
    if (!op)
        return NULL;
    opapply_drop(op);
    op->queue = kubequeue_free(op->queue);
    op->keymaker = opkeymaker_free(op->keymaker);
    op->events = kubeevents_free(op->events);
    kubemap_done(&op->settled, free);
    kubemap_done(&op->ending, free);
    kubemap_done(&op->errors, free);
    free(op);
    return NULL;
}
