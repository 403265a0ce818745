/* grespick.c - which devices a job gets on a node.
 *
 * Those near its CPUs first; of these the ones that are linked best to each other, then the
 * lowest indexes.  Shares come from the first GPU that has enough of them, or from the one with
 * most of them free (LL_SHARED_GRES). */
#include "sched/select/grespick.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "sched/sched.h"
#include "sched/select/gresbind.h"
#include "sched/select/gresfree.h"
#include "sched/state/bounds.h"
#include "sched/state/classes.h"
#include "sched/state/fits.h"
#include "sched/state/gresrow.h"
#include "sched/state/nodes.h"
#include "sched/state/parts.h"
#include "sched/state/question.h"
#include "sched/state/sched_obj.h"
#include "sched/state/shape.h"
#include "sched/base/strtab.h"

#define LINKED_MAX 64u /* devices of a row whose links are looked at */

uint64_t gres_gpus(const struct pick *p, const struct fit *f)
{
    const struct shape_gres *g;

    if (p->gpu == UINT32_MAX)
        return 0;
    g = &p->k->gres[p->gpu];
    return g->per_job ? f->gres[p->gpu] : g->per_node + g->per_task * f->tasks;
}

static bool is_near(const struct node *n, const struct gres_row *row, uint32_t device,
                    const uint64_t *cpus)
{
    const uint64_t *near = gres_near(n, row, device);

    for (uint32_t w = 0; near && w < n->nwords; w++)
        if (near[w] & cpus[w])
            return true;
    return !near;
}

/* ---- how many of each row -------------------------------------------------------------------- */

/* Free devices of a row; near: only those near the CPUs. */
static uint64_t devices_free(const struct pick *p, uint32_t id, uint32_t at, const uint64_t *cpus,
                             bool near)
{
    const struct node *n = &p->s->nodes[id];
    const struct gres_row *row = &n->gres[at];
    uint64_t words[SCHED_MAX_DEVICES / 64], count = 0;

    if (!near || !row->near)
        return gres_free(p, id, at, NULL);
    (void)gres_free(p, id, at, words); /* for the devices it writes */
    for (uint32_t d = 0; d < row->dev.n; d++)
        count += gres_count(words, d, 1) && is_near(n, row, d, cpus);
    return count;
}

/* Most shares of one device, or all. */
static uint64_t shares_free(const struct pick *p, uint32_t id, uint32_t at, bool all)
{
    const struct gres_row *row = &p->s->nodes[id].gres[at];
    uint64_t words[SCHED_MAX_DEVICES / 64], most = 0, sum = 0;
    uint32_t first = 0;

    (void)gres_free(p, id, at, words); /* for the devices it writes */
    for (uint32_t i = 0; i < row->nshares; first += row->shares[i++].count) {
        uint32_t here = gres_count(words, first, row->shares[i].count);

        most = MAX(most, (uint64_t)here);
        sum += here;
    }
    return all ? sum : most;
}

/* What the request gets of the row, at most need. */
static uint64_t from_row(const struct pick *p, const struct fit *f, uint32_t r, uint32_t at,
                         uint64_t need, const uint64_t *cpus, bool near, const uint64_t *take)
{
    const struct gres_row *row = &p->s->nodes[f->id].gres[at];
    bool apart = p->k->flags & SHAPE_TASK_SHARE && p->k->gres[r].per_task;
    uint64_t avail;

    if (row->shares && !p->s->params.several_shared && !apart)
        return shares_free(p, f->id, at, false) >= need ? need : 0;
    avail = row->shares ? shares_free(p, f->id, at, true) : devices_free(p, f->id, at, cpus, near);
    return MIN(need, avail > take[at] ? avail - take[at] : 0);
}

static int choose_request(const struct pick *p, const struct fit *f, uint32_t r,
                          const uint64_t *cpus, uint64_t *take)
{
    const struct node *n = &p->s->nodes[f->id];
    const struct shape_gres *g = &p->k->gres[r];
    uint64_t need = g->per_node + g->per_task * f->tasks;

    if (r < p->cls->shape->npj)
        need = MAX(need, (uint64_t)f->gres[r]);
    for (uint32_t pass = 0; need && pass < 2; pass++) {
        for (uint32_t row = 0; row < n->ngres && need; row++) {
            uint64_t got;

            if (!gres_row_matches(p, &n->gres[row], r))
                continue;
            got = from_row(p, f, r, row, need, cpus, pass == 0, take);
            take[row] += got;
            need -= got;
        }
    }
    return need ? -EAGAIN : 0;
}

int gres_choose(const struct pick *p, const struct fit *f, const uint64_t *cpus, uint64_t *take)
{
    const struct node *n = &p->s->nodes[f->id];
    const struct shape *sh = p->cls->shape;
    bool all = (sh->key.flags & SHAPE_EXCLUSIVE) || p->part->exclusive_node, shares = false;
    int r = 0;

    memset(take, 0, n->ngres * sizeof(*take));
    for (uint32_t i = 0; r == 0 && i < sh->key.ngres; i++)
        r = choose_request(p, f, i, cpus, take);
    for (uint32_t row = 0; row < n->ngres; row++)
        shares |= n->gres[row].shares && take[row];
    for (uint32_t row = 0; r == 0 && all && row < n->ngres; row++)
        if (!n->gres[row].shares && !n->gres[row].explicit_only && !(shares && n->gres[row].gpu))
            take[row] = gres_free(p, f->id, row, NULL);
    return r;
}

/* ---- which ones ------------------------------------------------------------------------------ */

struct cands { /* free devices of a row, near ones first */
    uint32_t v[SCHED_MAX_DEVICES], n, near;
};

static void list_candidates(const struct node *n, const struct gres_row *row, const uint64_t *words,
                            const uint64_t *cpus, struct cands *c)
{
    c->n = 0;
    for (uint32_t pass = 0; pass < (row->near ? 2u : 1u); pass++) {
        for (uint32_t d = 0; d < row->dev.n; d++)
            if (gres_count(words, d, 1) && (!row->near || is_near(n, row, d, cpus) == (pass == 0)))
                c->v[c->n++] = d;
        if (pass == 0)
            c->near = c->n;
    }
}

/* Does the device bring CPUs nearer that those before it do not? */
static uint32_t brings_cpus(const struct node *n, const struct gres_row *row, const struct cands *c,
                            uint32_t at, const uint64_t *cpus)
{
    const uint64_t *near = gres_near(n, row, c->v[at]);
    uint32_t sum = 0;

    for (uint32_t w = 0; w < n->nwords; w++) {
        uint64_t more = (near ? near[w] : ~UINT64_C(0)) & cpus[w];

        for (uint32_t i = 0; i < at && more; i++) {
            const uint64_t *other = gres_near(n, row, c->v[i]);

            more &= other ? ~other[w] : 0;
        }
        sum += (uint32_t)__builtin_popcountll(more);
    }
    return sum;
}

/* Where binding is enforced: first devices that together are near all CPUs. */
static void choose_covering(const struct node *n, const struct gres_row *row, const uint64_t *cpus,
                            struct cands *c, uint32_t count)
{
    for (uint32_t at = 0; row->near && at < count && at < c->n; at++) {
        uint32_t best = at, most = 0, d;

        for (uint32_t i = at; i < c->n; i++) {
            uint32_t here;

            d = c->v[i];
            c->v[i] = c->v[at];
            c->v[at] = d;
            here = brings_cpus(n, row, c, at, cpus);
            c->v[at] = c->v[i];
            c->v[i] = d;
            if (here > most) {
                most = here;
                best = i;
            }
        }
        d = c->v[best];
        memmove(c->v + at + 1, c->v + at, (best - at) * sizeof(*c->v));
        c->v[at] = d;
    }
}

bool gres_covers(const struct pick *p, const struct sched_alloc_node *an)
{
    struct node *n = &p->s->nodes[an->node_id];

    if (!n->near || !(p->k->flags & SHAPE_BIND) || p->whole || !an->ngres)
        return true;
    for (uint32_t w = 0; w < n->nwords; w++) {
        uint64_t left = an->cpu_bits[w];

        for (size_t i = 0; i < an->ngres && left; i++) {
            const struct gres_row *row = node_gres_row(p->s, n, &an->gres[i]);

            for (uint32_t d = 0; row && row->indexed && d < row->dev.n; d++) {
                const uint64_t *near = gres_near(n, row, d);

                if (bit_in(an->gres[i].devices, an->gres[i].ndevice_words, row->first + d))
                    left &= near ? ~near[w] : 0;
            }
            if (!row || !row->indexed)
                return true; /* what has no place is near to all */
        }
        if (left)
            return false;
    }
    return true;
}

/* Put the count - 1 of [1, end) that are linked best to the first behind it, and say how well
 * they are. */
static int64_t link_up(const struct gres_row *row, uint32_t *v, uint32_t end, uint32_t count)
{
    const int32_t *links = row->links + (size_t)v[0] * row->total;
    int64_t sum = 0;

    for (uint32_t i = 1; i < count; i++) {
        uint32_t best = i, d;

        for (uint32_t k = i + 1; k < end; k++)
            if (links[v[k]] > links[v[best]])
                best = k;
        d = v[best];
        memmove(v + i + 1, v + i, (best - i) * sizeof(*v)); /* the others keep their order */
        v[i] = d;
        sum += links[d];
    }
    return sum;
}

static void choose_linked(const struct gres_row *row, struct cands *c, uint32_t count)
{
    uint32_t end = c->near >= count ? c->near : c->n, best[LINKED_MAX], try[LINKED_MAX];
    int64_t best_sum = INT64_MIN;

    if (!row->links || count < 2 || end > LINKED_MAX || count >= end)
        return;
    for (uint32_t i = 0; i < end; i++) {
        int64_t sum;

        memcpy(try, c->v, end * sizeof(*try));
        memmove(try + 1, try, i * sizeof(*try));
        try[0] = c->v[i];
        sum = link_up(row, try, end, count);
        if (sum > best_sum) {
            best_sum = sum;
            memcpy(best, try, end * sizeof(*best));
        }
    }
    memcpy(c->v, best, end * sizeof(*best));
}

/* The device whose shares come next: with need of them free, near ones first.  nshares: none. */
static uint32_t next_segment(const struct pick *p, const struct node *n, const struct gres_row *row,
                             const uint64_t *words, const uint64_t *cpus, uint64_t need)
{
    for (uint32_t pass = 0; pass < 2; pass++) {
        uint32_t first = 0, best = row->nshares;
        double most = -1;

        for (uint32_t i = 0; i < row->nshares; first += row->shares[i++].count) {
            uint32_t here = gres_count(words, first, row->shares[i].count);
            double part = p->s->params.least_shared ? (double)here / row->shares[i].count : 0;

            if (here >= need && part > most && (pass || is_near(n, row, first, cpus))) {
                most = part;
                best = i;
            }
        }
        if (best < row->nshares)
            return best;
    }
    return row->nshares;
}

static void give_device(struct sched_alloc_gres *out, const struct gres_row *row, uint32_t device)
{
    uint32_t bit = row->first + device;

    out->devices[bit >> 6] |= UINT64_C(1) << (bit & 63);
}

/* Of one device (for each task where they are kept apart), or as many as it takes. */
static void give_shares(const struct pick *p, const struct fit *f, const uint64_t *cpus,
                        uint32_t at, uint64_t count, uint64_t *words, struct sched_alloc_gres *out)
{
    const struct node *n = &p->s->nodes[f->id];
    const struct gres_row *row = &n->gres[at];
    bool apart = p->k->flags & SHAPE_TASK_SHARE;
    uint64_t each = apart && f->tasks ? MAX(count / f->tasks, 1u) : count;

    while (count) {
        uint64_t portion = MIN(each, count);
        uint32_t seg = next_segment(p, n, row, words, cpus, portion), first = 0;

        if (seg == row->nshares) /* no device has all of it */
            seg = next_segment(p, n, row, words, cpus, 1);
        if (seg == row->nshares)
            return;
        for (uint32_t i = 0; i < seg; i++)
            first += row->shares[i].count;
        for (uint32_t i = first; i < first + row->shares[seg].count; i++) {
            if (portion && gres_count(words, i, 1)) {
                give_device(out, row, i);
                portion--;
                count--;
            } else if (!apart) {
                continue;
            }
            words[i >> 6] &= ~(UINT64_C(1) << (i & 63)); /* given, or not for the next task */
        }
    }
}

static bool near_alike(const struct node *n, const struct gres_row *row, uint32_t a, uint32_t b)
{
    const uint64_t *x = gres_near(n, row, a), *y = gres_near(n, row, b);

    return x == y || (x && y && memcmp(x, y, n->nwords * sizeof(*x)) == 0);
}

/* Devices of the row that are asked of each socket; 0: wherever they are. */
static uint64_t asks_by_socket(const struct pick *p, const struct gres_row *row)
{
    for (uint32_t r = 0; row->near && r < p->k->ngres; r++)
        if (p->k->gres[r].per_socket && gres_row_matches(p, row, r))
            return p->k->gres[r].per_socket;
    return 0;
}

/* First the devices that are not more than what is asked of their socket, of those sockets before
 * others that have so many. */
static void spread_by_socket(const struct pick *p, const struct node *n, const struct gres_row *row,
                             struct cands *c)
{
    uint64_t most = asks_by_socket(p, row);
    uint32_t taken = 0;

    for (uint32_t pass = 0; pass < 2; pass++) {
        for (uint32_t i = taken; i < c->n; i++) {
            uint64_t here = 0, all = 0;
            uint32_t d = c->v[i];

            for (uint32_t k = 0; k < c->n; k++)
                all += near_alike(n, row, c->v[k], d);
            for (uint32_t k = 0; k < taken; k++)
                here += near_alike(n, row, c->v[k], d);
            if (here >= most || (pass == 0 && all < most))
                continue;
            memmove(c->v + taken + 1, c->v + taken, (i - taken) * sizeof(*c->v));
            c->v[taken++] = d;
        }
    }
}

void gres_fill(const struct pick *p, const struct fit *f, const uint64_t *cpus, uint32_t at,
               uint64_t count, struct sched_alloc_gres *out, uint64_t **words)
{
    const struct node *n = &p->s->nodes[f->id];
    const struct gres_row *row = &n->gres[at];
    char **names = p->s->gres_tab.names;
    uint64_t avail[SCHED_MAX_DEVICES / 64];
    struct cands c; /* large: set where it is used */

    *out = (struct sched_alloc_gres){ .name = names[row->name],
                                      .type = row->type == STRTAB_NONE ? NULL : names[row->type],
                                      .count = row->no_consume ? 0 : count };
    if (!row->indexed)
        return;
    out->devices = *words;
    out->ndevice_words = (row->first + row->dev.n + 63) / 64;
    *words += out->ndevice_words;
    memset(out->devices, 0, out->ndevice_words * sizeof(uint64_t));
    (void)gres_free(p, f->id, at, avail); /* for the devices it writes */
    if (row->shares) {
        give_shares(p, f, cpus, at, count, avail, out);
        return;
    }
    list_candidates(n, row, avail, cpus, &c);
    if (asks_by_socket(p, row))
        spread_by_socket(p, n, row, &c);
    else if (p->k->flags & SHAPE_BIND && !p->whole)
        choose_covering(n, row, cpus, &c, (uint32_t)count);
    else
        choose_linked(row, &c, (uint32_t)count);
    for (uint32_t i = 0; i < c.n && i < count; i++)
        give_device(out, row, c.v[i]);
}
