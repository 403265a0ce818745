/* nodeview.c - what a node has for a job: the CPUs and the memory that the job may have.
 *
 * This is the one place that knows the three ways to ask: as things are, beside the reservations
 * of a backfill (pick.overlay), and throughout a span of the profile (pick.plan). */
#include "sched/select/nodeview.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/gres/grestext.h"
#include "sched/profile/prof_data.h"
#include "sched/rules/advres.h"
#include "sched/sched.h"
#include "sched/state/classes.h"
#include "sched/state/nodes.h"
#include "sched/state/parts.h"
#include "sched/state/question.h"
#include "sched/state/resvs.h"
#include "sched/state/sched_obj.h"
#include "sched/state/shape.h"
#include "sched/state/topoclose.h"
#include "sched/base/strtab.h"

#define NO_MATCH (UINT32_MAX - 1)

void pick_take_whole(struct pick *p, bool boot)
{
    const struct shape_key *k = p->k;

    p->whole = boot || (k->flags & SHAPE_EXCLUSIVE) || p->part->exclusive_node || p->closes ||
               p->part->select == SCHED_SELECT_LINEAR;
    p->share_max = !p->whole && (p->part->force || (k->flags & SHAPE_SHARE))
                       ? MAX(p->part->oversubscribe, 1u)
                       : 1;
    p->share = p->share_max;
    p->plain = !k->ngres && !p->whole && p->share_max == 1 && !p->idle && !p->plan &&
               p->part->select != SCHED_SELECT_SOCKET && !k->ntasks_per_socket && !k->core_spec &&
               !k->nlisted && !p->part->node_cpus && !p->part->max_cpus_per_socket && !p->s->uids &&
               !p->s->labels && !p->s->advs && !k->resv;
    p->s->alike.known = false;
}

void pick_init(struct pick *p)
{
    const struct shape *sh = p->cls->shape;
    const struct strtab *t = &p->s->gres_tab;

    const struct shape_key *k = &sh->key;

    p->k = k;
    p->gpu = UINT32_MAX;
    p->gpus = false;
    p->closes = (p->k->flags & SHAPE_EXCLUSIVE_TOPO || p->part->exclusive_topo) &&
                topo_can_close(p->part->topo);
    pick_take_whole(p, false);
    for (uint32_t i = 0; i < p->k->ngres; i++) {
        const struct shape_gres *g = &p->k->gres[i];
        const char *name = sh->text + g->name_off;
        const char *type = g->type_off == UINT32_MAX ? NULL : sh->text + g->type_off;

        p->gname[i] = strtab_find(t, name, strlen(name));
        p->gtype[i] = type ? strtab_find(t, type, strlen(type)) : STRTAB_NONE;
        if ((k->cpus_per_gpu || k->mem_per_gpu_mib || k->tasks_per_gpu) && p->gpu == UINT32_MAX &&
            strcmp(name, "gpu") == 0)
            p->gpu = i;
        p->gpus |= strcmp(name, "gpu") == 0 || gres_shares_gpu(name);
        if (p->gname[i] == STRTAB_NONE || (type && p->gtype[i] == STRTAB_NONE))
            p->gname[i] = NO_MATCH;
    }
}

uint64_t pick_least_cpus(const struct pick *p)
{
    const struct shape_key *k = p->k;
    uint64_t tasks =
        k->num_tasks ? k->num_tasks : (uint64_t)MAX(k->min_nodes, 1u) * MAX(k->ntasks_per_node, 1u);

    if (p->share_max > 1 || k->flags & (SHAPE_OVERCOMMIT | SHAPE_KEPT_TOO))
        return 0; /* it has CPUs that are not free */
    return tasks * k->cpus_per_task;
}

/* Take these from words: the last core of the last socket, of the one before, and so on. */
static void leave_cores(const struct pick *p, const struct node *n, uint64_t *words)
{
    uint32_t left = job_spec_cores(p, n);

    for (uint32_t i = 0; left && i < n->sockets * n->cores_per_socket; i++) {
        uint32_t socket = n->sockets - 1 - i % n->sockets;
        uint32_t core = n->cores_per_socket - 1 - i / n->sockets;
        uint32_t cpu = (socket * n->cores_per_socket + core) * n->threads;

        if (n->spec && (n->spec[cpu >> 6] >> (cpu & 63) & 1))
            continue;
        left--;
        for (uint32_t t = cpu; t < cpu + n->threads; t++)
            words[t >> 6] &= ~(UINT64_C(1) << (t & 63));
    }
}

/* CPUs that a job which shares with up to share - 1 others may take. */
static void shared_cpus(const struct pick *p, const struct node *n, const uint64_t *busy,
                        const uint64_t *firm, uint64_t *words)
{
    for (uint32_t w = 0; w < n->nwords; w++) {
        words[w] = ~firm[w];
        for (uint64_t m = busy[w] & words[w]; m; m &= m - 1) {
            uint32_t b = (uint32_t)__builtin_ctzll(m);

            if (n->busy.extra[w * 64 + b] + 1u >= p->share)
                words[w] &= ~(UINT64_C(1) << b);
        }
    }
}

/* Leave the first CPUs of each socket, as many as the partition may have, in whole cores.  The
 * same for all its jobs, so that together they keep to the limit whatever the time. */
static void leave_sockets(const struct pick *p, const struct node *n, uint64_t *words)
{
    uint32_t per = socket_cpus(n);

    for (uint32_t first = 0; first < n->cpus; first += per) {
        uint32_t left = p->part->max_cpus_per_socket / n->threads * n->threads;

        for (uint32_t c = first; c < first + per && c < n->cpus; c++) {
            if (n->spec && (n->spec[c >> 6] >> (c & 63) & 1))
                continue;
            if (left)
                left--;
            else
                words[c >> 6] &= ~(UINT64_C(1) << (c & 63));
        }
    }
}

void pick_free_cpus(const struct pick *p, uint32_t id, uint64_t *words)
{
    const struct node *n = &p->s->nodes[id];
    const struct resv_node *spare;
    const struct prof_view *v = p->plan ? view_of(p, id) : NULL;
    const uint64_t *busy = v ? v->busy : n->busy.bits, *firm = v ? v->firm : n->firm.bits;

    if (p->idle)
        memset(words, 0xff, n->nwords * sizeof(*words));
    else if (p->share > 1)
        shared_cpus(p, n, busy, firm, words);
    else
        for (uint32_t w = 0; w < n->nwords; w++)
            words[w] = ~busy[w];
    for (uint32_t w = 0; p->idle && n->spec && w < n->nwords; w++)
        words[w] &= ~n->spec[w];
    for (uint32_t w = 0; p->k->flags & SHAPE_KEPT_TOO && n->spec && w < n->nwords; w++)
        words[w] |= n->spec[w];
    for (uint32_t w = 0; for_gpus(p, n) && w < n->nwords; w++)
        words[w] &= ~n->gpu_cpus[w];
    if (socket_limit(p, n))
        leave_sockets(p, n, words);
    for (uint32_t i = 0; p->overlay && i < p->s->nresvs; i++) {
        const struct sched_alloc_node *an = pick_conflict(p, &p->s->resvs[i], id, &spare);

        for (uint32_t w = 0; an && w < an->ncpu_words; w++)
            words[w] &= ~an->cpu_bits[w];
    }
    const uint64_t *kept = adv_blocked(p, id);

    for (uint32_t w = 0; kept && w < n->nwords; w++)
        words[w] &= ~kept[w];
    if (n->cpus % 64)
        words[n->nwords - 1] &= (UINT64_C(1) << n->cpus % 64) - 1;
    if (p->k->core_spec)
        leave_cores(p, n, words);
}

uint64_t pick_free_mem(const struct pick *p, uint32_t id)
{
    const struct node *n = &p->s->nodes[id];
    const struct resv_node *spare;
    uint64_t avail = n->mem_mib > n->mem_used ? n->mem_mib - n->mem_used : 0;

    if (p->idle || !p->part->select_memory)
        return n->mem_mib;
    if (p->plan) {
        const struct prof_view *v = view_of(p, id);

        return n->mem_mib > v->mem ? n->mem_mib - v->mem : 0;
    }
    for (uint32_t i = 0; p->overlay && i < p->s->nresvs; i++)
        if (pick_conflict(p, &p->s->resvs[i], id, &spare))
            avail = MIN(avail, spare->spare_mem);
    return avail;
}
