/* gresfree.c - which devices of a node are free.
 *
 * Shares of GPUs (shard, mps) are devices of a row of their own, in segments, one for each GPU.
 * Invariant: a GPU that is held as a whole has no share held, and its shares are of one row.
 * gres_free() decides that from the held devices of all rows, so that it holds for what runs now,
 * for what is reserved and for what is planned alike. */
#include "sched/select/gresfree.h"

#include <string.h>

#include "base/cleanup.h"
#include "sched/profile/prof_data.h"
#include "sched/profile/prof_view.h"
#include "sched/sched.h"
#include "sched/select/nodeview.h"
#include "sched/state/bounds.h"
#include "sched/state/gresrow.h"
#include "sched/state/nodes.h"
#include "sched/state/question.h"
#include "sched/state/resvs.h"
#include "sched/state/sched_obj.h"

static void hold_reserved(const struct pick *p, uint32_t id, uint32_t at, uint64_t *held)
{
    struct node *n = &p->s->nodes[id];
    const struct gres_row *row = &n->gres[at];
    const struct resv_node *spare;

    for (uint32_t i = 0; i < p->s->nresvs; i++) {
        const struct sched_alloc_node *an = pick_conflict(p, &p->s->resvs[i], id, &spare);

        for (size_t k = 0; an && k < an->ngres; k++) {
            const struct sched_alloc_gres *g = &an->gres[k];

            if (!g->devices || node_gres_row(p->s, n, g) != row)
                continue;
            for (uint32_t d = 0; d < row->dev.n; d++)
                if (bit_in(g->devices, g->ndevice_words, row->first + d))
                    held[d >> 6] |= UINT64_C(1) << (d & 63);
        }
    }
}

/* The devices of a row that are taken when the job is looked at. */
static void held_devices(const struct pick *p, uint32_t id, uint32_t at, uint64_t *held)
{
    const struct gres_row *row = &p->s->nodes[id].gres[at];
    const struct prof_view *v = p->plan ? prof_view(p->s, id, p->from, p->until, p->end_us) : NULL;
    const uint64_t *from = v ? v->dev : row->dev.bits;

    for (const struct gres_row *r = p->s->nodes[id].gres; v && r < row; r++)
        from += r->dev.nwords;
    if (p->idle)
        memset(held, 0, row->dev.nwords * sizeof(*held));
    else
        memcpy(held, from, row->dev.nwords * sizeof(*held));
    if (p->overlay && !p->idle)
        hold_reserved(p, id, at, held);
}

static bool any_in(const uint64_t *words, uint32_t first, uint32_t count)
{
    for (uint32_t i = first; i < first + count; i++)
        if (words[i >> 6] >> (i & 63) & 1)
            return true;
    return false;
}

static void clear_range(uint64_t *words, uint32_t first, uint32_t count)
{
    for (uint32_t i = first; i < first + count; i++)
        words[i >> 6] &= ~(UINT64_C(1) << (i & 63));
}

/* Does something of row hold the GPU with that index? */
static bool holds_gpu(const struct gres_row *row, const uint64_t *held, uint32_t device)
{
    uint32_t first = 0;

    if (row->gpu)
        return row->indexed && device - row->first < row->dev.n &&
               any_in(held, device - row->first, 1);
    for (uint32_t i = 0; i < row->nshares; first += row->shares[i++].count)
        if (row->shares[i].device == device && any_in(held, first, row->shares[i].count))
            return true;
    return false;
}

/* Take from `avail` what other rows hold of the same GPUs. */
static void leave_shared(const struct pick *p, uint32_t id, uint32_t at, uint64_t *avail)
{
    const struct node *n = &p->s->nodes[id];
    const struct gres_row *row = &n->gres[at];
    uint64_t held[SCHED_MAX_DEVICES / 64];

    for (uint32_t k = 0; k < n->ngres; k++) {
        const struct gres_row *other = &n->gres[k];
        uint32_t first = 0;

        if (k == at || !other->indexed || (!other->shares && !(row->shares && other->gpu)))
            continue;
        held_devices(p, id, k, held);
        for (uint32_t d = 0; row->gpu && d < row->dev.n; d++)
            if (holds_gpu(other, held, row->first + d))
                clear_range(avail, d, 1);
        for (uint32_t i = 0; i < row->nshares; first += row->shares[i++].count)
            if (holds_gpu(other, held, row->shares[i].device))
                clear_range(avail, first, row->shares[i].count);
    }
}

uint64_t gres_free(const struct pick *p, uint32_t id, uint32_t at, uint64_t *dev)
{
    const struct node *n = &p->s->nodes[id];
    const struct gres_row *row = &n->gres[at];
    const struct prof_view *v = p->plan ? prof_view(p->s, id, p->from, p->until, p->end_us) : NULL;
    uint64_t used = p->idle ? 0 : v ? v->used[at] : row->used, devices = 0;
    uint64_t avail = row->total > used ? row->total - used : 0, scratch[SCHED_MAX_DEVICES / 64];
    uint64_t *words = dev ? dev : scratch;
    const struct resv_node *spare;

    for (uint32_t i = 0; p->overlay && i < p->s->nresvs; i++)
        if (pick_conflict(p, &p->s->resvs[i], id, &spare))
            avail = MIN(avail, spare->spare_gres[at]);
    if (!row->indexed)
        return avail;
    held_devices(p, id, at, words);
    for (uint32_t w = 0; w < row->dev.nwords; w++)
        words[w] = ~words[w];
    if (row->dev.n % 64)
        words[row->dev.nwords - 1] &= (UINT64_C(1) << row->dev.n % 64) - 1;
    if (n->shares && !p->idle && (row->gpu || row->shares))
        leave_shared(p, id, at, words);
    for (uint32_t w = 0; w < row->dev.nwords; w++)
        devices += (uint32_t)__builtin_popcountll(words[w]);
    return MIN(avail, devices);
}

uint32_t gres_count(const uint64_t *words, uint32_t first, uint32_t count)
{
    uint32_t n = 0;

    for (uint32_t i = first; i < first + count; i++)
        n += (uint32_t)(words[i >> 6] >> (i & 63) & 1);
    return n;
}

bool gres_row_matches(const struct pick *p, const struct gres_row *row, uint32_t req)
{
    return row->name == p->gname[req] &&
           (p->k->gres[req].type_off == UINT32_MAX || row->type == p->gtype[req]);
}
