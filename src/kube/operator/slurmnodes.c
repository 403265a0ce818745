/* slurmnodes.c - see slurmnodes.h */
#include "kube/operator/slurmnodes.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/hostlist.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "base/timefmt.h"
#include "kube/api/kubejson.h"
#include "kube/api/kubemap.h"
#include "kube/make/opkeys.h"
#include "kube/nodeset/slurmstate.h"

#define API "/slurm/v0.0.45/"
#define PAUSE_US INT64_C(200000)
#define MOST_PAUSE_US (INT64_C(2) * USEC_PER_SEC)
#define GATHER_US INT64_C(20000) /* changes come together */
#define SILENCE_MS 60000         /* the stream says something every 15 seconds */
#define ASK_MS 10000
#define ALONE_MOST 32u /* more changed nodes than this are listed */
#define NO_SUCH_NODE 2018
#define NODE_NAMES_MOST 65536u
#define SILENT "slurmrestd does not answer"
#define AWAY "slurmrestd answers, slurmctld does not"

struct question {
    struct question *next, **link;
    struct slurmnodes *l;
    slurmnodes_drained_fn *done;
    void *ctx;
    char name[];
};

/* A record that is to be deleted. */
struct pruning {
    struct pruning *next, **link;
    struct slurmnodes *l;
    kubecall_fn *done;
    void *ctx;
    char *comment;
    char name[];
};

struct slurmnodes {
    struct question *questions; /* their requests are under way */
    struct pruning *prunings;
    struct kubeserver *s;
    char cluster[64];
    struct kubeloop *loop;
    slurmnodes_changed_fn *changed;
    void *ctx;
    struct kubemap nodes;  /* name -> json_t: what slurmctld has */
    struct kubemap missed; /* name -> int64_t: asked for, and not there since */
    json_t *jobs;          /* "17": [nodes, end]: those that run */
    json_t *pending;       /* those that wait for nodes; NULL: nobody wants to know */
    json_t *deadlines;     /* name: end; NULL: to be made of jobs */
    json_t *dirty;         /* names to be asked for */
    json_t *listed;        /* of the list under way */
    char *page;
    bool streams, listing, jobs_next, list_wanted, is_known;
    int64_t known_us; /* since when is_known */
    unsigned failures;
    const char *why; /* nothing is known */
    struct kubetimer stream, work;
};

static void begin_stream(void *ctx);
static void do_work(void *ctx);

int slurmnodes_new(struct kubeserver *s, const char *cluster, slurmnodes_changed_fn *changed,
                   void *ctx, struct slurmnodes **ret)
{
    struct slurmnodes *l = calloc(1, sizeof(*l));

    if (!l)
        return -ENOMEM;
    (void)snprintf(l->cluster, sizeof(l->cluster), "%s", cluster);
    l->s = s;
    l->loop = kubeserver_loop(s);
    l->changed = changed;
    l->ctx = ctx;
    l->why = SILENT;
    l->jobs = json_object();
    l->dirty = json_object();
    l->stream = (struct kubetimer){ .fn = begin_stream, .ctx = l };
    l->work = (struct kubetimer){ .fn = do_work, .ctx = l };
    kubeloop_arm(l->loop, &l->stream, now_mono_us());
    *ret = l;
    return 0;
}

static void unref_node(void *node)
{
    json_decref(node);
}

struct slurmnodes *slurmnodes_free(struct slurmnodes *l)
{
    if (!l)
        return NULL;
    kubeloop_disarm(l->loop, &l->stream);
    kubeloop_disarm(l->loop, &l->work);
    while (l->questions) {
        struct question *q = l->questions;

        l->questions = q->next;
        free(q);
    }
    while (l->prunings) {
        struct pruning *q = l->prunings;

        l->prunings = q->next;
        free(q->comment);
        free(q);
    }
    kubemap_done(&l->nodes, unref_node);
    kubemap_done(&l->missed, free);
    json_decref(l->jobs);
    json_decref(l->pending);
    json_decref(l->deadlines);
    json_decref(l->dirty);
    json_decref(l->listed);
    free(l->page);
    free(l);
    return NULL;
}

bool slurmnodes_is_known(const struct slurmnodes *l)
{
    return l && l->is_known;
}

const char *slurmnodes_why_unknown(const struct slurmnodes *l)
{
    return l ? l->why : "the Controller has no RestApi, or no key for its tokens";
}

const json_t *slurmnodes_get(const struct slurmnodes *l, const char *name)
{
    return slurmnodes_is_known(l) ? kubemap_get(&l->nodes, name) : NULL;
}

struct node_walk {
    void (*fn)(void *ctx, const json_t *node);
    void *ctx;
};

static void tell_node(void *ctx, const char *name, void *node)
{
    const struct node_walk *w = ctx;

    (void)name;
    w->fn(w->ctx, node);
}

void slurmnodes_walk(const struct slurmnodes *l, void (*fn)(void *ctx, const json_t *node),
                     void *ctx)
{
    struct node_walk w = { fn, ctx };

    if (slurmnodes_is_known(l))
        kubemap_walk(&l->nodes, tell_node, &w);
}

int64_t slurmnodes_missed_us(const struct slurmnodes *l, const char *name)
{
    const int64_t *since = slurmnodes_is_known(l) ? kubemap_get(&l->missed, name) : NULL;

    if (!slurmnodes_is_known(l) || kubemap_get(&l->nodes, name))
        return 0;
    return since ? *since : l->known_us;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static void store_node(struct slurmnodes *l, json_t *node)
{
    const char *name = kubejson_text(node, "name");
    json_t *old = kubemap_get(&l->nodes, name);

    if (!*name || !json_is_array(json_object_get(node, "state")) || (old && json_equal(old, node)))
        return;
    if (kubemap_put(&l->nodes, name, node) < 0) {
        l->list_wanted = true;
        return;
    }
    json_incref(node);
    json_decref(old);
    free(kubemap_take(&l->missed, name));
    l->changed(l->ctx, name);
}

static void lose_node(struct slurmnodes *l, const char *name)
{
    json_t *old = kubemap_take(&l->nodes, name);
    int64_t *since = malloc(sizeof(*since));

    json_decref(old);
    if (since) {
        *since = now_mono_us();
        free(kubemap_take(&l->missed, name));
        if (l->missed.n >= NODE_NAMES_MOST || kubemap_put(&l->missed, name, since) < 0)
            free(since);
    }
    l->changed(l->ctx, name);
}

static void note_missing(void *ctx, const char *name, void *value)
{
    json_t *const *both = ctx;

    (void)value;
    if (!json_object_get(both[0], name))
        (void)json_array_append_new(both[1], json_string(name)); /* else found by the next list */
}

static void take_nodes(struct slurmnodes *l)
{
    _cleanup_json_ json_t *listed = TAKE_PTR(l->listed), *gone = json_array();
    json_t *both[2] = { listed, gone }, *one;
    const char *name;
    size_t i;

    kubemap_walk(&l->nodes, note_missing, both);
    json_array_foreach(gone, i, one) lose_node(l, json_string_value(one));
    json_object_foreach(listed, name, one) store_node(l, one);
}

/* ---- jobs ------------------------------------------------------------------------------------ */

/* Does a job wait for nodes alone?  What else it waits for, more nodes do not bring. */
static bool wants_nodes(const json_t *job)
{
    static const char *const reasons[] = { "None", "Resources", "Priority", "PartitionConfig",
                                           "BadConstraints" };
    const char *why = kubejson_text(job, "state_reason");

    if (!slurmstate_has_word(json_object_get(job, "job_state"), "PENDING"))
        return false;
    for (size_t i = 0; i < ARRAY_SIZE(reasons); i++)
        if (strcmp(why, reasons[i]) == 0)
            return true;
    return kubejson_after(why, "ReqNodeNotAvail") || kubejson_after(why, "Nodes required");
}

static void take_pending(struct slurmnodes *l, const char *id, const json_t *job)
{
    if (!l->pending)
        return;
    if (!wants_nodes(job)) {
        (void)json_object_del(l->pending, id); /* it may not be there */
        return;
    }
    (void)json_object_set_new(/* without memory it is not planned for */
                              l->pending, id,
                              json_pack("{s:s, s:I, s:I, s:b, s:s, s:s}", "partition",
                                        kubejson_text(job, "partition"), "nodes",
                                        (json_int_t)kubejson_int(job, "node_count.number", 1),
                                        "cpus", (json_int_t)kubejson_int(job, "cpus.number", 1),
                                        "exclusive",
                                        slurmstate_has_word(json_object_get(job, "shared"), "none"),
                                        "tasks", kubejson_text(job, "array_task_string"),
                                        "features", kubejson_text(job, "features")));
}

void slurmnodes_want_pending(struct slurmnodes *l)
{
    if (l->pending)
        return;
    l->pending = json_object();
    l->list_wanted = true;
    kubeloop_arm(l->loop, &l->work, now_mono_us());
}

const json_t *slurmnodes_pending(const struct slurmnodes *l)
{
    return slurmnodes_is_known(l) ? l->pending : NULL;
}

static void take_job(struct slurmnodes *l, const json_t *job)
{
    const char *nodes = kubejson_text(job, "nodes");
    const json_t *states = json_object_get(job, "job_state");
    int64_t end =
        kubejson_int(job, "start_time.number", 0) + kubejson_int(job, "time_limit.number", 0) * 60;
    char id[32];

    (void)snprintf(id, sizeof(id), "%" JSON_INTEGER_FORMAT,
                   (json_int_t)kubejson_int(job, "job_id", 0));
    if (kubejson_true(job, "time_limit.infinite"))
        end = INT64_MAX;
    if (slurmstate_has_word(states, "RUNNING") && *nodes)
        (void)json_object_set_new(l->jobs, id, json_pack("[s, I]", nodes, (json_int_t)end));
    else
        (void)json_object_del(l->jobs, id); /* it may not be there */
    take_pending(l, id, job);
    json_decref(l->deadlines);
    l->deadlines = NULL;
}

static void add_deadline(json_t *deadlines, const char *nodes, json_int_t end)
{
    struct hostlist *hl = NULL;
    struct err err = { .text = "" };

    if (hostlist_parse_most(nodes, NODE_NAMES_MOST, &hl, &err) < 0)
        return;
    for (size_t i = 0; i < hostlist_count(hl); i++) {
        const char *name = hostlist_nth(hl, i);
        const json_t *old = json_object_get(deadlines, name);

        if (!old || json_integer_value(old) < end)
            (void)json_object_set_new(deadlines, name, json_integer(end)); /* or none is known */
    }
    (void)hostlist_free(hl);
}

int64_t slurmnodes_deadline(struct slurmnodes *l, const char *name)
{
    const char *id;
    json_t *job;

    if (!l->deadlines) {
        l->deadlines = json_object();
        json_object_foreach(l->jobs, id, job)
            add_deadline(l->deadlines, json_string_value(json_array_get(job, 0)),
                         json_integer_value(json_array_get(job, 1)));
    }
    return json_integer_value(json_object_get(l->deadlines, name));
}

/* ---- asking ---------------------------------------------------------------------------------- */

static int ask_rest(struct slurmnodes *l, const char *method, const char *path, const json_t *body,
                    kubecall_fn *done, void *ctx)
{
    return kubecall_start(l->s,
                          &(struct kubecall_spec){ .method = method,
                                                   .path = path,
                                                   .body = body,
                                                   .lane = 1,
                                                   .timeout_ms = ASK_MS,
                                                   .done = done,
                                                   .ctx = ctx },
                          NULL);
}

static bool is_path_word(const char *name)
{
    return *name && strlen(name) < 256 &&
           !name[strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-")];
}

static int ask_node(struct slurmnodes *l, const char *method, const char *name, const json_t *body,
                    kubecall_fn *done, void *ctx)
{
    char path[320];

    if (!is_path_word(name))
        return -EINVAL;
    (void)snprintf(path, sizeof(path), API "node/%s", name);
    return ask_rest(l, method, path, body, done, ctx);
}

int slurmnodes_change(struct slurmnodes *l, const char *name, const json_t *body, kubecall_fn *done,
                      void *ctx)
{
    return ask_node(l, "POST", name, body, done, ctx);
}

bool slurmnodes_says_gone(const struct kubereply *reply)
{
    const json_t *errors = json_object_get(reply->body, "errors");

    return reply->status == 422 && json_array_size(errors) == 1 &&
           kubereply_slurm_error(reply) == NO_SUCH_NODE;
}

static void answer_question(struct question *q, enum slurmnodes_drained answer)
{
    *q->link = q->next;
    if (q->next)
        q->next->link = q->link;
    q->done(q->ctx, answer);
    free(q);
}

/* Does the answer come from our cluster?  Another one has none of our nodes. */
static bool is_from_us(const struct slurmnodes *l, const struct kubereply *reply)
{
    return strcasecmp(kubejson_text(reply->body, "meta.slurm.cluster"), l->cluster) == 0;
}

static void take_refusal(void *ctx, const struct kubereply *reply)
{
    struct question *q = ctx;

    answer_question(q, is_from_us(q->l, reply) && slurmnodes_says_gone(reply) ? SLURMNODES_GONE
                                                                              : SLURMNODES_UNKNOWN);
}

/* Only the node's own record is a yes or a no.  An answer without the record says nothing: to drain
 * the node is asked for then, which slurmctld refuses with a number when there is no such node. */
static void take_state(void *ctx, const struct kubereply *reply)
{
    struct question *q = ctx;
    const json_t *nodes = json_object_get(reply->body, "nodes");
    const json_t *node = json_array_get(nodes, 0);
    _cleanup_json_ json_t *drain = NULL;

    if (!is_from_us(q->l, reply)) {
        answer_question(q, SLURMNODES_UNKNOWN);
        return;
    }
    if (reply->status == 200 && strcmp(kubejson_text(node, "name"), q->name) == 0 &&
        json_array_size(json_object_get(node, "state")) > 0) {
        answer_question(q, slurmstate_is_drained(json_object_get(node, "state")) ? SLURMNODES_YES
                                                                                 : SLURMNODES_NO);
        return;
    }
    drain = json_pack("{s:[s], s:s}", "state", "DRAIN", "reason", OPKEY_REASON "Pod ends");
    if (reply->status != 200 || !drain ||
        ask_node(q->l, "POST", q->name, drain, take_refusal, q) < 0)
        answer_question(q, SLURMNODES_UNKNOWN);
}

int slurmnodes_ask_drained(struct slurmnodes *l, const char *name, slurmnodes_drained_fn *done,
                           void *ctx)
{
    size_t size = strlen(name) + 1;
    struct question *q = malloc(sizeof(*q) + size);
    int r;

    if (!q)
        return -ENOMEM;
    *q = (struct question){ l->questions, &l->questions, l, done, ctx };
    memcpy(q->name, name, size);
    r = ask_node(l, "GET", name, NULL, take_state, q);
    if (r < 0) {
        free(q);
        return r;
    }
    if (q->next)
        q->next->link = &q->next;
    l->questions = q;
    return 0;
}

/* ---- records that are left ------------------------------------------------------------------- */

static void end_pruning(struct pruning *q, const struct kubereply *reply)
{
    *q->link = q->next;
    if (q->next)
        q->next->link = q->link;
    q->done(q->ctx, reply);
    free(q->comment);
    free(q);
}

static void take_pruned(void *ctx, const struct kubereply *reply)
{
    end_pruning(ctx, reply);
}

/* Is it what it was?  Whoever registers meanwhile is not silent any more. */
static void take_defunct(void *ctx, const struct kubereply *reply)
{
    struct pruning *q = ctx;
    const json_t *node = json_array_get(json_object_get(reply->body, "nodes"), 0);

    if (reply->status != 200 || !is_from_us(q->l, reply) ||
        strcmp(kubejson_text(node, "name"), q->name) != 0 ||
        strcmp(kubejson_text(node, "comment"), q->comment) != 0 || !slurmstate_is_dead(node) ||
        ask_node(q->l, "DELETE", q->name, NULL, take_pruned, q) < 0)
        end_pruning(q, reply);
}

int slurmnodes_prune(struct slurmnodes *l, const char *name, const char *comment, kubecall_fn *done,
                     void *ctx)
{
    size_t size = strlen(name) + 1;
    struct pruning *q = malloc(sizeof(*q) + size);
    int r;

    if (!q)
        return -ENOMEM;
    *q = (struct pruning){ l->prunings, &l->prunings, l, done, ctx, strdup(comment) };
    memcpy(q->name, name, size);
    r = q->comment ? ask_node(l, "GET", name, NULL, take_defunct, q) : -ENOMEM;
    if (r < 0) {
        free(q->comment);
        free(q);
        return r;
    }
    if (q->next)
        q->next->link = &q->next;
    l->prunings = q;
    return 0;
}

/* ---- lists and single nodes ------------------------------------------------------------------ */

static void arm_work(struct slurmnodes *l, int64_t after_us)
{
    kubeloop_arm(l->loop, &l->work, now_mono_us() + after_us);
}

int slurmnodes_reservation(struct slurmnodes *l, const char *method, const char *name,
                           const json_t *body, kubecall_fn *done, void *ctx)
{
    _cleanup_val_(strbuf_done) struct strbuf path = STRBUF_INIT;

    strbuf_add(&path, API "reservation");
    if (!body)
        strbuf_addf(&path, "/%s", name);
    return path.failed ? -ENOMEM : ask_rest(l, method, strbuf_str(&path), body, done, ctx);
}

void slurmnodes_refresh(struct slurmnodes *l)
{
    l->list_wanted = true;
    arm_work(l, 0);
}

/* The part of a node's record that is kept. */
static json_t *cut_node(const json_t *node)
{
    static const char *const fields[] = {
        "name", "state",     "reason",          "comment",     "topology",         "features",
        "cpus", "last_busy", "active_features", "reservation", "reason_changed_at"
    };
    json_t *cut = json_object();

    for (size_t i = 0; cut && i < ARRAY_SIZE(fields); i++) {
        json_t *value = json_object_get(node, fields[i]);

        if (value)
            (void)json_object_set(cut, fields[i], value);
    }
    return cut;
}

static void end_list(struct slurmnodes *l)
{
    l->list_wanted = false;
    if (!l->is_known && l->streams) {
        l->is_known = true;
        l->known_us = now_mono_us();
        l->changed(l->ctx, NULL);
    }
}

/* Nothing is known for another reason than before: that is told. */
static void say_why(struct slurmnodes *l, const char *why)
{
    if (strcmp(l->why, why) == 0)
        return;
    l->why = why;
    if (!l->is_known)
        l->changed(l->ctx, NULL);
}

static void take_page(void *ctx, const struct kubereply *reply)
{
    struct slurmnodes *l = ctx;
    const json_t *list = json_object_get(reply->body, l->jobs_next ? "jobs" : "nodes");
    const char *more = kubejson_text(reply->body, "next_cursor");
    char *next = *more ? strdup(more) : NULL; /* without it the list would seem whole */
    size_t i;
    json_t *one;

    l->listing = false;
    if (reply->status != 200 || !json_is_array(list) || (*more && !next) ||
        (next && l->page && strcmp(next, l->page) == 0) ||
        json_array_size(json_object_get(reply->body, "errors")) > 0 || !l->streams ||
        json_object_size(l->listed) > NODE_NAMES_MOST || !is_from_us(l, reply)) {
        free(next);
        log_seldom(LOG_ERROR, "slurmrestd of cluster %s: a list failed: %d %s %s", l->cluster,
                   reply->status, reply->text,
                   reply->status == 200 && !is_from_us(l, reply) ? "it is another cluster's" : "");
        if (reply->status == 200 && !is_from_us(l, reply))
            say_why(l, "slurmrestd serves another cluster");
        json_decref(l->listed);
        l->listed = NULL;
        free(l->page);
        l->page = NULL;
        arm_work(l, USEC_PER_SEC);
        return;
    }
    json_array_foreach(list, i, one)
    {
        if (l->jobs_next)
            take_job(l, one);
        else
            (void)json_object_set_new(l->listed, kubejson_text(one, "name"), cut_node(one));
    }
    free(l->page);
    l->page = next;
    if (!l->page && !l->jobs_next)
        take_nodes(l);
    if (!l->page && l->jobs_next)
        end_list(l);
    if (!l->page)
        l->jobs_next = !l->jobs_next;
    arm_work(l, 0);
}

static void ask_page(struct slurmnodes *l)
{
    _cleanup_val_(strbuf_done) struct strbuf path = STRBUF_INIT;

    if (!l->jobs_next && !l->listed)
        l->listed = json_object();
    if (l->jobs_next && !l->page) {
        (void)json_object_clear(l->jobs);
        (void)json_object_clear(l->pending); /* NULL: there is none */
    }
    strbuf_add(&path, l->jobs_next ? API "jobs/?fields=job_id,job_state,nodes,start_time,time_limit"
                                   : API
                          "nodes/?fields=name,state,reason,comment,topology,features,"
                          "active_features,cpus,last_busy,reservation,reason_changed_at");
    if (l->jobs_next && l->pending)
        strbuf_add(&path, ",partition,node_count,cpus,shared,array_task_string,features,"
                          "state_reason");
    strbuf_add(&path, "&limit=1000");
    if (l->page) {
        strbuf_add(&path, "&cursor=");
        kubecall_escape(&path, l->page);
    }
    l->listing = ask_rest(l, "GET", strbuf_str(&path), NULL, take_page, l) == 0;
    if (!l->listing)
        arm_work(l, USEC_PER_SEC);
}

static void take_node(void *ctx, const struct kubereply *reply)
{
    struct slurmnodes *l = ctx;
    const json_t *nodes = json_object_get(reply->body, "nodes");
    _cleanup_json_ json_t *cut = NULL;

    if (reply->status == 200 && json_array_size(nodes) == 1) {
        cut = cut_node(json_array_get(nodes, 0));
        store_node(l, cut);
        return;
    }
    l->list_wanted = true; /* gone, or not answered: only a whole list says which */
    arm_work(l, reply->status == 200 ? 0 : USEC_PER_SEC);
}

static void do_work(void *ctx)
{
    struct slurmnodes *l = ctx;
    _cleanup_json_ json_t *dirty = NULL;
    const char *name;
    json_t *value;

    if (l->listing || !l->streams)
        return;
    if (json_object_size(l->dirty) > ALONE_MOST)
        l->list_wanted = true;
    if (l->list_wanted || l->page || l->jobs_next) {
        (void)json_object_clear(l->dirty);
        ask_page(l);
        return;
    }
    dirty = json_copy(l->dirty);
    (void)json_object_clear(l->dirty);
    json_object_foreach(dirty, name, value) if (ask_node(l, "GET", name, NULL, take_node, l) < 0)
        l->list_wanted = true;
}

/* ---- the stream ------------------------------------------------------------------------------ */

static void mark_nodes(struct slurmnodes *l, const char *nodes)
{
    struct hostlist *hl = NULL;
    struct err err = { .text = "" };

    if (!*nodes || hostlist_parse_most(nodes, NODE_NAMES_MOST, &hl, &err) < 0)
        return;
    for (size_t i = 0; i < hostlist_count(hl) && i <= ALONE_MOST; i++)
        (void)json_object_set_new(l->dirty, hostlist_nth(hl, i), json_true());
    (void)hostlist_free(hl);
}

/* A job that ends still holds its nodes in the record that is kept: they are looked at, too. */
static void take_job_event(struct slurmnodes *l, const json_t *event)
{
    const json_t *job = json_object_get(event, "job");
    char id[32];

    (void)snprintf(id, sizeof(id), "%" JSON_INTEGER_FORMAT,
                   (json_int_t)kubejson_int(event, "id", 0));
    mark_nodes(l, kubejson_text(job, "nodes"));
    mark_nodes(l, json_string_value(json_array_get(json_object_get(l->jobs, id), 0))
                      ? json_string_value(json_array_get(json_object_get(l->jobs, id), 0))
                      : "");
    if (json_is_object(job))
        take_job(l, job);
    else {
        (void)json_object_del(l->jobs, id);
        (void)json_object_del(l->pending, id);
    }
}

/* From now on nothing is known, until the stream tells of slurmctld again. */
static void lose_sight(struct slurmnodes *l)
{
    bool was = l->is_known;

    l->streams = l->is_known = l->jobs_next = false;
    json_decref(l->listed);
    l->listed = NULL;
    free(l->page);
    l->page = NULL;
    kubemap_done(&l->missed, free);
    if (was)
        l->changed(l->ctx, NULL);
}

static int take_line(void *ctx, const char *line, size_t len)
{
    struct slurmnodes *l = ctx;
    _cleanup_json_ json_t *event = NULL;
    struct err err = { .text = "" };
    const char *name, *entity;
    int r = kubejson_parse(line, len, &event, &err);

    if (r < 0)
        return r; /* the stream begins anew */
    name = kubejson_text(event, "event");
    entity = kubejson_text(event, "entity");
    if (strcmp(name, "bye") == 0) {
        say_why(l, strstr(kubejson_text(event, "reason"), "slurmctld") ? AWAY : SILENT);
        return -ECONNRESET;
    }
    if (strcmp(name, "away") == 0) {
        say_why(l, AWAY);
        lose_sight(l);
    }
    if (strcmp(name, "reset") == 0 || strcmp(name, "hello") == 0 || strcmp(name, "back") == 0) {
        l->streams = l->list_wanted = true;
        l->failures = 0;
    }
    if (strcmp(entity, "WATCH_NODE") == 0)
        (void)json_object_set_new(l->dirty, kubejson_text(event, "name"), json_true());
    else if (strcmp(entity, "WATCH_JOB") == 0)
        take_job_event(l, event);
    if (*entity || l->list_wanted)
        arm_work(l, GATHER_US);
    return 0;
}

static void end_stream(void *ctx, const struct kubereply *reply)
{
    struct slurmnodes *l = ctx;
    int64_t pause = MIN(PAUSE_US << MIN(l->failures, 8u), MOST_PAUSE_US);

    if (l->failures++ == 2)
        log_seldom(LOG_ERROR, "slurmrestd: no changes are told: %d %s", reply->status, reply->text);
    if (reply->status != 200)
        say_why(l, kubereply_slurm_error(reply) == SLURM_UNREACHABLE ? AWAY
                   : reply->status == 401 ? "slurmrestd does not believe the operator's token"
                                          : SILENT);
    lose_sight(l);
    kubeloop_arm(l->loop, &l->stream, now_mono_us() + pause);
}

static void begin_stream(void *ctx)
{
    struct slurmnodes *l = ctx;

    if (kubecall_start(
            l->s,
            &(struct kubecall_spec){ .method = "GET",
                                     .path = "/penstock/v1/watch?types=node,job&objects=true",
                                     .header = "Accept: application/jsonl",
                                     .lane = 1,
                                     .timeout_ms = SILENCE_MS,
                                     .line = take_line,
                                     .done = end_stream,
                                     .ctx = l },
            NULL) < 0)
        kubeloop_arm(l->loop, &l->stream, now_mono_us() + USEC_PER_SEC);
}
