/* switchwait.c - jobs that wait for a place below few switches, but not for ever.
 *
 * The time counts from the moment at which a job is first tried, not from its submission.  When it
 * is over the entry goes on as one of the class that is alike but takes any switches; so what
 * classes remember stays true. */
#include "sched/plan/switchwait.h"

#include "base/cleanup.h"
#include "sched/state/classes.h"
#include "sched/state/jobs.h"
#include "sched/state/planlog.h"
#include "sched/state/sched_obj.h"
#include "sched/state/shape.h"

int switch_wait_note(struct sched *s, struct entry *e, int64_t now_us)
{
    struct job *j = e->job;
    struct class *any;
    int64_t over_us;
    int r;

    if (!e->cls->shape->key.switches)
        return 0;
    if (!j->switches_since_us)
        j->switches_since_us = now_us;
    over_us = j->switches_since_us + (int64_t)j->switches_wait_s * 1000000;
    if (now_us < over_us) {
        if (!s->switches_wake_us || over_us < s->switches_wake_us)
            s->switches_wake_us = over_us;
        return 0;
    }
    r = class_any_switches(s, e->cls, &any);
    if (r < 0)
        return r;
    class_unref(s, e->cls);
    e->cls = any;
    planlog_other(s);
    return 0;
}

void switch_wait_due(struct sched *s, int64_t now_us)
{
    if (!s->switches_wake_us || s->switches_wake_us > now_us)
        return;
    s->switches_wake_us = 0; /* those that are tried, and wait on, say so again */
    s->change++;
}

int64_t switch_wait_wake(const struct sched *s)
{
    return s->switches_wake_us ? s->switches_wake_us : INT64_MAX;
}
