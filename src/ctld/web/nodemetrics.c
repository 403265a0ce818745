/* nodemetrics.c - the pages of nodes and partitions; from a view */
#include "ctld/web/nodemetrics.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hostlist.h"
#include "ctld/front/view.h"
#include "ctld/web/exposition.h"
#include "ctld/web/jobmetrics.h"
#include "ctld/web/tallies.h"

static const struct {
    const char *suffix, *part_suffix, *help;
} node_metrics[NODE_COUNTERS] = {
#define NODE_METRIC(counter, suffix, part_suffix, help)                                            \
    [NODE_COUNT_##counter] = { suffix, part_suffix, help },
#include "ctld/web/metricnames.def"
};

static const struct {
    const char *suffix, *help;
} value_metrics[NODE_VALUES] = {
#define NODE_VALUE(value, suffix, help) [NODE_VALUE_##value] = { suffix, help },
#include "ctld/web/metricnames.def"
};

struct seen_node {
    Pst__NodeRecord *rec;
    struct node_values values;
};

struct seen_nodes { /* of a view, in its order */
    struct seen_node *nodes;
    size_t n;
    struct namemap by_name;
};

static void nodes_done(struct seen_nodes *s)
{
    for (size_t i = 0; i < s->n; i++)
        pst__node_record__free_unpacked(s->nodes[i].rec, NULL);
    free(s->nodes);
    namemap_done(&s->by_name);
}

/* False: out of memory; what there is stays to be freed. */
static bool nodes_read(struct seen_nodes *s, const struct view *view)
{
    const struct view_table *t = &view->tables[VIEW_NODES];
    const struct vrec *r;
    size_t pos = 0;

    s->nodes = calloc(t->nchunks * VIEW_CHUNK + 1, sizeof(*s->nodes));
    if (!s->nodes)
        return false;
    while ((r = view_next(t, &pos))) {
        struct seen_node *n = &s->nodes[s->n];

        n->rec = pst__node_record__unpack(NULL, r->len, r->data);
        if (!n->rec)
            return false;
        s->n++;
        metrictally_values(n->rec, &n->values);
        if (n->rec->name && namemap_put(&s->by_name, n->rec->name, n) < 0)
            return false;
    }
    return true;
}

static void write_values(const struct seen_nodes *s, struct strbuf *sb)
{
    for (size_t i = 0; i < NODE_VALUES; i++) {
        exposition_family(sb, "slurm_node", value_metrics[i].suffix, "gauge",
                          value_metrics[i].help);
        for (size_t k = 0; k < s->n; k++)
            if (s->nodes[k].rec->name)
                exposition_sample(sb, "slurm_node", value_metrics[i].suffix, "node",
                                  s->nodes[k].rec->name, s->nodes[k].values.v[i]);
    }
}

void nodemetrics_nodes(const struct view *view, struct strbuf *sb)
{
    struct seen_nodes s = { 0 };
    struct node_tally all = { 0 };

    if (!nodes_read(&s, view)) {
        nodes_done(&s);
        sb->failed = true;
        return;
    }
    for (size_t i = 0; i < s.n; i++)
        metrictally_node(&all, s.nodes[i].rec, &s.nodes[i].values);
    write_values(&s, sb);
    exposition_gauge(sb, "slurm_nodes", "Nodes of the cluster", all.nodes);
    for (size_t i = 0; i < NODE_COUNTERS; i++) {
        if (!node_metrics[i].suffix)
            continue;
        exposition_family(sb, "slurm_nodes", node_metrics[i].suffix, "gauge", node_metrics[i].help);
        exposition_sample(sb, "slurm_nodes", node_metrics[i].suffix, NULL, NULL, all.n[i]);
    }
    nodes_done(&s);
}

/* ---- partitions ------------------------------------------------------------------------------ */

static bool count_part(struct tallies *parts, const struct seen_nodes *s,
                       const Pst__PartitionRecord *rec)
{
    struct tally_row *row = rec->name ? tallies_row(parts, rec->name) : NULL;
    struct hostlist *names = NULL;

    if (!row)
        return !rec->name;
    if (!rec->nodes || hostlist_parse_most(rec->nodes, HOSTLIST_MAX_NODES, &names, NULL) < 0)
        return true; /* it has none */
    for (size_t i = 0; i < hostlist_count(names); i++) {
        const struct seen_node *n = namemap_get(&s->by_name, hostlist_nth(names, i));

        if (n)
            metrictally_node(&row->nodes, n->rec, &n->values);
    }
    hostlist_free(names);
    return true;
}

static bool read_parts(struct tallies *parts, const struct view *view)
{
    struct seen_nodes s = { 0 };
    bool ok = nodes_read(&s, view);
    const struct vrec *r;
    size_t pos = 0;

    while (ok && (r = view_next(&view->tables[VIEW_PARTS], &pos))) {
        Pst__PartitionRecord *rec = pst__partition_record__unpack(NULL, r->len, r->data);

        ok = rec && count_part(parts, &s, rec);
        if (rec)
            pst__partition_record__free_unpacked(rec, NULL);
    }
    nodes_done(&s);
    return ok;
}

/* A job counts in the partition that it runs in; one that waits, in each that it may run in. */
static void count_job(void *ctx, const Pst__JobRecord *job, const struct job_tally *one)
{
    struct tallies *parts = ctx;
    _cleanup_free_ char *names = job->partition ? strdup(job->partition) : NULL;
    char *rest = names, *name;

    while ((name = rest ? strsep(&rest, ",") : NULL)) {
        struct tally_row *row = tallies_find(parts, name);

        if (row)
            metrictally_add(&row->jobs, one);
    }
}

static void write_family(const struct tallies *parts, const char *suffix, const char *help,
                         uint64_t (*get)(const struct node_tally *t, size_t i), size_t i,
                         struct strbuf *sb)
{
    exposition_family(sb, "slurm_partition", suffix, "gauge", help);
    for (size_t k = 0; k < parts->n; k++)
        exposition_sample(sb, "slurm_partition", suffix, "partition", parts->rows[k]->name,
                          get(&parts->rows[k]->nodes, i));
}

static uint64_t get_count(const struct node_tally *t, size_t i)
{
    return t->n[i];
}

static uint64_t get_total(const struct node_tally *t, size_t i)
{
    return i == 0 ? t->cpus : i == 1 ? t->gpus : t->nodes;
}

void nodemetrics_parts(const struct view *view, struct strbuf *sb)
{
    struct tallies parts = { 0 };

    if (!read_parts(&parts, view)) {
        tallies_done(&parts);
        sb->failed = true;
        return;
    }
    jobmetrics_each(view, count_job, &parts);
    exposition_gauge(sb, "slurm_partitions", "Partitions of the cluster", parts.n);
    tallies_write_jobs(&parts, TALLY_PART, "slurm_partition_jobs", "partition", sb);
    for (size_t i = 0; i < NODE_COUNTERS; i++) {
        char suffix[64];

        (void)snprintf(suffix, sizeof(suffix), "nodes_%s", node_metrics[i].part_suffix);
        write_family(&parts, suffix, node_metrics[i].help, get_count, i, sb);
    }
    write_family(&parts, "cpus", "CPUs of the partition", get_total, 0, sb);
    write_family(&parts, "gpus", "GPUs of the partition", get_total, 1, sb);
    write_family(&parts, "nodes", "Nodes of the partition", get_total, 2, sb);
    tallies_done(&parts);
}
