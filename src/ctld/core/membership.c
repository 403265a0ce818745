/* membership.c - which nodes a partition or a node set has; see membership.h
 *
 * Partitions that are written alike are worked out once per call. */
#include "ctld/core/membership.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/hostlist.h"
#include "base/must.h"
#include "base/wordlist.h"
#include "ctld/core/commit.h"
#include "ctld/core/noderecord.h"
#include "ctld/core/service.h"

#define FOLLOW_SHARE 20 /* nodes that register take at most so small a part of the time */

struct asking {
    const struct ctld *ctld;
    struct bitmap *there; /* nodes that may be members at all */
};

/* A node that slurm.conf does not name any more is on its way out. */
static struct bitmap *nodes_there(const struct ctld *ctld, const struct bitmap *without)
{
    const struct cluster *c = ctld->cluster;
    struct bitmap *bm;

    if (bitmap_new(c->nnodes, &bm) < 0)
        must(NULL);
    for (uint32_t i = 0; i < c->nnodes; i++) {
        const struct node *n = c->nodes[i];

        if (n && !(without && i < without->nbits && bitmap_test(without, i)) &&
            (noderecord_is_dynamic(n->rec) || conf_find_node(ctld->conf, n->rec->name)))
            bitmap_set(bm, i);
    }
    return bm;
}

static void add_named(const struct asking *a, const char *list, struct bitmap *bm)
{
    _cleanup_(hostlist_free) struct hostlist *hl = NULL;

    if (hostlist_parse_most(list, HOSTLIST_MAX_NODES, &hl, NULL) < 0)
        return; /* refused where it was given */
    for (size_t i = 0; i < hostlist_count(hl); i++) {
        const struct node *n = cluster_node_named(a->ctld->cluster, hostlist_nth(hl, i));

        if (n && bitmap_test(a->there, n->rec->node_id))
            bitmap_set(bm, n->rec->node_id);
    }
}

static void add_feature(const struct asking *a, const char *feature, struct bitmap *bm)
{
    BITMAP_FOREACH (a->there, i)
        if (wordlist_has(a->ctld->cluster->nodes[i]->rec->features, feature))
            bitmap_set(bm, i);
}

/* One item, which is writable: ALL, a node set, feature{x}, node{list}, or a list. */
static void add_item(const struct asking *a, char *item, struct bitmap *bm)
{
    const char *feature, *nodes;
    char *brace = strchr(item, '{');
    size_t len = strlen(item);

    if (strcasecmp(item, "ALL") == 0) {
        bitmap_or(bm, a->there);
    } else if (brace && item[len - 1] == '}') {
        item[len - 1] = *brace = '\0';
        if (strcasecmp(item, "feature") == 0)
            add_feature(a, brace + 1, bm);
        else
            add_named(a, brace + 1, bm);
    } else if (conf_nodeset_line(a->ctld->conf, item, &feature, &nodes)) {
        if (feature)
            add_feature(a, feature, bm);
        if (nodes && strcasecmp(nodes, "ALL") == 0)
            bitmap_or(bm, a->there);
        else if (nodes)
            add_named(a, nodes, bm);
    } else {
        add_named(a, item, bm);
    }
}

static struct bitmap *new_set(const struct asking *a)
{
    struct bitmap *bm;

    if (bitmap_new(a->there->nbits, &bm) < 0)
        must(NULL);
    return bm;
}

static struct bitmap *members_of(const struct asking *a, const char *expr)
{
    struct bitmap *bm = new_set(a);

    for (const char *p = expr; *p;) {
        size_t len = hostlist_item_length(p);
        bool leaves = len > 1 && p[0] == '-';
        _cleanup_free_ char *item = must(strndup(p + leaves, len - leaves));

        if (leaves) {
            _cleanup_(bitmap_free) struct bitmap *one = new_set(a);

            add_item(a, item, one);
            bitmap_andnot(bm, one);
        } else if (len) {
            add_item(a, item, bm);
        }
        p += len;
        p += *p == ',';
    }
    return bm;
}

/* In the order of membership.h.  Takes bm. */
static char *list_members(const struct asking *a, struct bitmap *bm)
{
    const struct cluster *c = a->ctld->cluster;
    _cleanup_(hostlist_free) struct hostlist *all = NULL, *made = NULL;
    char *list = NULL;
    int r = hostlist_new(&all);

    r = r < 0 ? r : hostlist_new(&made);
    for (size_t i = 0; r == 0 && i < conf_nodes(a->ctld->conf); i++) {
        const struct node *node = cluster_node_named(c, conf_node(a->ctld->conf, i)->name);

        if (!node || !bitmap_test(bm, node->rec->node_id))
            continue;
        r = hostlist_push(all, node->rec->name);
        bitmap_clear(bm, node->rec->node_id);
    }
    BITMAP_FOREACH (bm, i)
        r = r < 0 ? r : hostlist_push(made, c->nodes[i]->rec->name);
    if (r == 0)
        hostlist_sort(made);
    for (size_t i = 0; r == 0 && i < hostlist_count(made); i++)
        r = hostlist_push(all, hostlist_nth(made, i));
    if (r < 0 || hostlist_fold(all, &list) < 0)
        must(NULL);
    bitmap_free(bm);
    return list;
}

bool membership_is_set(const struct ctld *ctld, const char *expr)
{
    return strcasecmp(expr, "ALL") == 0 || conf_nodeset(ctld->conf, expr);
}

char *membership_list(const struct ctld *ctld, const char *expr, const struct bitmap *without)
{
    struct asking a = { .ctld = ctld, .there = nodes_there(ctld, without) };
    char *list = list_members(&a, members_of(&a, expr));

    bitmap_free(a.there);
    return list;
}

/* Of an earlier partition that is written alike, or NULL. */
static const char *known_list(const struct ctld *ctld, char *const *lists, size_t before)
{
    const char *expr = ctld->cluster->parts[before]->rec->nodes_config;

    for (size_t i = 0; i < before; i++)
        if (lists[i] && strcmp(ctld->cluster->parts[i]->rec->nodes_config, expr) == 0)
            return lists[i];
    return NULL;
}

void membership_patch(const struct ctld *ctld, Pst__Transaction *tx, const struct bitmap *without)
{
    const struct cluster *c = ctld->cluster;
    struct asking a = { .ctld = ctld, .there = nodes_there(ctld, without) };
    char **lists = must(calloc(c->nparts + 1, sizeof(*lists)));

    for (size_t i = 0; i < c->nparts; i++) {
        const Pst__PartitionRecord *p = c->parts[i]->rec;
        const char *known;

        if (!p->nodes_config)
            continue;
        known = known_list(ctld, lists, i);
        lists[i] = known ? tx_strdup(known) : list_members(&a, members_of(&a, p->nodes_config));
        if (strcmp(lists[i], p->nodes ? p->nodes : "") != 0)
            tx_part_patch(tx, PST__EVENT_KIND__EV_PART_CONFIG, p->name)->nodes =
                tx_strdup(lists[i]);
    }
    for (size_t i = 0; i < c->nparts; i++)
        free(lists[i]);
    free(lists);
    bitmap_free(a.there);
}

uint64_t membership_follow(struct ctld *ctld)
{
    Pst__Transaction *tx = tx_new(core_now());

    membership_patch(ctld, tx, NULL);
    if (tx->n_events)
        return core_commit(ctld, tx);
    tx_free(tx);
    return ctld->applied_lsn;
}

/* What waits for a tick, because there was too much of it. */
static void follow_late(struct ctld *ctld, int64_t now_us)
{
    int64_t began = now_mono_us();

    (void)now_us;
    if (!ctld->members_stale || !membership_follow(ctld))
        return;
    ctld->members_stale = false;
    ctld->members_next_mono_us = now_mono_us() + (now_mono_us() - began) * FOLLOW_SHARE;
}

void membership_follow_soon(struct ctld *ctld)
{
    ctld->members_stale = true;
    if (now_mono_us() >= ctld->members_next_mono_us)
        follow_late(ctld, 0);
}

const struct ctld_service membership_service = { .name = "membership",
                                                 .tick_writing = follow_late };
