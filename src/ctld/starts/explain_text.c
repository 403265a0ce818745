/* explain_text.c - the words for why a job waits.  Core thread; reads the cluster, changes nothing.
 *
 * The reply carries figures for programs and the same as sentences for people. */
#include "ctld/starts/explain_text.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "ctld/starts/explainmade.h"
#include "ctld/starts/saychange.h"
#include "ctld/starts/saypart.h"
#include "ctld/schedlink/schedfeed.h"
#include "ctld/job/jobfacts.h"
#include "ctld/job/lifecycle.h"
#include "feed/records.h"
#include "model/array.h"
#include "model/words/names.h"

/* ---- what is no matter of resources ---------------------------------------------------------- */

static void set_release(struct explain_made *m, Pst__JobReason reason, char *summary, char *release)
{
    m->reply.has_reason = true;
    m->reply.reason = reason;
    m->reply.summary = summary;
    m->reply.release = release;
}

/* Something beside the scheduler keeps it: true with summary and what would release it. */
static bool kept_back(struct explain_made *m)
{
    const Pst__JobRecord *r = m->t->job->rec;
    const char *id = m->reply.id_text;
    uint32_t throttle = feed_throttle(r);

    if (job_is_held(r) && r->has_held_by_user && r->held_by_user)
        set_release(
            m, PST__JOB_REASON__REASON_JOB_HELD_USER,
            made_text(m, "Job %s is held by its owner.", id),
            made_text(m, "Its owner or an administrator lets it go: scontrol release %s", id));
    else if (job_is_held(r))
        set_release(m,
                    r->has_reason && r->reason ? r->reason : PST__JOB_REASON__REASON_JOB_HELD_ADMIN,
                    made_text(m, "Job %s is held by an administrator%s%s.", id,
                              r->has_reason && r->reason ? ": " : "",
                              r->has_reason && r->reason ? names_reason(r->reason) : ""),
                    made_text(m, "An administrator lets it go: scontrol release %s", id));
    else if (r->dependency && r->has_pend_reason &&
             r->pend_reason == PST__JOB_REASON__REASON_DEPENDENCY_NEVER_SATISFIED)
        set_release(
            m, PST__JOB_REASON__REASON_DEPENDENCY_NEVER_SATISFIED,
            made_text(m, "Job %s waits for %s, which can never come true.", id, r->dependency),
            made_text(
                m, "Another dependency, or none, lets it go: scontrol update JobId=%s Dependency=",
                id));
    else if (r->dependency)
        set_release(
            m, PST__JOB_REASON__REASON_DEPENDENCY,
            made_text(m, "Job %s waits for other jobs: %s.", id, r->dependency),
            made_text(m,
                      "It goes on when that comes true, or without it: scontrol update JobId=%s "
                      "Dependency=",
                      id));
    else if (job_has_flag(r, JOB_FLAG(COMPLETING)))
        set_release(
            m, PST__JOB_REASON__REASON_NONE,
            made_text(m,
                      "Job %s is to run again, and its nodes are still being cleaned up from "
                      "the run before.",
                      id),
            made_text(m, "It goes on when they are clean."));
    else if (r->has_begin_us && r->begin_us > m->t->now_us)
        set_release(
            m, PST__JOB_REASON__REASON_BEGIN_TIME,
            made_text(m, "Job %s is not to begin before %s.", id, made_stamp(m, r->begin_us)),
            made_text(m, "An earlier time lets it go: scontrol update JobId=%s StartTime=now", id));
    else if (throttle && jobs_array_running(m->t->ctld, r->array_job_id) >= throttle)
        set_release(m, PST__JOB_REASON__REASON_ARRAY_TASK_LIMIT,
                    made_text(m,
                              "Job %s waits because %u of its tasks run at a time, and so many do.",
                              id, throttle),
                    made_text(m,
                              "A task that ends, or a higher limit, lets the next one go: scontrol "
                              "update JobId=%u "
                              "ArrayTaskThrottle=%u",
                              r->array_job_id, throttle + 1));
    else if (r->has_pend_reason && !feed_knows(m->t->ctld, r->job_id) &&
             r->pend_reason == PST__JOB_REASON__REASON_PARTITION_CONFIG)
        set_release(
            m, r->pend_reason,
            made_text(m, "Job %s waits because no partition of it takes it now: %s.", id,
                      r->pend_text ? r->pend_text : "its account, QOS or owner is kept out"),
            made_text(m,
                      "The partition is changed, or another one is named: scontrol "
                      "update JobId=%s Partition=",
                      id));
    else
        return false;
    return true;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static void not_pending(struct explain_made *m)
{
    const Pst__JobRecord *r = m->t->job->rec;
    const char *word =
        names_job_state_word(r->state, r->has_state_flags ? r->state_flags : 0, false);

    m->reply.summary = made_text(m, "Job %s does not wait: it is %s.", m->reply.id_text, word);
    made_say(m, m->reply.summary);
}

/* What it waits for, when that is no nodes. */
static char *waits_for(struct explain_made *m)
{
    return m->reply.reason == PST__JOB_REASON__REASON_PRIORITY
               ? made_text(m, "Job %s waits for jobs that go before it.", m->reply.id_text)
               : made_text(m, "Job %s waits (%s).", m->reply.id_text,
                           names_reason((unsigned)m->reply.reason));
}

static void explain_pending(struct explain_made *m)
{
    const struct sched_explanation *x = m->t->x;
    bool kept = kept_back(m);

    if (!kept && x->starts_now)
        m->reply.summary =
            made_text(m,
                      m->t->planned ? "Nothing keeps job %s: it would start at once."
                                    : "Nothing keeps job %s any more: it is about to start.",
                      m->reply.id_text);
    else if (!kept)
        m->reply.summary = made_text(m, "Job %s waits for nodes.", m->reply.id_text);
    made_say(m, m->reply.summary);
    if (m->reply.release)
        made_say(m, m->reply.release);
    if (kept && x->starts_now)
        made_say(m, made_text(m, "Let go now, it would start at once."));
    for (size_t i = 0; i < x->nparts; i++)
        say_partition(m, &x->parts[i]);
    say_licenses(m, x);
    if (!kept && m->reply.n_partitions) {
        SET(&m->reply, reason, m->reply.partitions[0]->reason);
        if (!x->starts_now && m->reply.reason != PST__JOB_REASON__REASON_RESOURCES)
            m->reply.summary = m->reply.sentences[0] = waits_for(m);
    }
    for (size_t i = 0; !kept && i < x->nchanges; i++)
        say_change(m, &x->changes[i]);
    if (!kept && x->settled && !x->starts_now && !x->nchanges)
        made_say(m, made_text(m, "No single change to the request would start it now."));
}

struct explain_made *explain_make(const struct explain_text *t)
{
    struct explain_made *m = calloc(1, sizeof(*m));
    const Pst__JobRecord *r = t->job->rec;

    if (!m)
        return NULL;
    m->t = t;
    pst__explain_reply__init(&m->reply);
    SET(&m->reply, job_id, r->job_id);
    SET(&m->reply, state, job_state(r));
    SET(&m->reply, now_us, t->now_us);
    SET(&m->reply, settled, !t->x || t->x->settled);
    m->reply.id_text = made_job_id(m, r);
    if (t->x)
        explain_pending(m);
    else if (job_is_pending(r))
        made_say(m, m->reply.summary = made_text(
                        m, "Job %s waits, and the scheduler cannot say why.", m->reply.id_text));
    else
        not_pending(m);
    if (m->failed) {
        explain_done(m);
        return NULL;
    }
    return m;
}
