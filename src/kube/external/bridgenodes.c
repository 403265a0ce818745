/* bridgenodes.c - see bridgenodes.h
 *
 * The key of the queue is the node's name in Slurm.  Work on it asks slurmrestd for the node, does
 * one action, and looks again until there is nothing to do. */
#include "kube/external/bridgenodes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/timefmt.h"
#include "kube/api/kubeapi.h"
#include "kube/api/kubejson.h"
#include "kube/api/kubequeue.h"
#include "kube/external/bridgedrain.h"
#include "kube/claim/bridgekeys.h"
#include "kube/external/nodeshape.h"
#include "kube/claim/podread.h"

#define API "/slurm/v0.0.45/"
#define AT_ONCE 8u
#define LOOK_AGAIN_US USEC_PER_SEC /* jobs of a node that drains */
#define GATHER_US INT64_C(50000)   /* nodes change together */
#define ALONE_MOST 32u             /* more than these are listed */

struct bridgenodes {
    struct kubeserver *slurm;
    char mark[NODESHAPE_MARK_SIZE];
    struct kubeloop *loop;
    struct bridgenodes_facts f;
    struct kubequeue *queue;
    struct kubemap works; /* under way, by their keys */
    struct kubetimer again;
    json_t *known;  /* the names of the last whole list; NULL: there was none */
    json_t *drains; /* of nodes of both worlds: bridgedrain.h */
    json_t *heard;  /* names of nodes that have changed in Slurm, and are to be looked at */
    struct kubetimer gather;
    json_t *seen; /* NULL: no list is under way; names that slurmrestd told so far */
    char *page;
};

struct work {
    struct bridgenodes *l;
    enum nodeshape_act act;
    char name[];
};

static bool is_whole(struct kubeinformer *const *i)
{
    return *i && kubeinformer_is_synced(*i);
}

static bool can_look(const struct bridgenodes *l)
{
    return is_whole(l->f.nodes) && (!l->f.slices || is_whole(l->f.slices));
}

/* The node of Kubernetes that has the name in Slurm; NULL: none. */
static const json_t *find_node(const struct bridgenodes *l, const char *name)
{
    const char *own = kubemap_get(l->f.names, name);
    const json_t *node = kubeinformer_by_name(*l->f.nodes, "", own ? own : name);

    return node && strcmp(nodeshape_name(node), name) == 0 ? node : NULL;
}

static int read_shape(const struct bridgenodes *l, const json_t *node, struct nodeshape *ret,
                      struct err *err)
{
    return nodeshape_read(node, kubemap_get(l->f.node_slices, kubejson_name(node)), l->mark, ret,
                          err);
}

static int ask_slurm(struct bridgenodes *l, const char *method, const char *path,
                     const json_t *body, kubecall_fn *done, void *ctx)
{
    return kubecall_start(
        l->slurm,
        &(struct kubecall_spec){
            .method = method, .path = path, .body = body, .lane = 2, .done = done, .ctx = ctx },
        NULL);
}

static bool is_answered(const struct kubereply *reply)
{
    return reply->status >= 200 && reply->status <= 299 &&
           json_array_size(json_object_get(reply->body, "errors")) == 0;
}

bool bridgenodes_may_have(const struct bridgenodes *l, const char *name)
{
    return !l->known || json_object_get(l->known, name);
}

/* ---- drains ---------------------------------------------------------------------------------- */

const json_t *bridgenodes_drains(const struct bridgenodes *l)
{
    return l->drains;
}

/* Whoever drained it: what slurmrestd says of a node is told on Kubernetes' node of that name. */
static void note_drain(struct bridgenodes *l, const char *name, const json_t *have)
{
    _cleanup_val_(strbuf_done) struct strbuf text = STRBUF_INIT;
    const json_t *node = find_node(l, name);

    if (!node || !bridgedrain_note(l->drains, name, have, &text))
        return;
    if (text.len && !text.failed)
        kubeevents_tell(l->f.events, node, false,
                        json_object_get(l->drains, name) ? "SlurmNodeDrain" : "SlurmNodeFreed",
                        strbuf_str(&text));
    l->f.drained(l->f.ctx);
}

static void look_at_heard(void *ctx)
{
    struct bridgenodes *l = ctx;
    const char *name;
    json_t *value;

    if (json_object_size(l->heard) > ALONE_MOST && !l->seen) {
        kubeloop_arm(l->loop, &l->again, now_mono_us());
    } else {
        json_object_foreach(l->heard, name, value)(void) kubequeue_add(l->queue, name);
    }
    (void)json_object_clear(l->heard);
}

void bridgenodes_hear(struct bridgenodes *l, const char *name)
{
    if (!can_look(l) || !find_node(l, name))
        return;
    (void)json_object_set_new(l->heard, name, json_true()); /* or with the next list */
    kubeloop_arm(l->loop, &l->gather, now_mono_us() + GATHER_US);
}

/* ---- one node -------------------------------------------------------------------------------- */

static void end_work(struct work *w, bool ok)
{
    struct bridgenodes *l = w->l;

    (void)kubemap_take(&l->works, w->name);
    kubequeue_done(l->queue, w->name, ok);
    free(w);
}

static void fail_work(struct work *w, const struct kubereply *reply)
{
    const json_t *first = json_array_get(json_object_get(reply->body, "errors"), 0);
    const char *said = kubejson_text(first, "error");

    log_seldom(LOG_ERROR, "external node %s: slurmrestd: %d %.300s", w->name, reply->status,
               *said ? said : reply->text);
    end_work(w, false);
}

static void take_done(void *ctx, const struct kubereply *reply)
{
    struct work *w = ctx;

    if (!is_answered(reply)) {
        fail_work(w, reply);
        return;
    }
    if (w->act != NODESHAPE_TOPOLOGY)              /* which slurmctld may write in other words */
        (void)kubequeue_add(w->l->queue, w->name); /* is that all? */
    if (w->l->f.scheduler && !w->l->seen &&
        (w->act == NODESHAPE_CREATE || w->act == NODESHAPE_DELETE)) /* its taint */
        kubeloop_arm(w->l->loop, &w->l->again, now_mono_us() + LOOK_AGAIN_US);
    end_work(w, true);
}

static int send_action(struct work *w, enum nodeshape_act act, const struct nodeshape *want)
{
    _cleanup_json_ json_t *body = nodeshape_body(act, w->name, want);
    char path[320];

    w->act = act;
    if (!body && act != NODESHAPE_DELETE)
        return -ENOMEM;
    if (act == NODESHAPE_CREATE)
        (void)snprintf(path, sizeof(path), API "new/node");
    else
        (void)snprintf(path, sizeof(path), API "node/%s", w->name);
    if (act == NODESHAPE_CREATE || act == NODESHAPE_DELETE)
        log_info("external node %s is to be %s", w->name,
                 act == NODESHAPE_DELETE ? "removed" : "made");
    return ask_slurm(w->l, act == NODESHAPE_DELETE ? "DELETE" : "POST", path, body, take_done, w);
}

/* Only the node's own record has it changed or deleted.  Without the record no more can happen than
 * that slurmctld refuses to make what is there. */
static void take_node(void *ctx, const struct kubereply *reply)
{
    struct work *w = ctx;
    const json_t *list = json_object_get(reply->body, "nodes"), *have = json_array_get(list, 0);
    const json_t *node = can_look(w->l) ? find_node(w->l, w->name) : NULL;
    struct nodeshape want = NODESHAPE_INIT;
    struct err err = { .text = "" };
    bool wanted = nodeshape_is_wanted(node);
    enum nodeshape_act act;

    if (reply->status != 200 || !reply->body || !can_look(w->l) ||
        (have && strcmp(kubejson_text(have, "name"), w->name) != 0)) {
        fail_work(w, reply);
        return;
    }
    if (wanted && read_shape(w->l, node, &want, &err) < 0) {
        log_seldom(LOG_ERROR, "external node %s: %s", w->name, err.text);
        end_work(w, true); /* it stays as it is until Kubernetes' node changes */
        return;
    }
    note_drain(w->l, w->name, have);
    act = nodeshape_decide(wanted ? &want : NULL, have, w->l->mark);
    if (act == NODESHAPE_WAIT)
        (void)kubequeue_add_after(w->l->queue, w->name, LOOK_AGAIN_US);
    if (act == NODESHAPE_WAIT || act == NODESHAPE_NOTHING)
        end_work(w, true);
    else if (send_action(w, act, &want) < 0)
        end_work(w, false);
    nodeshape_done(&want);
}

static void do_work(void *ctx, const char *key)
{
    struct bridgenodes *l = ctx;
    struct work *w = malloc(sizeof(*w) + strlen(key) + 1);
    bool is_name = nodeshape_is_word(key, strlen(key));
    char path[320];

    if (!w || !is_name || kubemap_put(&l->works, key, w) < 0) {
        kubequeue_done(l->queue, key, !is_name); /* what is no name is never in Slurm */
        free(w);
        return;
    }
    w->l = l;
    memcpy(w->name, key, strlen(key) + 1);
    (void)snprintf(path, sizeof(path), API "node/%s", key);
    if (ask_slurm(l, "GET", path, NULL, take_node, w) < 0)
        end_work(w, false);
}

void bridgenodes_see(struct bridgenodes *l, const json_t *before, const json_t *now)
{
    const char *old = before ? nodeshape_name(before) : "", *name = now ? nodeshape_name(now) : "";

    if (!can_look(l) || !nodeshape_changes(before, now))
        return;
    if (before && kubejson_label(before, BRIDGE_LABEL_EXTERNAL))
        (void)kubequeue_add(l->queue, old);
    if (now && kubejson_label(now, BRIDGE_LABEL_EXTERNAL) &&
        !(before && strcmp(old, name) == 0 && kubejson_label(before, BRIDGE_LABEL_EXTERNAL)))
        (void)kubequeue_add(l->queue, name);
}

void bridgenodes_look(struct bridgenodes *l, const json_t *node)
{
    if (can_look(l) && nodeshape_is_wanted(node))
        (void)kubequeue_add(l->queue, nodeshape_name(node));
}

/* ---- all nodes ------------------------------------------------------------------------------- */

static void compare_node(struct bridgenodes *l, const char *name, const json_t *have)
{
    const json_t *node = find_node(l, name);
    struct nodeshape want = NODESHAPE_INIT;
    struct err err = { .text = "" };
    bool wanted = nodeshape_is_wanted(node);

    if ((!wanted || read_shape(l, node, &want, &err) == 0) &&
        nodeshape_decide(wanted ? &want : NULL, have, l->mark) != NODESHAPE_NOTHING)
        (void)kubequeue_add(l->queue, name);
    nodeshape_done(&want);
}

static void add_missing(void *ctx, const json_t *node)
{
    struct bridgenodes *l = ctx;

    if (nodeshape_is_wanted(node) && !json_object_get(l->seen, nodeshape_name(node)))
        compare_node(l, nodeshape_name(node), NULL);
}

static void take_taint(void *ctx, const struct kubereply *reply)
{
    (void)ctx; /* another look follows, whatever was answered */
    if (reply->status != 200 && reply->status != 404 && reply->status != 409)
        log_seldom(LOG_ERROR, "the taint of a node: API server: %d %.300s", reply->status,
                   reply->text);
}

/* Slurm's list is whole: what is not in it is not Slurm's. */
static void see_taint(void *ctx, const json_t *node)
{
    struct bridgenodes *l = ctx;
    const struct kubeapi_target t = { &kubekind_nodes, "", kubejson_name(node), NULL };
    bool managed = json_object_get(l->seen, nodeshape_name(node)) != NULL;
    _cleanup_json_ json_t *patch = NULL;

    if (!podread_taint_differs(node, l->f.scheduler, managed))
        return;
    patch = podread_taint_change(node, l->f.scheduler, managed);
    if (patch &&
        kubeapi_patch(l->f.kube, &t, KUBEAPI_MERGE, patch, NULL, false, take_taint, NULL) == 0)
        log_info("node %s %s the taint of %s", kubejson_name(node), managed ? "gets" : "loses",
                 l->f.scheduler);
}

static void end_list(struct bridgenodes *l, int64_t again_us)
{
    json_decref(l->seen);
    l->seen = NULL;
    free(l->page);
    l->page = NULL;
    kubeloop_arm(l->loop, &l->again, now_mono_us() + again_us);
}

static void ask_page(struct bridgenodes *l);

static void take_page(void *ctx, const struct kubereply *reply)
{
    struct bridgenodes *l = ctx;
    const json_t *list = json_object_get(reply->body, "nodes"), *one;
    const char *more = kubejson_text(reply->body, "next_cursor");

    if (!is_answered(reply) || !json_is_array(list) || !can_look(l)) {
        log_seldom(LOG_ERROR, "slurmrestd: the list of nodes failed: %d %s", reply->status,
                   reply->text);
        end_list(l, USEC_PER_SEC);
        return;
    }
    for (size_t i = 0; (one = json_array_get(list, i)); i++) {
        if (json_object_set_new(l->seen, kubejson_text(one, "name"), json_true()) == 0)
            compare_node(l, kubejson_text(one, "name"), one);
        note_drain(l, kubejson_text(one, "name"), one);
    }
    free(l->page);
    l->page = *more ? strdup(more) : NULL;
    if (l->page) {
        ask_page(l);
        return;
    }
    if (!*more) { /* else there was no memory, and what was not seen may be there */
        kubeinformer_walk(*l->f.nodes, add_missing, l);
        json_decref(l->known);
        l->known = json_incref(l->seen);
        if (bridgedrain_keep(l->drains, l->seen))
            l->f.drained(l->f.ctx);
        if (l->f.scheduler)
            kubeinformer_walk(*l->f.nodes, see_taint, l);
    }
    end_list(l, BRIDGENODES_AGAIN_US);
}

static void ask_page(struct bridgenodes *l)
{
    _cleanup_val_(strbuf_done) struct strbuf path = STRBUF_INIT;

    strbuf_add(&path, API "nodes/?fields=name,state,reason,features,cpus,threads,real_memory,"
                          "gres,topology,partitions&limit=1000");
    if (l->page)
        strbuf_addf(&path, "&cursor=%s", l->page);
    if (path.failed || ask_slurm(l, "GET", strbuf_str(&path), NULL, take_page, l) < 0)
        end_list(l, USEC_PER_SEC);
}

static void look_at_all(void *ctx)
{
    struct bridgenodes *l = ctx;

    if (l->seen || !can_look(l))
        return;
    l->seen = json_object();
    if (l->seen)
        ask_page(l);
    else
        end_list(l, USEC_PER_SEC);
}

void bridgenodes_begin(struct bridgenodes *l)
{
    if (!l->seen)
        kubeloop_arm(l->loop, &l->again, now_mono_us());
}

/* ---- begin and end --------------------------------------------------------------------------- */

int bridgenodes_new(struct kubeserver *slurm, const struct bridgenodes_facts *f,
                    struct bridgenodes **ret)
{
    const struct kubequeue_options q = { .at_once = AT_ONCE };
    struct bridgenodes *l = calloc(1, sizeof(*l));
    int r = l ? kubequeue_new(kubeserver_loop(slurm), &q, do_work, l, &l->queue) : -ENOMEM;

    if (r < 0) {
        free(l);
        return r;
    }
    l->slurm = slurm;
    nodeshape_write_mark(f->name, l->mark);
    l->loop = kubeserver_loop(slurm);
    l->f = *f;
    l->again = (struct kubetimer){ .fn = look_at_all, .ctx = l };
    l->gather = (struct kubetimer){ .fn = look_at_heard, .ctx = l };
    l->drains = json_object();
    l->heard = json_object();
    *ret = l;
    return 0;
}

struct bridgenodes *bridgenodes_free(struct bridgenodes *l)
{
    if (!l)
        return NULL;
    kubeloop_disarm(l->loop, &l->again);
    kubeloop_disarm(l->loop, &l->gather);
    json_decref(l->known);
    json_decref(l->drains);
    json_decref(l->heard);
    l->queue = kubequeue_free(l->queue);
    kubemap_done(&l->works, free);
    json_decref(l->seen);
    free(l->page);
    free(l);
    return NULL;
}
