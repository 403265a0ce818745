/* limit_check.c - is a job over a limit? see limit.h.
 *
 * The order is that of the documented precedence: the QOS of partition and job (or the other way
 * round), then the association and the accounts above it; first the numbers of jobs and the wall
 * time, then what is counted in TRES.  What a QOS says about a limit replaces what associations
 * say about it; the second QOS is asked only for what the first leaves open.  A test costs as
 * much as there are limits set, not as there are TRES or jobs. */
#include "sched/rules/limit_check.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "sched/rules/assoctree.h"
#include "sched/rules/limit.h"
#include "sched/rules/limit_count.h"
#include "sched/rules/limit_data.h"
#include "sched/rules/limit_levels.h"
#include "sched/rules/tresfactor.h"
#include "sched/sched.h"
#include "sched/state/jobs.h"
#include "sched/state/nodes.h"
#include "sched/state/parts.h"
#include "sched/state/queue.h"
#include "sched/state/sched_obj.h"
#include "sched/base/strtab.h"

struct test {
    struct sched *s;
    const struct entry *e;
    const struct job *j;
    struct ask ask;
    uint32_t limit_min;
    int64_t now_us;
    struct level *qos[2], *assoc;
    uint32_t nqos;
    double factor;                                         /* LimitFactor */
    uint64_t said[SCHED_LIMIT_LISTS][SCHED_TRES_MAX / 64]; /* a QOS has spoken about it */
    uint32_t spoken;                                       /* likewise, numbers */
    struct sched_limit_hit hit;
};

static bool note_hit(struct test *t, const struct level *l, unsigned limit, uint32_t tres_id,
                     uint64_t value, uint64_t used, uint64_t asked)
{
    t->hit = (struct sched_limit_hit){ .limit = limit,
                                       .qos = l->qos,
                                       .id = l->id,
                                       .tres_id = tres_id,
                                       .value = value,
                                       .used = used,
                                       .asked = asked };
    return true;
}

/* ---- numbers --------------------------------------------------------------------------------- */

/* The value of a number that no level has set before. */
static bool read_number(const struct test *t, const struct level *l, enum sched_limit_number which,
                        uint64_t *ret)
{
    *ret = l->numbers[which];
    return *ret != SCHED_NO_LIMIT && !(t->spoken >> which & 1);
}

static bool over_jobs(struct test *t, const struct level *l, const struct level *counter,
                      enum sched_limit_number which, unsigned limit)
{
    uint64_t max, jobs = counter ? counter->jobs : 0;

    return read_number(t, l, which, &max) && jobs >= max && note_hit(t, l, limit, 0, max, jobs, 1);
}

/* Until it is used up, also where TRES-minutes must last for the whole job ("safe"). */
static bool over_wall(struct test *t, const struct level *l, unsigned limit)
{
    uint64_t max, used = (uint64_t)l->wall_minutes;

    return read_number(t, l, SCHED_GRP_WALL, &max) && used >= max &&
           note_hit(t, l, limit, 0, max, used, t->limit_min);
}

static bool over_max_wall(struct test *t, const struct level *l, unsigned limit)
{
    uint64_t max;

    return !t->j->any_time && read_number(t, l, SCHED_MAX_WALL, &max) && t->limit_min > max &&
           note_hit(t, l, limit, 0, max, 0, t->limit_min);
}

static bool below_threshold(struct test *t, const struct level *l)
{
    return (l->flags & SCHED_QOS_USAGE_THRESHOLD_ON) && l->usage_threshold > 0 &&
           assoc_fairshare(t->s, t->j->assoc_id) < l->usage_threshold &&
           note_hit(t, l, SCHED_LIMIT_QOS_USAGE_THRESHOLD, 0, (uint64_t)(l->usage_threshold * 100),
                    0, 0);
}

static const struct level *of_user(const struct test *t, const struct level *qos)
{
    return level_find(t->s, level_key_user(qos->id, t->j->uid));
}

static const struct level *of_account(const struct test *t, const struct level *qos)
{
    return t->assoc ? level_find(t->s, level_key_account(qos->id, t->assoc->account)) : NULL;
}

static bool over_numbers(struct test *t)
{
    for (uint32_t i = 0; i < t->nqos; i++) {
        const struct level *q = t->qos[i];

        if (below_threshold(t, q) || over_jobs(t, q, q, SCHED_GRP_JOBS, SCHED_LIMIT_QOS_GRP_JOBS) ||
            over_wall(t, q, SCHED_LIMIT_QOS_GRP_WALL) ||
            over_jobs(t, q, of_account(t, q), SCHED_ACCOUNT_JOBS, SCHED_LIMIT_QOS_ACCOUNT_JOBS) ||
            over_jobs(t, q, of_user(t, q), SCHED_USER_JOBS, SCHED_LIMIT_QOS_USER_JOBS) ||
            over_max_wall(t, q, SCHED_LIMIT_QOS_MAX_WALL))
            return true;
        for (uint32_t k = 0; k < SCHED_LIMIT_NUMBERS; k++)
            if (q->numbers[k] != SCHED_NO_LIMIT)
                t->spoken |= 1u << k;
    }
    if (t->spoken >> SCHED_USER_JOBS & 1)
        t->spoken |= 1u << SCHED_MAX_JOBS; /* jobs of a user: the same limit under another name */
    for (struct level *a = t->assoc; a;
         a = a->parent_id ? level_find(t->s, level_key_assoc(a->parent_id)) : NULL)
        if (over_jobs(t, a, a, SCHED_GRP_JOBS, SCHED_LIMIT_ASSOC_GRP_JOBS) ||
            over_wall(t, a, SCHED_LIMIT_ASSOC_GRP_WALL) ||
            (a == t->assoc && (over_jobs(t, a, a, SCHED_MAX_JOBS, SCHED_LIMIT_ASSOC_MAX_JOBS) ||
                               over_max_wall(t, a, SCHED_LIMIT_ASSOC_MAX_WALL))))
            return true;
    return false;
}

/* ---- TRES ------------------------------------------------------------------------------------ */

/* What the nodes of the cluster have of each TRES, for limits in per cent. */
static uint64_t total_of(struct sched *s, uint32_t slot)
{
    struct limits *m = s->limits;

    if (m->totals_gen != s->config_gen + 1) {
        memset(m->totals, 0, sizeof(m->totals));
        for (uint32_t i = 0; i < m->ntres; i++) {
            for (uint32_t n = 0; m->tres[i].name && n < s->nnodes; n++)
                if (s->nodes[n].exists)
                    m->totals[i] += (uint64_t)tres_of_node(s, &s->nodes[n], m->tres[i].name);
            if (m->tres[i].lic != STRTAB_NONE && m->tres[i].lic < s->nlics)
                m->totals[i] = s->lics[m->tres[i].lic].total;
        }
        m->totals_gen = s->config_gen + 1;
    }
    return m->totals[slot];
}

static uint64_t scale_capped(uint64_t n, double factor)
{
    double all = (double)n * factor;

    return all >= 0x1p64 ? UINT64_MAX : (uint64_t)all;
}

static uint64_t value_of(const struct test *t, const struct level *l, enum sched_limit_list list,
                         const struct slot_limit *sl)
{
    if (l->flags & SCHED_QOS_RELATIVE &&
        (list == SCHED_GRP_TRES || list == SCHED_MAX_TRES_JOB || list == SCHED_MAX_TRES_USER ||
         list == SCHED_MAX_TRES_ACCOUNT || list == SCHED_MAX_TRES_NODE ||
         list == SCHED_MIN_TRES_JOB))
        return total_of(t->s, sl->slot) * sl->count / 100;
    if (!l->qos && t->factor > 0 && (list == SCHED_GRP_TRES || list == SCHED_MAX_TRES_JOB))
        return scale_capped(sl->count, t->factor);
    return sl->count;
}

static uint64_t used_of(const struct level *l, uint32_t slot)
{
    return l && slot < l->ncounts ? l->counts[slot].used : 0;
}

static uint64_t minutes_of(const struct level *l, uint32_t slot)
{
    return slot < l->ncounts ? (uint64_t)l->counts[slot].minutes : 0;
}

static uint64_t multiply_capped(uint64_t n, uint64_t minutes)
{
    unsigned __int128 all = (unsigned __int128)n * minutes;

    return all > UINT64_MAX ? UINT64_MAX : (uint64_t)all;
}

static uint64_t add_capped(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static uint64_t job_minutes(struct test *t, uint32_t slot)
{
    uint64_t n = ask_tres(&t->ask, slot);

    return !n ? 0 : t->limit_min == SCHED_UNLIMITED ? UINT64_MAX : multiply_capped(n, t->limit_min);
}

/* With `safe`, what runs and the job itself must be able to end within what is left. */
static bool over_minutes(struct test *t, const struct level *l, uint32_t slot, uint64_t max,
                         uint64_t *ret_used, uint64_t *ret_asked)
{
    double factor = l->qos && (l->flags & SCHED_QOS_FACTOR_SAFE) ? l->usage_factor : 1;

    *ret_used = minutes_of(l, slot);
    *ret_asked = scale_capped(job_minutes(t, slot), factor);
    if (!ask_tres(&t->ask, slot)) /* whatever the others use up, it does not */
        return false;
    if (*ret_used >= max)
        return true;
    if (!t->s->limits->safe)
        return false;
    return add_capped(*ret_used, add_capped(level_run_minutes(l, slot, t->now_us), *ret_asked)) >
           max;
}

/* One limit of one TRES.  True when the job is over it, with what is used and asked. */
static bool over_one(struct test *t, const struct level *l, enum sched_limit_list list,
                     uint32_t slot, uint64_t max, uint64_t *used, uint64_t *asked)
{
    const struct level *part = NULL;

    *used = 0;
    *asked = ask_tres(&t->ask, slot);
    switch (list) {
    case SCHED_GRP_TRES:
        *used = used_of(l, slot);
        break;
    case SCHED_GRP_TRES_MINS:
        return over_minutes(t, l, slot, max, used, asked);
    case SCHED_MAX_TRES_NODE:
        *asked = ask_tres_node(&t->ask, slot);
        break;
    case SCHED_MAX_TRES_MINS_JOB:
        *asked = job_minutes(t, slot);
        break;
    case SCHED_GRP_TRES_RUN_MINS:
    case SCHED_MAX_RUN_MINS:
        *used = level_run_minutes(l, slot, t->now_us);
        *asked = job_minutes(t, slot);
        break;
    case SCHED_MIN_TRES_JOB:
        return *asked < max;
    case SCHED_MAX_TRES_USER:
    case SCHED_MAX_RUN_MINS_USER:
        part = of_user(t, l);
        break;
    case SCHED_MAX_TRES_ACCOUNT:
    case SCHED_MAX_RUN_MINS_ACCOUNT:
        part = of_account(t, l);
        break;
    default:
        break;
    }
    if (list == SCHED_MAX_RUN_MINS_USER || list == SCHED_MAX_RUN_MINS_ACCOUNT) {
        *used = part ? level_run_minutes(part, slot, t->now_us) : 0;
        *asked = job_minutes(t, slot);
    } else if (part) {
        *used = used_of(part, slot);
    }
    return *asked && add_capped(*used, *asked) > max;
}

static bool over_list(struct test *t, const struct level *l, enum sched_limit_list list,
                      unsigned scope)
{
    for (uint32_t i = 0; i < l->lists[list].n; i++) {
        const struct slot_limit *sl = &l->lists[list].v[i];
        const struct tres_slot *slot = &t->s->limits->tres[sl->slot];
        uint64_t max, used, asked;

        if (t->said[list][sl->slot / 64] >> (sl->slot % 64) & 1)
            continue;
        max = value_of(t, l, list, sl);
        if (over_one(t, l, list, sl->slot, max, &used, &asked))
            return note_hit(t, l, SCHED_LIMIT(scope, slot->type), slot->id, max, used, asked);
    }
    return false;
}

static void mark_spoken(struct test *t, const struct level *l)
{
    for (uint32_t k = 0; k < SCHED_LIMIT_LISTS; k++)
        for (uint32_t i = 0; i < l->lists[k].n; i++)
            t->said[k][l->lists[k].v[i].slot / 64] |= UINT64_C(1) << (l->lists[k].v[i].slot % 64);
}

struct list_row {
    enum sched_limit_list list;
    unsigned scope;
    bool leaf; /* associations: of the job's own only */
};

static const struct list_row qos_rows[] = {
    { SCHED_GRP_TRES_MINS, SCHED_LIMIT_QOS_GRP_MINS, false },
    { SCHED_GRP_TRES, SCHED_LIMIT_QOS_GRP, false },
    { SCHED_GRP_TRES_RUN_MINS, SCHED_LIMIT_QOS_GRP_RUN_MINS, false },
    { SCHED_MAX_TRES_MINS_JOB, SCHED_LIMIT_QOS_MAX_MINS, false },
    { SCHED_MAX_TRES_ACCOUNT, SCHED_LIMIT_QOS_MAX_ACCOUNT, false },
    { SCHED_MAX_TRES_JOB, SCHED_LIMIT_QOS_MAX_JOB, false },
    { SCHED_MAX_TRES_NODE, SCHED_LIMIT_QOS_MAX_NODE, false },
    { SCHED_MAX_TRES_USER, SCHED_LIMIT_QOS_MAX_USER, false },
    { SCHED_MAX_RUN_MINS_ACCOUNT, SCHED_LIMIT_QOS_RUN_MINS_ACCOUNT, false },
    { SCHED_MAX_RUN_MINS_USER, SCHED_LIMIT_QOS_RUN_MINS_USER, false },
    { SCHED_MIN_TRES_JOB, SCHED_LIMIT_QOS_MIN, false },
};

static const struct list_row assoc_rows[] = {
    { SCHED_GRP_TRES_MINS, SCHED_LIMIT_ASSOC_GRP_MINS, false },
    { SCHED_GRP_TRES, SCHED_LIMIT_ASSOC_GRP, false },
    { SCHED_GRP_TRES_RUN_MINS, SCHED_LIMIT_ASSOC_GRP_RUN_MINS, false },
    { SCHED_MAX_TRES_MINS_JOB, SCHED_LIMIT_ASSOC_MAX_MINS, true },
    { SCHED_MAX_TRES_JOB, SCHED_LIMIT_ASSOC_MAX_JOB, true },
    { SCHED_MAX_TRES_NODE, SCHED_LIMIT_ASSOC_MAX_NODE, true },
    { SCHED_MAX_RUN_MINS, SCHED_LIMIT_ASSOC_GRP_RUN_MINS, true },
};

static bool over_tres(struct test *t)
{
    if (t->j->any_size)
        return false;
    for (uint32_t i = 0; i < t->nqos; i++) {
        for (size_t k = 0; k < ARRAY_SIZE(qos_rows); k++)
            if (over_list(t, t->qos[i], qos_rows[k].list, qos_rows[k].scope))
                return true;
        mark_spoken(t, t->qos[i]);
    }
    for (struct level *a = t->assoc; a;
         a = a->parent_id ? level_find(t->s, level_key_assoc(a->parent_id)) : NULL)
        for (size_t k = 0; k < ARRAY_SIZE(assoc_rows); k++)
            if ((!assoc_rows[k].leaf || a == t->assoc) &&
                over_list(t, a, assoc_rows[k].list, assoc_rows[k].scope))
                return true;
    return false;
}

static bool any_limit(const struct sched *s)
{
    return s->limits && s->limits->on;
}

static bool over_any(struct test *t, struct sched *s, const struct entry *e,
                     const struct sched_alloc *alloc, uint32_t limit_min, int64_t now_us)
{
    const struct job *j = e->job;

    limits_settle(s);
    *t = (struct test){ .s = s, .e = e, .j = j, .limit_min = limit_min, .now_us = now_us };
    t->ask = (struct ask){
        .s = s, .e = e, .job = j, .part = s->parts[e->part], .alloc = alloc, .lics = &j->want
    };
    t->assoc = j->assoc_id ? level_find(s, level_key_assoc(j->assoc_id)) : NULL;
    t->nqos = limit_qos(s, j, e->part, t->qos);
    for (uint32_t i = 0; i < t->nqos; i++)
        if (t->qos[i]->id == j->qos_id)
            t->factor = t->qos[i]->limit_factor;
    return over_numbers(t) || over_tres(t);
}

/* Minutes that running jobs may still use grow fewer as they run. */
static bool gives_way(unsigned limit)
{
    unsigned scope = limit / 16;

    return scope == SCHED_LIMIT_ASSOC_GRP_RUN_MINS || scope == SCHED_LIMIT_QOS_GRP_RUN_MINS ||
           scope == SCHED_LIMIT_QOS_RUN_MINS_USER || scope == SCHED_LIMIT_QOS_RUN_MINS_ACCOUNT;
}

enum sched_why limit_refuses(struct sched *s, struct entry *e, const struct sched_alloc *alloc,
                             uint32_t limit_min, int64_t now_us)
{
    const struct job *j = e->job;
    struct test t;

    if (!any_limit(s) || (!j->assoc_id && !j->qos_id && !s->parts[e->part]->qos_id))
        return SCHED_WHY_NONE;
    if (!over_any(&t, s, e, alloc, limit_min, now_us)) {
        if (!alloc && e->why == SCHED_WHY_LIMIT) { /* not any more */
            e->why = SCHED_WHY_NONE;
            job_set_fresh(s, e->job);
        }
        return SCHED_WHY_NONE;
    }
    e->limit = (uint16_t)t.hit.limit;
    s->limit_passes = s->limit_passes || gives_way(t.hit.limit);
    return SCHED_WHY_LIMIT;
}

bool limit_hit(struct sched *s, const struct entry *e, const struct sched_alloc *alloc,
               int64_t now_us, struct sched_limit_hit *ret)
{
    struct test t;

    if (!any_limit(s) || !over_any(&t, s, e, alloc, e->job->time_limit_min, now_us))
        return false;
    *ret = t.hit;
    return true;
}

bool limit_is_own(unsigned limit)
{
    unsigned scope = limit / 16;

    return limit == SCHED_LIMIT_ASSOC_MAX_WALL || limit == SCHED_LIMIT_QOS_MAX_WALL ||
           (limit < SCHED_LIMIT_ASSOC_GRP_JOBS &&
            (scope == SCHED_LIMIT_ASSOC_MAX_JOB || scope == SCHED_LIMIT_ASSOC_MAX_NODE ||
             scope == SCHED_LIMIT_ASSOC_MAX_MINS || scope == SCHED_LIMIT_QOS_MAX_JOB ||
             scope == SCHED_LIMIT_QOS_MAX_NODE || scope == SCHED_LIMIT_QOS_MAX_MINS ||
             scope == SCHED_LIMIT_QOS_MIN));
}

unsigned limit_qos_flags(const struct sched *s, const struct job *j)
{
    const struct level *q = j->qos_id ? level_find(s, level_key_qos(j->qos_id)) : NULL;

    return q ? q->flags : 0;
}

bool limit_may_reserve(const struct sched *s, const struct entry *e, uint32_t *min_prio)
{
    struct level *qos[2], *a;
    uint32_t n;

    if (!s->limits)
        return true;
    n = limit_qos(s, e->job, e->part, qos);
    for (uint32_t i = 0; i < n; i++)
        if (qos[i]->numbers[SCHED_MIN_PRIO] != SCHED_NO_LIMIT) {
            *min_prio = (uint32_t)qos[i]->numbers[SCHED_MIN_PRIO];
            return !(limit_qos_flags(s, e->job) & SCHED_QOS_NO_RESERVE);
        }
    a = e->job->assoc_id ? level_find(s, level_key_assoc(e->job->assoc_id)) : NULL;
    if (a && a->numbers[SCHED_MIN_PRIO] != SCHED_NO_LIMIT)
        *min_prio = (uint32_t)a->numbers[SCHED_MIN_PRIO];
    return !(limit_qos_flags(s, e->job) & SCHED_QOS_NO_RESERVE);
}

/* ---- questions ------------------------------------------------------------------------------- */

int sched_limit_why(struct sched *s, uint32_t job_id, const char *partition, int64_t now_us,
                    struct sched_limit_hit *ret)
{
    struct job *j = job_find(s, job_id);
    struct entry *e = NULL;

    for (uint32_t i = 0; j && j->state < JOB_PROPOSED && i < j->nentries && !e; i++)
        if (!partition || strcmp(s->parts_tab.names[j->entries[i]->part], partition) == 0)
            e = j->entries[i];
    if (!e)
        return -ENOENT;
    return limit_hit(s, e, NULL, now_us, ret);
}

static int use_of(const struct sched *s, const struct level *l, int64_t now_us,
                  struct sched_limit_use *ret)
{
    if (!l)
        return -ENOENT;
    *ret = (struct sched_limit_use){ .jobs = l->jobs,
                                     .accruing = l->accruing,
                                     .wall_minutes = l->wall_minutes,
                                     .ntres = l->ncounts };
    for (uint32_t i = 0; i < l->ncounts; i++) {
        ret->tres[i].tres_id = s->limits->tres[i].id;
        ret->tres[i].used = l->counts[i].used;
        ret->tres[i].run_minutes = level_run_minutes(l, i, now_us);
        ret->tres[i].minutes = l->counts[i].minutes;
    }
    return 0;
}

int sched_limit_use(struct sched *s, bool qos, uint32_t id, int64_t now_us,
                    struct sched_limit_use *ret)
{
    limits_settle(s);
    return use_of(s, level_find(s, qos ? level_key_qos(id) : level_key_assoc(id)), now_us, ret);
}

void sched_limit_parts(struct sched *s, uint32_t qos_id, int64_t now_us, sched_limit_part_fn *fn,
                       void *ctx)
{
    struct limits *m = s->limits;
    struct sched_limit_use use;

    for (uint32_t i = 0; m && i < m->nslots; i++) {
        const struct level *l = m->slots[i];
        uint32_t who = l ? (uint32_t)l->key : 0;
        bool user = l && l->key == level_key_user(qos_id, who),
             account = l && l->key == level_key_account(qos_id, who);

        if ((!user && !account) || use_of(s, l, now_us, &use) < 0)
            continue;
        fn(ctx, user ? who : 0, account && who < m->accounts.n ? m->accounts.names[who] : NULL,
           &use);
    }
}
