/* keptplan.c - the reservation of the job that is first in line, from one backfill to the next.
 *
 * Where a job will start follows from what is still held when those before have ended, and most of
 * what happens between two backfills changes nothing of that: jobs come, and others end in time. So
 * what was found is kept with a number that stands for the jobs that run beyond the start.  It is
 * found again when the same job asks, nothing but jobs changed, the CPUs of all nodes together do
 * not suffice at any earlier end, and the number is the same: then the nodes are as they were. */
#include "sched/plan/keptplan.h"

#include "base/cleanup.h"
#include "sched/plan/timeline.h"
#include "sched/rules/advtime.h"
#include "sched/sched.h"
#include "sched/state/classes.h"
#include "sched/state/jobs.h"
#include "sched/state/line.h"
#include "sched/state/question.h"
#include "sched/state/resvs.h"
#include "sched/state/sched_obj.h"

/* Of all jobs that run on when those in line before `at` have ended. */
static uint64_t number_beyond(const struct sched *s, uint32_t at)
{
    uint64_t sum = s->line_beyond;

    for (uint32_t i = at; i < s->nline; i++)
        sum += kept_number(s->line[i]);
    return sum;
}

/* Is there nothing else that the answer depends on? */
static bool is_simple(const struct pick *p)
{
    const struct sched *s = p->s;

    return !(p->lics && p->lics->n) && !p->cls->shape->key.resv && !advs_any(s) && !s->uids &&
           !s->labels && s->params.preempt.type == SCHED_PREEMPT_NONE && !s->nclaims;
}

void kept_drop(struct sched *s)
{
    struct kept_resv *k = &s->kept;

    if (!k->cls)
        return;
    for (uint32_t i = 0; i < s->nresvs; i++)
        if (s->resvs[i].lent) { /* it is the reservation's from now on */
            s->resvs[i].lent = false;
            k->resv = (struct resv){ 0 };
        }
    resv_free(&k->resv);
    class_unref(s, k->cls);
    *k = (struct kept_resv){ 0 };
}

int kept_again(struct pick *p, uint32_t job_id, int64_t now_us)
{
    struct sched *s = p->s;
    struct kept_resv *k = &s->kept;
    uint32_t at;
    int r;

    if (k->cls != p->cls || k->job_id != job_id || k->config_gen != s->config_gen ||
        k->up_gen != s->up_gen || s->nresvs || !is_simple(p))
        return 0;
    at = line_first(p);
    if (!at || s->line[at - 1]->end_us != k->end_us || number_beyond(s, at) != k->beyond)
        return 0;
    r = resvs_room(s);
    if (r < 0)
        return r;
    s->resvs[s->nresvs] = k->resv;
    s->resvs[s->nresvs].start_us = MAX(k->end_us, now_us);
    s->resvs[s->nresvs++].lent = true;
    return 1;
}

void kept_note(const struct pick *p, uint32_t job_id, int64_t end_us)
{
    struct sched *s = p->s;
    struct kept_resv *k = &s->kept;
    uint32_t at = 0;

    if (s->nresvs != 1 || !is_simple(p))
        return;
    kept_drop(s);
    while (at < s->nline && s->line[at]->end_us <= end_us)
        at++;
    *k = (struct kept_resv){ .cls = p->cls,
                             .job_id = job_id,
                             .config_gen = s->config_gen,
                             .up_gen = s->up_gen,
                             .end_us = end_us,
                             .beyond = number_beyond(s, at),
                             .resv = s->resvs[0] };
    p->cls->refs++;
    k->resv.taken_gen = 0;
    s->resvs[0].lent = true;
}
