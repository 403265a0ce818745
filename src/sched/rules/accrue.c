/* accrue.c - how many waiting jobs gain priority by age: GrpJobsAccrue, MaxJobsAccrue and the
 * QOS' like.
 *
 * Which jobs may is decided before each pass: first those that could before, then the others in
 * order of their ids. A job that may not has no age; when it may, its age begins then.  Both are
 * told (sched_decision.accrue_us), so that they outlive this process. */
#include "sched/rules/accrue.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "sched/rules/limit.h"
#include "sched/rules/limit_count.h"
#include "sched/rules/limit_data.h"
#include "sched/rules/limit_levels.h"
#include "sched/state/jobs.h"
#include "sched/state/queue.h"
#include "sched/state/sched_obj.h"

bool accrue_limited(const uint64_t *numbers)
{
    return numbers[SCHED_GRP_ACCRUE] != SCHED_NO_LIMIT ||
           numbers[SCHED_MAX_ACCRUE] != SCHED_NO_LIMIT ||
           numbers[SCHED_USER_ACCRUE] != SCHED_NO_LIMIT ||
           numbers[SCHED_ACCOUNT_ACCRUE] != SCHED_NO_LIMIT;
}

/* Is any set?  And every counter begins anew. */
static bool begin_count(struct limits *m)
{
    bool any = false;

    for (uint32_t i = 0; i < m->nslots; i++) {
        if (!m->slots[i])
            continue;
        any = any || accrue_limited(m->slots[i]->numbers);
        m->slots[i]->accruing = 0;
    }
    m->accrues = any; /* until a level is fed that has one */
    return any;
}

static bool is_full(const struct level *l, const struct level *counter, enum sched_limit_number n)
{
    return l->numbers[n] != SCHED_NO_LIMIT && (counter ? counter->accruing : 0) >= l->numbers[n];
}

/* The levels it counts against; -ENOENT when one has no room. */
static int list_levels(struct sched *s, const struct job *j, struct level **list, uint32_t *ret_n)
{
    struct level *qos[2], *leaf = j->assoc_id ? level_find(s, level_key_assoc(j->assoc_id)) : NULL;
    uint32_t nqos = limit_qos(s, j, j->nentries ? j->entries[0]->part : 0, qos), n = 0;
    bool room = !leaf || !is_full(leaf, leaf, SCHED_MAX_ACCRUE);

    for (struct level *a = leaf; a && n < LIMIT_LEVELS_MAX - 8;
         a = a->parent_id ? level_find(s, level_key_assoc(a->parent_id)) : NULL) {
        room = room && !is_full(a, a, SCHED_GRP_ACCRUE);
        list[n++] = a;
    }
    for (uint32_t i = 0; i < nqos; i++) {
        struct level *user, *account = NULL;

        if (level_get(s, level_key_user(qos[i]->id, j->uid), &user) < 0 ||
            (leaf && level_get(s, level_key_account(qos[i]->id, leaf->account), &account) < 0))
            return -ENOMEM;
        room = room && !is_full(qos[i], qos[i], SCHED_GRP_ACCRUE) &&
               !is_full(qos[i], user, SCHED_USER_ACCRUE) &&
               !(account && is_full(qos[i], account, SCHED_ACCOUNT_ACCRUE));
        list[n++] = qos[i];
        list[n++] = user;
        if (account)
            list[n++] = account;
    }
    *ret_n = n;
    return room ? 0 : -ENOENT;
}

static void set_age(struct sched *s, struct job *j, bool ages, int64_t now_us)
{
    if (j->no_age == !ages)
        return;
    if (ages)
        j->accrue_us = MAX(j->eligible_us, now_us);
    j->no_age = !ages;
    job_set_fresh(s, j);
}

static int judge_job(struct sched *s, struct job *j, int64_t now_us)
{
    struct level *list[LIMIT_LEVELS_MAX];
    uint32_t n = 0;
    int r = list_levels(s, j, list, &n);

    if (r == -ENOMEM)
        return r;
    for (uint32_t i = 0; r == 0 && i < n; i++)
        list[i]->accruing++;
    set_age(s, j, r == 0, now_us);
    j->judged = true;
    return 0;
}

static bool ages_already(const struct job *j)
{
    return j->judged && !j->no_age;
}

static int aged_first(const void *a, const void *b)
{
    const struct job *x = *(struct job *const *)a, *y = *(struct job *const *)b;

    if (ages_already(x) != ages_already(y))
        return ages_already(x) ? -1 : 1;
    return x->id < y->id ? -1 : x->id > y->id;
}

/* Jobs that wait: at the first time all of them are as they were told, later those that came since
 * take no place of one that ages. */
static void sort_jobs(struct sched *s, struct job **list, uint32_t n)
{
    for (uint32_t i = 0; !s->ages_judged && i < n; i++)
        list[i]->judged = true;
    s->ages_judged = true;
    qsort(list, n, sizeof(*list), aged_first);
}

int accrue_refresh(struct sched *s, int64_t now_us)
{
    _cleanup_free_ struct job **list = NULL;
    bool any = s->limits && s->limits->on && s->limits->accrues && begin_count(s->limits);
    uint32_t n = 0;
    int r = 0;

    if (!any && !s->no_ages)
        return 0;
    list = malloc((s->njobs + 1) * sizeof(*list));
    if (!list)
        return -ENOMEM;
    s->no_ages = any;
    s->ages_judged = s->ages_judged && any;
    for (uint32_t i = 0; i < s->job_slots; i++) {
        struct job *j = s->jobs[i];

        if (!j || j->state != JOB_QUEUED)
            continue;
        if (any && (j->assoc_id || j->qos_id))
            list[n++] = j;
        else
            set_age(s, j, true, now_us);
    }
    if (n)
        sort_jobs(s, list, n);
    for (uint32_t i = 0; r == 0 && i < n; i++)
        r = judge_job(s, list[i], now_us);
    return r;
}
