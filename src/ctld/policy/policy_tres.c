/* policy_tres.c - how much of a TRES a job asks for; see policy_tres.h */
#include "ctld/policy/policy_tres.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/must.h"
#include "base/wordlist.h"
#include "feed/licensefeed.h"
#include "model/words/reqtres.h"

enum policy_tres_type policy_tres_type(const struct assoc_mgr *am, uint32_t tres_id)
{
    char name[256];

    switch (tres_id) {
    case AM_TRES_CPU:
        return POLICY_CPU;
    case AM_TRES_MEM:
        return POLICY_MEM;
    case AM_TRES_NODE:
        return POLICY_NODE;
    case AM_TRES_ENERGY:
        return POLICY_ENERGY;
    case AM_TRES_BILLING:
        return POLICY_BILLING;
    default:
        break;
    }
    if (!am_tres_name(am, tres_id, name, sizeof(name)))
        return POLICY_OTHER;
    return strncmp(name, "gres/", 5) == 0      ? POLICY_GRES
           : strncmp(name, "license/", 8) == 0 ? POLICY_LICENSE
           : strncmp(name, "bb/", 3) == 0      ? POLICY_BB
                                               : POLICY_OTHER;
}

/* Limits count the nodes that the tasks fill, however few were asked for. */
static uint32_t nodes_needed(const Pst__JobRecord *r)
{
    return MAX(reqtres_nodes(r), r->has_least_nodes ? r->least_nodes : 0);
}

static uint64_t cpus_asked(const Pst__JobRecord *r)
{
    uint64_t cpus =
        r->has_overcommit && r->overcommit
            ? nodes_needed(r)
            : (uint64_t)reqtres_tasks(r) * (r->has_cpus_per_task ? r->cpus_per_task : 1);

    if (r->has_min_cpus)
        cpus = MAX(cpus, r->min_cpus);
    if (r->has_pn_min_cpus)
        cpus = MAX(cpus, (uint64_t)r->pn_min_cpus * nodes_needed(r));
    if (r->has_cpus_per_gpu)
        cpus = MAX(cpus, r->cpus_per_gpu * reqtres_gres(r, "gpu", NULL));
    return cpus;
}

static uint64_t per_node_of(const Pst__JobRecord *r, uint64_t all, bool per_node)
{
    return per_node ? (all + nodes_needed(r) - 1) / nodes_needed(r) : all;
}

static uint64_t mem_asked(const Pst__JobRecord *r, bool per_node)
{
    if (r->has_mem_per_cpu_mib)
        return per_node_of(r, r->mem_per_cpu_mib * cpus_asked(r), per_node);
    if (r->has_mem_per_gpu_mib)
        return per_node_of(r, r->mem_per_gpu_mib * reqtres_gres(r, "gpu", NULL), per_node);
    if (!r->has_mem_per_node_mib && r->has_def_mem_per_gpu_mib)
        return per_node_of(r, r->def_mem_per_gpu_mib * reqtres_gres(r, "gpu", NULL), per_node);
    return r->has_mem_per_node_mib ? r->mem_per_node_mib * (per_node ? 1 : nodes_needed(r)) : 0;
}

/* what: "gpu" or "gpu:a100" */
static uint64_t gres_asked(const Pst__JobRecord *r, const char *what, bool per_node)
{
    _cleanup_free_ char *name = strdup(what);
    char *type = name ? strchr(name, ':') : NULL;

    if (!name)
        return 0;
    if (type)
        *type++ = '\0';
    return per_node_of(r, reqtres_gres(r, name, type), per_node);
}

uint64_t policy_whole_memory(const struct cluster *c, const struct partition *p,
                             const Pst__JobRecord *r)
{
    uint64_t least = UINT64_MAX;

    if (!p || !r->has_mem_per_node_mib || r->mem_per_node_mib)
        return 0;
    BITMAP_FOREACH (p->nodes, id)
        if (c->nodes[id])
            least = MIN(least, c->nodes[id]->rec->real_memory_mib);
    return least == UINT64_MAX ? 0 : least;
}

struct bill {
    const struct assoc_mgr *am;
    const struct resources *res;
    const Pst__JobRecord *r;
};

static double bill_amount(void *ctx, const char *name)
{
    const struct bill *b = ctx;
    uint32_t id = am_tres_id(b->am, name);

    return id && id != AM_TRES_BILLING
               ? (double)policy_tres_asked(b->am, b->res, NULL, BILLING_ALL, b->r, id, false)
               : 0;
}

uint64_t policy_tres_asked(const struct assoc_mgr *am, const struct resources *res,
                           const struct partition *p, enum billing_sum how, const Pst__JobRecord *r,
                           uint32_t tres_id, bool per_node)
{
    char name[256];

    if (tres_id == AM_TRES_BILLING && p && p->rec->tres_billing_weights) {
        struct bill b = { am, res, r };

        return per_node_of(r, billing(p->rec->tres_billing_weights, how, bill_amount, &b),
                           per_node);
    }
    switch (tres_id) {
    case AM_TRES_CPU:
    case AM_TRES_BILLING:
        return per_node_of(r, cpus_asked(r), per_node);
    case AM_TRES_MEM:
        return mem_asked(r, per_node);
    case AM_TRES_NODE:
        return per_node ? 1 : nodes_needed(r);
    default:
        break;
    }
    if (!am_tres_name(am, tres_id, name, sizeof(name)))
        return 0;
    if (strncmp(name, "gres/", 5) == 0)
        return gres_asked(r, name + 5, per_node);
    return strncmp(name, "license/", 8) == 0 ? licenses_asked(res, r->licenses, name + 8) : 0;
}

void policy_tres_put_gres(struct strbuf *sb, const struct resources *res, const Pst__JobRecord *r,
                          const char *tracked)
{
    _cleanup_free_ char *sorted = must(wordlist_sorted(tracked));
    size_t start = sb->len;

    for (const char *p = sorted; *p; p += *p == ',') {
        size_t len = strcspn(p, ",");
        char name[128];
        uint64_t n = 0;

        (void)snprintf(name, sizeof(name), "%.*s", (int)len, p);
        if (strncmp(name, "gres/", 5) == 0)
            n = gres_asked(r, name + 5, false);
        else if (strncmp(name, "license/", 8) == 0)
            n = licenses_asked(res, r->licenses, name + 8);
        if (n)
            strbuf_addf(sb, "%s%s=%llu", sb->len > start ? "," : "", name, (unsigned long long)n);
        p += len;
    }
}
