/* topology_map.c - the drawing of a topology; see topology_map.h
 *
 * A letter is a node, in the order of the unit; many equal ones in a row become "#x30".  Lines keep
 * to 80 columns: what does not fit of the jobs is counted. */
#include "cli/scontrol/topology_map.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hostlist.h"
#include "base/compare/order.h"
#include "base/strbuf.h"
#include "cli/query/out_nodes.h"
#include "cli/query/out_query.h"
#include "job.pb-c.h"
#include "wire/errors.h"
#include "wire/ops.h"

enum { COLUMNS = 80, NAME_MAX_SHOWN = 20, LETTERS_MAX = 36 };

struct job_ids {
    uint32_t *ids;
    size_t n, cap;
};

struct map {
    struct cluster_nodes t;
    struct job_ids *jobs; /* of each node of t */
};

static char letter_of(const Pst__NodeRecord *n)
{
    const uint32_t away =
        1u << PST__NODE_FLAG__NODE_FLAG_DRAIN | 1u << PST__NODE_FLAG__NODE_FLAG_FAIL;

    if (n->state == PST__NODE_STATE__NODE_DOWN)
        return 'x';
    if (n->state_flags & away)
        return 'd';
    if (n->state_flags & 1u << PST__NODE_FLAG__NODE_FLAG_NOT_RESPONDING)
        return '?';
    if (n->alloc_cpus)
        return n->alloc_cpus < n->cpus ? '+' : '#';
    return n->state == PST__NODE_STATE__NODE_IDLE ? '.' : '?';
}

static void add_job(struct job_ids *list, uint32_t id)
{
    if (list->n && list->ids[list->n - 1] == id)
        return;
    if (list->n == list->cap) {
        list->cap = list->cap ? 2 * list->cap : 4;
        list->ids = xrealloc_or_die(list->ids, list->cap, sizeof(*list->ids));
    }
    list->ids[list->n++] = id;
}

static int note_job(void *ctx, const ProtobufCMessage *record, const struct query_info *info)
{
    struct map *m = ctx;
    const Pst__JobRecord *r = (const Pst__JobRecord *)record /* of the type that was asked */;
    _cleanup_(hostlist_free) struct hostlist *hl = NULL;

    (void)info;
    if (!r->alloc || !r->alloc->nodes || hostlist_parse(r->alloc->nodes, &hl, NULL) < 0)
        return 0;
    for (size_t i = 0; i < hostlist_count(hl); i++) {
        long at = cluster_nodes_find(&m->t, hostlist_nth(hl, i));

        if (at >= 0)
            add_job(&m->jobs[at], r->job_id);
    }
    return 0;
}

static int load_jobs(struct scontrol *s, struct map *m)
{
    Pst__QueryRequest request = query_to_print();
    Pst__JobFilter filter = PST__JOB_FILTER__INIT;
    uint32_t states[] = { PST__JOB_STATE__JOB_RUNNING, PST__JOB_STATE__JOB_SUSPENDED };
    struct query_info info;

    filter.states = states;
    filter.n_states = ARRAY_SIZE(states);
    request.jobs = &filter;
    m->jobs = xmalloc_or_die((m->t.n_nodes + 1) * sizeof(*m->jobs));
    return query_run(scontrol_client(s, "slurm_load_jobs"), OP_QUERY_JOBS, &request.base,
                     &pst__job_record__descriptor, note_job, m, &info);
}

/* ---- one line -------------------------------------------------------------------------------- */

/* Letters in a row: "....", and where there are too many of them ".x30 #x2". */
static void add_letters(struct strbuf *sb, const char *letters, size_t n)
{
    size_t from = sb->len;

    if (n <= LETTERS_MAX) {
        strbuf_addn(sb, letters, n);
        return;
    }
    for (size_t i = 0; i < n;) {
        size_t run = 1;

        while (i + run < n && letters[i + run] == letters[i])
            run++;
        if (sb->len - from > LETTERS_MAX) {
            strbuf_add(sb, " ...");
            return;
        }
        strbuf_addf(sb, i ? " %cx%zu" : "%cx%zu", letters[i], run);
        i += run;
    }
}

/* The jobs, each once, as far as the line goes. */
static void add_jobs(struct strbuf *sb, struct job_ids *all)
{
    size_t kept = 0;

    if (!all->n)
        return;
    qsort(all->ids, all->n, sizeof(*all->ids), order_u32);
    for (size_t i = 0; i < all->n; i++)
        if (kept == 0 || all->ids[kept - 1] != all->ids[i])
            all->ids[kept++] = all->ids[i];
    strbuf_add(sb, " ");
    for (size_t i = 0; i < kept; i++) {
        char id[16];
        int len = snprintf(id, sizeof(id), " %u", all->ids[i]);

        if (sb->len + (size_t)len + (i + 1 < kept ? 10 : 0) > COLUMNS) {
            strbuf_addf(sb, " +%zu more", kept - i);
            return;
        }
        strbuf_add(sb, id);
    }
}

/* The line of a unit; nodes that the controller does not know are '?'. */
static void print_unit(struct map *m, const char *name, const char *nodes, bool *seen, int width)
{
    _cleanup_val_(strbuf_done) struct strbuf sb = STRBUF_INIT;
    _cleanup_val_(strbuf_done) struct strbuf letters = STRBUF_INIT;
    _cleanup_(hostlist_free) struct hostlist *hl = NULL;
    struct job_ids all = { 0 };

    if (hostlist_parse(nodes ? nodes : "", &hl, NULL) < 0)
        return;
    for (size_t i = 0; i < hostlist_count(hl); i++) {
        long at = cluster_nodes_find(&m->t, hostlist_nth(hl, i));

        strbuf_addc(&letters, at < 0 ? '?' : letter_of(m->t.nodes[at].record));
        if (at < 0)
            continue;
        seen[at] = true;
        for (size_t k = 0; k < m->jobs[at].n; k++)
            add_job(&all, m->jobs[at].ids[k]);
    }
    strbuf_addf(&sb, "%-*.*s ", width, width, name);
    add_letters(&sb, strbuf_str(&letters), letters.len);
    add_jobs(&sb, &all);
    free(all.ids);
    (void)printf("%s\n", strbuf_str(&sb));
}

/* ---- all of them ----------------------------------------------------------------------------- */

/* Nodes are attached to it directly. */
static bool is_base(const Pst__TopologyUnit *u)
{
    return !u->aggregated && (!u->has_level || u->level == 0);
}

static int name_width(const Pst__TopologyReply *t)
{
    size_t width = 6;

    for (size_t i = 0; i < t->n_units; i++)
        if (is_base(t->units[i]))
            width = MAX(width, strlen(t->units[i]->name));
    return (int)MIN(width, (size_t)NAME_MAX_SHOWN);
}

static void print_rest(struct map *m, bool *seen, int width)
{
    _cleanup_free_ const char **names = xmalloc_or_die((m->t.n_nodes + 1) * sizeof(*names));
    _cleanup_free_ char *list = NULL;
    size_t n = 0;

    for (size_t i = 0; i < m->t.n_nodes; i++)
        if (!seen[i])
            names[n++] = m->t.nodes[i].record->name;
    if (n && hostlist_fold_names(names, n, &list) == 0)
        print_unit(m, "(none)", list, seen, width);
}

static void print_map(struct map *m, const Pst__TopologyReply *t)
{
    _cleanup_free_ bool *seen = xmalloc_or_die((m->t.n_nodes + 1) * sizeof(*seen));
    int width = name_width(t);

    (void)printf("topology %s (%s)   . idle  + mixed  # allocated  d drained  x down  ? unknown\n",
                 t->name, t->kind);
    for (size_t i = 0; i < t->n_units; i++)
        if (is_base(t->units[i]))
            print_unit(m, t->units[i]->name, t->units[i]->nodes, seen, width);
    print_rest(m, seen, width);
}

void topology_map(struct scontrol *s, const Pst__TopologyReply *t)
{
    struct map m = { .jobs = NULL };
    int r = cluster_nodes_load(scontrol_client(s, "slurm_load_node"), NULL, &m.t);

    if (r < 0) {
        scontrol_fail(s, "slurm_load_node error: %s", client_strerror(s->client, r));
        return;
    }
    r = load_jobs(s, &m);
    if (r < 0)
        scontrol_fail(s, "slurm_load_jobs error: %s", client_strerror(s->client, r));
    else
        print_map(&m, t);
    for (size_t i = 0; m.jobs && i < m.t.n_nodes; i++)
        free(m.jobs[i].ids);
    free(m.jobs);
    cluster_nodes_done(&m.t);
}
