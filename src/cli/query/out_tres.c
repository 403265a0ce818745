/* out_tres.c - the TRES of nodes and partitions; see out_tres.h. */
#include "cli/query/out_tres.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/gres/grestext.h"
#include "base/strbuf.h"
#include "base/wordlist.h"
#include "cli/query/out_job.h"
#include "conf/conf.h"
#include "model/words/nodespec.h"

struct tres_rules tres_rules_of(const struct conf *conf)
{
    return (struct tres_rules){ .tracked = conf_str(conf, CONF_ACCOUNTING_STORAGE_TRES),
                                .how = conf_billing_sum(conf),
                                .licenses = conf_str(conf, CONF_LICENSES) };
}

struct amounts {
    double cpus, mem_mib, nodes;
    const struct cluster_nodes *t;
    const uint32_t *ids; /* whose GRES count */
    size_t n_ids;
    const char *licenses;
};

/* Where the entry of a list ends; within parentheses commas are part of it. */
static size_t entry_len(const char *text)
{
    size_t len = strcspn(text, ",(");

    if (text[len] == '(') {
        len += strcspn(text + len, ")");
        len += strcspn(text + len, ",");
    }
    return len;
}

/* How much of "gpu" or "gpu:a100" a list has: "gpu:a100:2(S:0-1),shard:a100:8". */
static uint64_t gres_amount(const char *list, const char *want)
{
    size_t kind = strcspn(want, ":");
    uint64_t sum = 0;

    for (const char *p = list ? list : ""; *p; p += *p == ',') {
        size_t len = entry_len(p);
        _cleanup_free_ char *word = strndup(p, len);
        struct gres_text g;

        p += len;
        if (word && gres_text_parse(word, &g) && strlen(g.name) == kind &&
            strncmp(g.name, want, kind) == 0 &&
            (!want[kind] || (g.type && strcmp(g.type, want + kind + 1) == 0)))
            sum += g.count;
    }
    return sum;
}

/* "matlab:4,ansys:2,fluent" */
static uint64_t license_amount(const char *list, const char *want)
{
    for (const char *p = list ? list : ""; *p; p += strcspn(p, ","), p += *p == ',') {
        size_t name = strcspn(p, ":=,"), len = strcspn(p, ",");

        if (strlen(want) == name && strncmp(p, want, name) == 0)
            return name < len ? strtoull(p + name + 1, NULL, 10) : 1;
    }
    return 0;
}

static double amount_of(void *ctx, const char *name)
{
    const struct amounts *a = ctx;
    double sum = 0;

    if (strcmp(name, "cpu") == 0)
        return a->cpus;
    if (strcmp(name, "mem") == 0)
        return a->mem_mib;
    if (strcmp(name, "node") == 0)
        return a->nodes;
    if (strncmp(name, "license/", 8) == 0)
        return (double)license_amount(a->licenses, name + 8);
    if (strncmp(name, "gres/", 5) == 0)
        for (size_t i = 0; i < a->n_ids; i++)
            sum += (double)gres_amount(a->t->nodes[a->ids[i]].record->gres, name + 5);
    return sum;
}

/* Of the names with a slash those of which there is something: ",gres/gpu=2". */
static int put_tracked(struct strbuf *sb, const char *tracked, billing_amount_fn *amount, void *ctx)
{
    _cleanup_free_ char *sorted = tracked ? wordlist_sorted(tracked) : NULL;

    if (tracked && !sorted)
        return -ENOMEM;
    for (const char *p = sorted ? sorted : ""; *p; p += *p == ',') {
        size_t len = strcspn(p, ",");
        _cleanup_free_ char *name = strndup(p, len);
        double much;

        p += len;
        if (!name)
            return -ENOMEM;
        much = strchr(name, '/') ? amount(ctx, name) : 0;
        if (much > 0)
            strbuf_addf(sb, ",%s=%llu", name, (unsigned long long)much);
    }
    return 0;
}

static uint64_t bill_of(const Pst__PartitionRecord *part, const struct tres_rules *rules,
                        struct amounts *a)
{
    return part->tres_billing_weights
               ? billing(part->tres_billing_weights, rules->how, amount_of, a)
               : (uint64_t)a->cpus;
}

int out_part_tres(const struct cluster_nodes *t, const struct cluster_part *part,
                  const struct tres_rules *rules, char **ret_text)
{
    struct strbuf sb = STRBUF_INIT;
    struct amounts a = { .nodes = (double)part->n_nodes,
                         .t = t,
                         .ids = part->nodes,
                         .n_ids = part->n_nodes,
                         .licenses = rules->licenses };
    int r;

    for (size_t i = 0; i < part->n_nodes; i++) {
        const Pst__NodeRecord *n = t->nodes[part->nodes[i]].record;

        a.cpus += n->cpus;
        a.mem_mib += (double)n->real_memory_mib;
    }
    strbuf_addf(&sb, "cpu=%.0f,mem=", a.cpus);
    put_mib(&sb, (uint64_t)a.mem_mib, false);
    strbuf_addf(&sb, ",node=%zu,billing=%llu", part->n_nodes,
                (unsigned long long)bill_of(part->record, rules, &a));
    r = put_tracked(&sb, rules->tracked, amount_of, &a);
    return strbuf_detach(&sb, ret_text) < 0 ? -ENOMEM : r;
}

int out_node_tres(const struct cluster_nodes *t, size_t i, const struct tres_rules *rules,
                  char **ret_text)
{
    const Pst__NodeRecord *n = t->nodes[i].record;
    struct strbuf sb = STRBUF_INIT;
    uint32_t id = (uint32_t)i;
    struct amounts a = { .cpus = nodespec_effective(n),
                         .mem_mib = (double)n->real_memory_mib,
                         .nodes = 1,
                         .t = t,
                         .ids = &id,
                         .n_ids = 1 };
    uint64_t most = 0;
    int r;

    for (size_t p = 0; p < t->n_parts; p++)
        if (cluster_part_has(&t->parts[p], i))
            most = MAX(most, bill_of(t->parts[p].record, rules, &a));
    strbuf_addf(&sb, "cpu=%.0f,mem=", a.cpus);
    put_mib(&sb, n->real_memory_mib, false);
    strbuf_addf(&sb, ",billing=%llu", (unsigned long long)(most ? most : (uint64_t)a.cpus));
    r = put_tracked(&sb, rules->tracked, amount_of, &a);
    return strbuf_detach(&sb, ret_text) < 0 ? -ENOMEM : r;
}

static double used_of(void *ctx, const char *name)
{
    const Pst__NodeRecord *n = ctx;

    return strncmp(name, "gres/", 5) == 0 ? (double)gres_amount(n->alloc_gres, name + 5) : 0;
}

int out_node_used(const Pst__NodeRecord *n, const struct tres_rules *rules, char **ret_text)
{
    struct strbuf sb = STRBUF_INIT;
    Pst__NodeRecord copy = *n;
    int r = 0;

    if (n->alloc_cpus) {
        strbuf_addf(&sb, "cpu=%u", n->alloc_cpus);
        if (n->alloc_mem_mib) {
            strbuf_add(&sb, ",mem=");
            put_mib(&sb, n->alloc_mem_mib, false);
        }
        r = put_tracked(&sb, rules->tracked, used_of, &copy);
    }
    return strbuf_detach(&sb, ret_text) < 0 ? -ENOMEM : r;
}
