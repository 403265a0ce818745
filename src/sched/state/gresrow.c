/* gresrow.c - a row: what a node has of one kind of device (one name and type) */
#include "sched/state/gresrow.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sched/sched.h"
#include "sched/base/cbits.h"
#include "sched/state/nodes.h"
#include "sched/state/sched_obj.h"
#include "sched/base/strtab.h"

void gres_row_done(struct gres_row *row)
{
    cbits_done(&row->dev);
    free(row->shares);
    free(row->near);
    free(row->links);
}

static int build_shares(const struct sched_gres_spec *in, struct gres_row *row)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < in->nshares; i++)
        sum += in->shares[i].count;
    if (!in->indexed || sum != in->count)
        return -EINVAL;
    row->shares = malloc((in->nshares + 1) * sizeof(*row->shares));
    if (!row->shares)
        return -ENOMEM;
    memcpy(row->shares, in->shares, in->nshares * sizeof(*row->shares));
    row->nshares = (uint32_t)in->nshares;
    return 0;
}

static int build_near(const struct node *n, const struct sched_gres_spec *in, struct gres_row *row)
{
    row->near = malloc((in->count * n->nwords + 1) * sizeof(*row->near));
    if (!row->near)
        return -ENOMEM;
    for (uint64_t d = 0; d < in->count; d++) {
        uint64_t *to = row->near + d * n->nwords;

        if (in->near_cpus[d])
            memcpy(to, in->near_cpus[d], n->nwords * sizeof(*to));
        else
            memset(to, 0xff, n->nwords * sizeof(*to));
    }
    return 0;
}

int gres_row_build(struct sched *s, const struct node *n, const struct sched_gres_spec *in,
                   struct gres_row *row)
{
    int r;

    *row = (struct gres_row){ .total = in->count,
                              .indexed = in->indexed,
                              .explicit_only = in->explicit_only,
                              .no_consume = in->no_consume,
                              .first = in->first_index,
                              .type = STRTAB_NONE };
    row->gpu = !in->shares && strcmp(in->name, "gpu") == 0;
    r = strtab_intern(&s->gres_tab, in->name, &row->name);
    if (r == 0 && in->type)
        r = strtab_intern(&s->gres_tab, in->type, &row->type);
    if (r == 0 && in->indexed)
        r = cbits_init(&row->dev, (uint32_t)in->count);
    if (r == 0 && in->shares)
        r = build_shares(in, row);
    if (r == 0 && in->near_cpus && in->indexed)
        r = build_near(n, in, row);
    if (r == 0 && in->links && in->indexed) {
        size_t size = in->count * in->count * sizeof(*row->links);

        row->links = malloc(size + 1);
        if (row->links)
            memcpy(row->links, in->links, size);
        else
            r = -ENOMEM;
    }
    if (r < 0)
        gres_row_done(row);
    return r;
}

static bool same_block(const void *a, const void *b, size_t size)
{
    return !a == !b && (!a || memcmp(a, b, size) == 0);
}

bool gres_row_alike(const struct node *n, const struct gres_row *a, const struct gres_row *b)
{
    return a->name == b->name && a->type == b->type && a->total == b->total &&
           a->indexed == b->indexed && a->explicit_only == b->explicit_only &&
           a->no_consume == b->no_consume && a->first == b->first && a->nshares == b->nshares &&
           same_block(a->shares, b->shares, a->nshares * sizeof(*a->shares)) &&
           same_block(a->near, b->near, a->total * n->nwords * sizeof(*a->near)) &&
           same_block(a->links, b->links, a->total * a->total * sizeof(*a->links));
}
