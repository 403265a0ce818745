/* simchange.c - changes of a copied cluster, each as the transactions that the real one would see;
 * see simchange.h */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hostlist.h"
#include "base/pb/pbutil.h"
#include "base/strbuf.h"
#include "base/timefmt.h"
#include "model/cluster.h"
#include "model/job.h"
#include "model/tx.h"
#include "penstock/simchange.h"

#define MAX_ADDED 20000u

void simchange_done(struct simchange *ch)
{
    for (size_t i = 0; i < ch->n; i++)
        (void)tx_free(ch->list[i]);
    free(ch->list);
    free(ch->texts);
    *ch = (struct simchange){ 0 };
}

/* ---- nodes ----------------------------------------------------------------------------------- */

typedef void node_fn(struct changing *x, const struct node *n);

static int each_node(struct changing *x, const char *option, const char *text, node_fn *fn)
{
    _cleanup_(hostlist_free) struct hostlist *hl = NULL;
    struct err err = { .text = "" };

    if (strcasecmp(text, "ALL") == 0) {
        for (uint32_t i = 0; i < x->c->nnodes; i++)
            if (x->c->nodes[i])
                fn(x, x->c->nodes[i]);
        return STATUS_OK;
    }
    if (hostlist_parse(text, &hl, &err) < 0)
        return usage_error("sim: --%s: %s: %s", option, text, err.text);
    for (size_t i = 0; i < hostlist_count(hl); i++) {
        const struct node *n = cluster_node_named(x->c, hostlist_nth(hl, i));

        if (!n)
            return usage_error("sim: --%s: no node %s", option, hostlist_nth(hl, i));
        fn(x, n);
    }
    return STATUS_OK;
}

static void drain_nodes(struct changing *x, const struct node *n)
{
    Pst__NodeRecord *set = tx_node_patch(x->tx, PST__EVENT_KIND__EV_NODE_UPDATE, n->rec->node_id);

    SET(set, state_flags, n->rec->state_flags | 1u << PST__NODE_FLAG__NODE_FLAG_DRAIN);
}

static void resume_nodes(struct changing *x, const struct node *n)
{
    Pst__NodeRecord *set = tx_node_patch(x->tx, PST__EVENT_KIND__EV_NODE_UPDATE, n->rec->node_id);

    SET(set, state, PST__NODE_STATE__NODE_IDLE);
    SET(set, state_flags, 0);
}

static void down_nodes(struct changing *x, const struct node *n)
{
    SET(tx_node_patch(x->tx, PST__EVENT_KIND__EV_NODE_STATE, n->rec->node_id), state,
        PST__NODE_STATE__NODE_DOWN);
}

/* Jobs lose their nodes: they wait again when they may, else they are gone. */
static void take_jobs(struct changing *x, const struct hostlist *hl, bool all)
{
    for (const struct job *j = x->c->active; j; j = j->next_active) {
        ProtobufCMessage *copy;
        Pst__JobRecord *r;
        bool hit = all;

        for (size_t i = 0; !hit && hl && i < hostlist_count(hl); i++) {
            const struct node *n = cluster_node_named(x->c, hostlist_nth(hl, i));

            hit = n && alloc_position(j->rec->alloc, n->rec->node_id) >= 0;
        }
        if (!hit)
            continue;
        tx_job_purge(x->tx, j->rec->job_id);
        if (job_is_ended(j->rec) || !(j->rec->has_requeue && j->rec->requeue) ||
            pb_dup(&j->rec->base, &copy) < 0)
            continue;
        r = (Pst__JobRecord *)copy;
        pst__alloc__free_unpacked(r->alloc, NULL);
        r->alloc = NULL;
        SET(r, state, JOB_STATE(PENDING));
        r->has_start_us = r->has_end_us = r->has_released = r->has_state_flags = false;
        tx_job_put_take(x->tx, PST__EVENT_KIND__EV_JOB_REQUEUE, r);
    }
}

static int change_down(struct changing *x, const char *text)
{
    _cleanup_(hostlist_free) struct hostlist *hl = NULL;
    bool all = strcasecmp(text, "ALL") == 0;
    int r = each_node(x, "down", text, down_nodes);

    if (r != STATUS_OK)
        return r;
    if (!all && hostlist_parse(text, &hl, NULL) < 0)
        return say_nomem();
    take_jobs(x, hl, all);
    return STATUS_OK;
}

/* The partition's list of nodes as the last change before this one left it. */
static const char *latest_nodes(const struct changing *x, const struct partition *p)
{
    const char *nodes = p->rec->nodes;

    for (size_t i = 0; i < x->n; i++)
        for (size_t e = 0; e < x->list[i]->n_events; e++) {
            const Pst__Event *ev = x->list[i]->events[e];

            if (ev->body_case == PST__EVENT__BODY_PART_PATCH && ev->part_patch->set &&
                ev->part_patch->set->nodes && strcmp(ev->part_patch->name, p->rec->name) == 0)
                nodes = ev->part_patch->set->nodes;
        }
    return nodes;
}

static void join_partitions(struct changing *x, uint32_t like, const char *name)
{
    for (size_t i = 0; i < x->c->nparts; i++) {
        const struct partition *p = x->c->parts[i];
        Pst__PartitionRecord *set = NULL;
        _cleanup_free_ char *list = NULL;

        if (like >= p->nodes->nbits || !bitmap_test(p->nodes, like))
            continue;
        for (size_t e = 0; e < x->tx->n_events; e++) /* joined by the node before */
            if (x->tx->events[e]->body_case == PST__EVENT__BODY_PART_PATCH &&
                strcmp(x->tx->events[e]->part_patch->name, p->rec->name) == 0)
                set = x->tx->events[e]->part_patch->set;
        if (!set)
            set = tx_part_patch(x->tx, PST__EVENT_KIND__EV_PART_UPDATE, p->rec->name);
        if (asprintf(&list, "%s,%s", set->nodes ? set->nodes : latest_nodes(x, p), name) < 0)
            list = NULL;
        if (list)
            (void)pb_set_str(&set->nodes, list); /* without memory it stays outside */
    }
}

/* "n1:4": four more like n1, in its partitions. */
static int change_add(struct changing *x, const char *text)
{
    const char *colon = strrchr(text, ':');
    const struct node *like;
    char name[64], word[256];
    uint64_t count;

    if (!colon || (size_t)(colon - text) >= sizeof(word) ||
        parse_u64(colon + 1, 1, MAX_ADDED, &count) < 0)
        return usage_error(
            "sim: --add: %s is not NODE:COUNT, as in n1:4 for four more nodes like n1", text);
    (void)snprintf(word, sizeof(word), "%.*s", (int)(colon - text), text);
    like = cluster_node_named(x->c, word);
    if (!like)
        return usage_error("sim: --add: no node %s", word);
    for (uint64_t i = 0; i < count; i++) {
        Pst__NodeRecord *n = tx_node_put(x->tx, PST__EVENT_KIND__EV_NODE_CONFIG);
        uint32_t id = x->c->nnodes + x->added++;

        if (pb_merge(&n->base, &like->rec->base) < 0)
            return say_nomem();
        do
            (void)snprintf(name, sizeof(name), "added%u", x->added);
        while (cluster_node_named(x->c, name) && x->added++);
        (void)pb_set_str(&n->name, name);
        SET(n, node_id, id);
        SET(n, state, PST__NODE_STATE__NODE_IDLE);
        SET(n, state_flags, 0);
    }
    for (size_t e = 0, all = x->tx->n_events; e < all; e++)
        if (x->tx->events[e]->body_case == PST__EVENT__BODY_NODE_PUT)
            join_partitions(x, like->rec->node_id, x->tx->events[e]->node_put->name);
    return STATUS_OK;
}

/* ---- partitions ------------------------------------------------------------------------------ */

static int part_time(Pst__PartitionRecord *set, const char *value)
{
    uint32_t minutes;

    if (time_limit_parse(value, &minutes, NULL) < 0)
        return -EINVAL;
    SET(set, max_time_min, minutes);
    return 0;
}

static int part_state(Pst__PartitionRecord *set, const char *value)
{
    static const struct {
        const char *word;
        Pst__PartitionState state;
    } words[] = { { "UP", PST__PARTITION_STATE__PART_UP },
                  { "DOWN", PST__PARTITION_STATE__PART_DOWN },
                  { "DRAIN", PST__PARTITION_STATE__PART_DRAIN },
                  { "INACTIVE", PST__PARTITION_STATE__PART_INACTIVE } };

    for (size_t i = 0; i < ARRAY_SIZE(words); i++)
        if (strcasecmp(words[i].word, value) == 0) {
            SET(set, state, words[i].state);
            return 0;
        }
    return -EINVAL;
}

#define PART_NUMBER(fn, field, min)                                                                \
    static int fn(Pst__PartitionRecord *set, const char *value)                                    \
    {                                                                                              \
        uint64_t n;                                                                                \
                                                                                                   \
        if (parse_u64(value, min, UINT32_MAX - 2, &n) < 0)                                         \
            return -EINVAL;                                                                        \
        SET(set, field, (uint32_t)n);                                                              \
        return 0;                                                                                  \
    }
PART_NUMBER(part_max_nodes, max_nodes, 0)
PART_NUMBER(part_min_nodes, min_nodes, 0)
PART_NUMBER(part_tier, priority_tier, 0)
PART_NUMBER(part_factor, priority_job_factor, 0)
PART_NUMBER(part_max_cpus, max_cpus_per_node, 1)
#undef PART_NUMBER

static int part_nodes(Pst__PartitionRecord *set, const char *value)
{
    _cleanup_(hostlist_free) struct hostlist *hl = NULL;

    if (hostlist_parse(value, &hl, NULL) < 0)
        return -EINVAL;
    return pb_set_str(&set->nodes, value);
}

static int part_oversubscribe(Pst__PartitionRecord *set, const char *value)
{
    return pb_set_str(&set->oversubscribe, value);
}

static const struct {
    const char *key, *takes;
    int (*set)(Pst__PartitionRecord *set, const char *value);
} part_keys[] = {
    { "MaxTime", "a time limit such as 1-0 or 90", part_time },
    { "State", "UP, DOWN, DRAIN or INACTIVE", part_state },
    { "Nodes", "a list of nodes", part_nodes },
    { "MaxNodes", "a number", part_max_nodes },
    { "MinNodes", "a number", part_min_nodes },
    { "MaxCPUsPerNode", "a number", part_max_cpus },
    { "PriorityTier", "a number", part_tier },
    { "PriorityJobFactor", "a number", part_factor },
    { "OverSubscribe", "NO, YES:n or FORCE:n", part_oversubscribe },
};

/* "main.MaxTime=1-0" */
static int change_part(struct changing *x, const char *text)
{
    const char *eq = strchr(text, '='), *dot = eq ? memrchr(text, '.', (size_t)(eq - text)) : NULL;
    char name[256];

    if (!dot || (size_t)(dot - text) >= sizeof(name))
        return usage_error("sim: --partition: %s is not NAME.KEY=VALUE, as in main.MaxTime=1-0",
                           text);
    (void)snprintf(name, sizeof(name), "%.*s", (int)(dot - text), text);
    if (!cluster_partition(x->c, name))
        return usage_error("sim: --partition: no partition %s", name);
    for (size_t i = 0; i < ARRAY_SIZE(part_keys); i++) {
        if (strlen(part_keys[i].key) != (size_t)(eq - dot - 1) ||
            strncasecmp(part_keys[i].key, dot + 1, (size_t)(eq - dot - 1)) != 0)
            continue;
        if (part_keys[i].set(tx_part_patch(x->tx, PST__EVENT_KIND__EV_PART_UPDATE, name), eq + 1) <
            0)
            return usage_error("sim: --partition: %s takes %s, not %s", part_keys[i].key,
                               part_keys[i].takes, eq + 1);
        return STATUS_OK;
    }
    return usage_error(
        "sim: --partition: %.*s is not simulated (MaxTime, State, Nodes, MaxNodes, MinNodes, "
        "MaxCPUsPerNode, PriorityTier, PriorityJobFactor and OverSubscribe are)",
        (int)(eq - dot - 1), dot + 1);
}

/* ---- jobs ------------------------------------------------------------------------------------ */

typedef void job_fn(struct changing *x, const struct job *j);

static void cancel_jobs(struct changing *x, const struct job *j)
{
    tx_job_purge(x->tx, j->rec->job_id);
}

static void hold_jobs(struct changing *x, const struct job *j)
{
    SET(tx_job_patch(x->tx, PST__EVENT_KIND__EV_JOB_HOLD, j->rec->job_id), priority, 0);
}

static void release_jobs(struct changing *x, const struct job *j)
{
    const ProtobufCFieldDescriptor *f =
        protobuf_c_message_descriptor_get_field_by_name(&pst__job_record__descriptor, "priority");

    (void)tx_job_patch(x->tx, PST__EVENT_KIND__EV_JOB_RELEASE, j->rec->job_id);
    tx_clear(x->tx, f->id);
}

static int each_job(struct changing *x, const char *option, const char *text, job_fn *fn)
{
    _cleanup_free_ char *copy = strdup(text);
    char *save = NULL;

    for (char *w = copy ? strtok_r(copy, ",", &save) : NULL; w; w = strtok_r(NULL, ",", &save)) {
        const struct job *j = NULL;
        uint64_t id;

        if (parse_u64(w, 1, UINT32_MAX - 1, &id) == 0)
            j = cluster_job(x->c, (uint32_t)id);
        if (!j || job_is_ended(j->rec) || (fn != cancel_jobs && !job_is_pending(j->rec)))
            return usage_error("sim: --%s: no such job %s: %s", option,
                               fn == cancel_jobs ? "waits or runs" : "waits", w);
        fn(x, j);
    }
    return STATUS_OK;
}

/* ---- all of them ----------------------------------------------------------------------------- */

static int change_one(struct changing *x, const struct sim_ask *ask)
{
    switch (ask->what) {
    case SIM_DRAIN:
        return each_node(x, "drain", ask->text, drain_nodes);
    case SIM_RESUME:
        return each_node(x, "resume", ask->text, resume_nodes);
    case SIM_DOWN:
        return change_down(x, ask->text);
    case SIM_ADD:
        return change_add(x, ask->text);
    case SIM_PARTITION:
        return change_part(x, ask->text);
    case SIM_CANCEL:
        return each_job(x, "cancel", ask->text, cancel_jobs);
    case SIM_HOLD:
        return each_job(x, "hold", ask->text, hold_jobs);
    case SIM_RELEASE:
        return each_job(x, "release", ask->text, release_jobs);
    case SIM_QOS:
        return simlimits_qos(x, ask->text);
    case SIM_ACCOUNT:
        return simlimits_account(x, ask->text, false);
    case SIM_USER:
        return simlimits_account(x, ask->text, true);
    case SIM_RESV:
        return simresv_change(x, ask->text);
    case SIM_ASKS:
        break;
    }
    return STATUS_OK;
}

int simchange_make(const struct sim_args *a, const struct cluster *c, int64_t now_us,
                   struct simchange *ret)
{
    struct changing x = { .c = c, .now_us = now_us };
    int r = STATUS_OK;

    ret->texts = calloc(a->nasks + a->nsets + 1, sizeof(*ret->texts));
    ret->list = calloc(a->nasks + 1, sizeof(*ret->list));
    if (!ret->texts || !ret->list)
        return say_nomem();
    for (size_t i = 0; r == STATUS_OK && i < a->nasks; i++) {
        x.list = ret->list;
        x.n = ret->n;
        x.tx = ret->list[ret->n++] = tx_new(now_us);
        ret->texts[ret->ntexts++] = a->asks[i].line;
        r = change_one(&x, &a->asks[i]);
    }
    for (size_t i = 0; r == STATUS_OK && i < a->nsets; i++)
        ret->texts[ret->ntexts++] = a->sets[i];
    return r;
}
