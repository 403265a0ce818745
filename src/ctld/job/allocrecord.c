/* allocrecord.c - an allocation as a record, and what it is called and billed; see allocrecord.h */
#include "ctld/job/allocrecord.h"

#include <stdlib.h>
#include <string.h>

#include "base/bitmap.h"
#include "base/cleanup.h"
#include "base/gres/grestext.h"
#include "base/hostlist.h"
#include "base/must.h"
#include "base/pb/pbutil.h"
#include "base/strbuf.h"
#include "base/timefmt.h"
#include "base/wordlist.h"
#include "base/gres/licensetext.h"
#include "feed/noderes.h"
#include "feed/params.h"
#include "model/account/billing.h"

static char *bits_text(const uint64_t *words, uint32_t nwords)
{
    struct bitmap *bm = NULL;
    char *text = NULL;

    if (bitmap_new(nwords * 64, &bm) < 0)
        must(NULL);
    memcpy(bm->words, words, nwords * sizeof(*words));
    if (bitmap_format(bm, &text) < 0)
        must(NULL);
    bitmap_free(bm);
    return text;
}

/* Which GPUs they are of, and how much of each. */
static void note_shares(Pst__GresAlloc *to, const struct sched_alloc_gres *g,
                        const Pst__NodeRecord *node)
{
    _cleanup_(noderes_free) struct noderes *res = noderes_new(node);
    char *gpus, *counts;

    if (!noderes_shares(res, g, &gpus, &counts))
        return;
    to->shares = to->devices;
    to->devices = gpus;
    to->share_counts = counts;
}

static Pst__AllocGroup *group_new(const struct cluster *c, const struct sched_alloc_node *n,
                                  uint32_t threads, uint32_t tasks)
{
    Pst__AllocGroup *g = must(malloc(sizeof(*g)));
    const Pst__NodeRecord *node = cluster_node(c, n->node_id)->rec;
    uint32_t all = node->threads_per_core;

    pst__alloc_group__init(g);
    SET(g, nodes, 1);
    SET(g, cpus, n->cpus);
    if (threads && threads < all)
        SET(g, task_cpus, MAX(n->cpus / all, 1u) * threads);
    SET(g, mem_mib, n->mem_mib);
    SET(g, tasks, tasks);
    g->cpu_ids = bits_text(n->cpu_bits, n->ncpu_words);
    SET(g, cores_per_socket, node->cores_per_socket);
    if (node->sockets > 1)
        SET(g, sockets, node->sockets);
    if (all > 1)
        SET(g, threads_per_core, all);
    g->gres = must(calloc(n->ngres ? n->ngres : 1, sizeof(*g->gres)));
    g->n_gres = n->ngres;
    for (size_t i = 0; i < n->ngres; i++) {
        Pst__GresAlloc *to = g->gres[i] = must(malloc(sizeof(*to)));

        pst__gres_alloc__init(to);
        to->name = tx_strdup(n->gres[i].name);
        to->type = tx_strdup(n->gres[i].type);
        SET(to, count, n->gres[i].count);
        if (n->gres[i].devices)
            to->devices = bits_text(n->gres[i].devices, n->gres[i].ndevice_words);
        if (to->devices && gres_shares_gpu(to->name))
            note_shares(to, &n->gres[i], node);
    }
    return g;
}

/* Tasks on the i-th node when so many are left for it and those behind it; each node gets one. */
static uint32_t tasks_here(const struct sched_alloc *a, size_t i, uint32_t left)
{
    uint32_t behind = (uint32_t)(a->nnodes - i - 1);

    return MIN(a->nodes[i].tasks, left > behind ? left - behind : 1u);
}

static bool group_equal(const Pst__AllocGroup *a, Pst__AllocGroup *b)
{
    uint32_t nodes = b->nodes;
    bool equal;

    b->nodes = a->nodes;
    equal = pb_equal(&a->base, &b->base);
    b->nodes = nodes;
    return equal;
}

/* The allocation as a record; groups of equal neighbours are folded. */
Pst__Alloc *allocrecord_make(const struct cluster *c, const struct sched_alloc *a, uint32_t threads,
                             uint32_t most_tasks)
{
    Pst__Alloc *out = must(malloc(sizeof(*out)));
    const char **names = must(calloc(a->nnodes ? a->nnodes : 1, sizeof(*names)));
    uint32_t cpus = 0, left = most_tasks;

    pst__alloc__init(out);
    out->node_ids = must(calloc(a->nnodes ? a->nnodes : 1, sizeof(*out->node_ids)));
    out->n_node_ids = a->nnodes;
    out->groups = must(calloc(a->nnodes ? a->nnodes : 1, sizeof(Pst__AllocGroup *)));
    for (size_t i = 0; i < a->nnodes; i++) {
        uint32_t tasks = most_tasks ? tasks_here(a, i, left) : a->nodes[i].tasks;
        Pst__AllocGroup *g = group_new(c, &a->nodes[i], threads, tasks);
        Pst__AllocGroup *last = out->n_groups ? out->groups[out->n_groups - 1] : NULL;

        left -= MIN(left, tasks);
        out->node_ids[i] = a->nodes[i].node_id;
        names[i] = cluster_node(c, a->nodes[i].node_id)->rec->name;
        cpus += a->nodes[i].cpus;
        if (last && group_equal(last, g)) {
            last->nodes++;
            pst__alloc_group__free_unpacked(g, NULL);
        } else {
            out->groups[out->n_groups++] = g;
        }
    }
    if (hostlist_fold_names(names, a->nnodes, &out->nodes) < 0)
        must(NULL);
    free(names);
    SET(out, total_cpus, cpus);
    return out;
}

/* All of a name, or of one of its types (NULL = any), on all nodes; false: there is none. */
static bool gres_total(const Pst__Alloc *a, const char *name, const char *type, uint64_t *ret)
{
    bool any = false;

    *ret = 0;
    for (size_t g = 0; g < a->n_groups; g++)
        for (size_t i = 0; i < a->groups[g]->n_gres; i++) {
            const Pst__GresAlloc *ga = a->groups[g]->gres[i];

            if (strcmp(ga->name, name) != 0 || (type && (!ga->type || strcmp(ga->type, type) != 0)))
                continue;
            *ret += ga->count * a->groups[g]->nodes;
            any = true;
        }
    return any;
}

/* Devices and licences that AccountingStorageTRES names. */
static void put_tracked(struct strbuf *sb, const Pst__Alloc *a, const char *licenses,
                        const char *tracked)
{
    _cleanup_free_ char *sorted = must(wordlist_sorted(tracked));

    for (const char *p = sorted; *p; p += *p == ',') {
        size_t len = strcspn(p, ",");
        char name[128], *type;
        uint64_t total = 0;
        bool any = false;

        (void)snprintf(name, sizeof(name), "%.*s", (int)len, p);
        type = strchr(name, ':');
        if (type)
            *type++ = '\0';
        if (strncmp(name, "gres/", 5) == 0)
            any = gres_total(a, name + 5, type, &total);
        else if (strncmp(name, "license/", 8) == 0)
            any = (total = license_text_sum(licenses, name + 8)) > 0;
        if (any)
            strbuf_addf(sb, ",%.*s=%llu", (int)len, p, (unsigned long long)total);
        p += len;
    }
}

/* "cpu=4,mem=400M,node=2". */
static void put_sizes(struct strbuf *sb, const Pst__Alloc *a)
{
    uint64_t mem = 0;
    char size[32];

    for (size_t g = 0; g < a->n_groups; g++)
        mem += a->groups[g]->mem_mib * a->groups[g]->nodes;
    strbuf_addf(sb, "cpu=%u", a->total_cpus);
    if (mem) {
        size_mib_fmt(mem, false, size, sizeof(size));
        strbuf_addf(sb, ",mem=%s", size);
    }
    strbuf_addf(sb, ",node=%zu", a->n_node_ids);
}

char *alloc_tres_text(const Pst__Alloc *a, const char *licenses, uint64_t billing,
                      const char *tracked)
{
    struct strbuf sb = STRBUF_INIT;
    char *text = NULL;

    put_sizes(&sb, a);
    strbuf_addf(&sb, ",billing=%llu", (unsigned long long)billing);
    put_tracked(&sb, a, licenses, tracked);
    return strbuf_detach(&sb, &text) < 0 ? must(NULL) : text;
}

char *alloc_step_tres(const Pst__Alloc *a, const char *tracked)
{
    _cleanup_val_(strbuf_done) struct strbuf sb = STRBUF_INIT;

    put_sizes(&sb, a);
    put_tracked(&sb, a, NULL, tracked);
    return must(wordlist_sorted(strbuf_str(&sb)));
}

/* The text of what it holds, and what that is billed in this partition. */
void alloc_bill(const struct ctld *ctld, const char *partition, const char *licenses,
                Pst__JobRecord *set)
{
    const struct partition *p = cluster_partition(ctld->cluster, partition);
    double billing = billing_of(p ? p->rec->tres_billing_weights : NULL,
                                conf_billing_sum(ctld->conf), set->alloc, licenses);

    free(set->alloc_tres);
    set->alloc_tres = alloc_tres_text(set->alloc, licenses, (uint64_t)billing,
                                      conf_str(ctld->conf, CONF_ACCOUNTING_STORAGE_TRES));
    if (billing > (double)(uint64_t)billing)
        SET(set, billing, billing);
}
