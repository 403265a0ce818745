/* pmilayout.c - see pmilayout.h.  Pure. */
#include "pmi/pmilayout.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/strbuf.h"
#include "base/bind/tasklayout.h"

static int count_tasks(struct layout *l, Pst__StepPart *const *parts)
{
    for (size_t i = 0; i < l->n_parts; i++) {
        const Pst__StepPart *from = parts[i];
        struct layout_part *p = &l->parts[i];
        int r;

        *p = (struct layout_part){ .first_rank = l->n_ranks,
                                   .first_node = l->n_nodes,
                                   .from = from };
        r = hostlist_push_list(l->names, from->nodes, NULL);
        if (r < 0)
            return r;
        p->n_nodes = (uint32_t)from->n_counts;
        l->n_nodes += p->n_nodes;
        if (hostlist_count(l->names) != l->n_nodes)
            return -EINVAL;
        for (size_t k = 0; k < from->n_counts; k++) {
            if (from->counts[k] > TASKS_MAX - l->n_ranks)
                return -EINVAL;
            l->n_ranks += from->counts[k];
        }
        p->n_ranks = l->n_ranks - p->first_rank;
    }
    return l->n_ranks ? 0 : -EINVAL;
}

static int place_part(struct layout *l, const struct layout_part *p)
{
    uint32_t at = p->first_rank;
    int r = tasklayout(p->from->distribution, p->from->counts, p->n_nodes, l->ranks + at);

    for (uint32_t n = 0; r == 0 && n < p->n_nodes; n++) {
        l->first[p->first_node + n] = at;
        for (uint32_t k = 0; k < p->from->counts[n]; k++, at++) {
            l->ranks[at] += p->first_rank;
            l->node_of[l->ranks[at]] = p->first_node + n;
        }
    }
    return r;
}

int layout_init(struct layout *l, Pst__StepPart *const *parts, size_t n_parts)
{
    int r;

    *l = (struct layout){ .n_parts = n_parts };
    r = hostlist_new(&l->names);
    l->parts = calloc(n_parts + 1, sizeof(*l->parts));
    if (r == 0)
        r = l->parts ? count_tasks(l, parts) : -ENOMEM;
    if (r == 0) {
        l->node_of = calloc(l->n_ranks, sizeof(*l->node_of));
        l->ranks = calloc(l->n_ranks, sizeof(*l->ranks));
        l->first = calloc(l->n_nodes + 1, sizeof(*l->first));
        r = l->node_of && l->ranks && l->first ? 0 : -ENOMEM;
    }
    for (size_t i = 0; r == 0 && i < n_parts; i++)
        r = place_part(l, &l->parts[i]);
    if (r == 0)
        l->first[l->n_nodes] = l->n_ranks;
    else
        layout_done(l);
    return r;
}

void layout_done(struct layout *l)
{
    free(l->node_of);
    free(l->ranks);
    free(l->first);
    free(l->parts);
    hostlist_free(l->names);
    *l = (struct layout){ 0 };
}

const struct layout_part *layout_part(const struct layout *l, uint32_t rank)
{
    size_t i = l->n_parts - 1;

    while (l->parts[i].first_rank > rank)
        i--;
    return &l->parts[i];
}

static char *text_of(struct strbuf *sb)
{
    char *text = NULL;

    return strbuf_detach(sb, &text) == 0 ? text : NULL;
}

char *layout_node_list(const struct layout *l)
{
    struct strbuf sb = STRBUF_INIT;

    for (uint32_t n = 0; n < l->n_nodes; n++)
        strbuf_addf(&sb, "%s%s", n ? "," : "", hostlist_nth(l->names, n));
    return text_of(&sb);
}

char *layout_rank_map(const struct layout *l)
{
    struct strbuf sb = STRBUF_INIT;

    for (uint32_t n = 0; n < l->n_nodes; n++)
        for (uint32_t k = l->first[n]; k < l->first[n + 1]; k++)
            strbuf_addf(&sb, "%s%u", k > l->first[n] ? "," : n ? ";" : "", l->ranks[k]);
    return text_of(&sb);
}

/* Consecutive ranks on the node of `rank`. */
static uint32_t run_at(const struct layout *l, uint32_t rank)
{
    uint32_t n = 1;

    while (rank + n < l->n_ranks && l->node_of[rank + n] == l->node_of[rank])
        n++;
    return n;
}

char *layout_vector(const struct layout *l)
{
    struct strbuf sb = STRBUF_INIT;
    uint32_t rank = 0;

    strbuf_addf(&sb, "(vector");
    while (rank < l->n_ranks) {
        uint32_t first = l->node_of[rank], each = run_at(l, rank), nodes = 1;

        rank += each;
        while (rank < l->n_ranks && l->node_of[rank] == first + nodes && run_at(l, rank) == each) {
            nodes++;
            rank += each;
        }
        strbuf_addf(&sb, ",(%u,%u,%u)", first, nodes, each);
    }
    strbuf_addf(&sb, ")");
    return text_of(&sb);
}
