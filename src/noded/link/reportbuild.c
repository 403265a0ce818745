/* reportbuild.c - see reportbuild.h */
#include "noded/link/reportbuild.h"

#include <signal.h>
#include <stdlib.h>

#include "base/log.h"
#include "noded/jobs/memuse.h"

void report_events_add(struct report_events *l, struct report_event e)
{
    if (l->n == l->cap) {
        size_t cap = l->cap ? l->cap * 2 : 32;
        struct report_event *items = realloc(l->items, cap * sizeof(*items));

        if (!items) {
            log_nomem("an event waits for the next registration");
            return;
        }
        l->items = items;
        l->cap = cap;
    }
    l->items[l->n++] = e;
}

static Pst__RunningStep *add_ref(struct report_build *b, const struct report_event *e,
                                 bool with_step)
{
    Pst__RunningStep *ref = &b->refs[b->n_refs++];

    pst__running_step__init(ref);
    ref->has_job_id = ref->has_run_id = true;
    ref->job_id = e->job_id;
    ref->run_id = e->run_id;
    if (with_step) {
        ref->has_step_id = true;
        ref->step_id = e->step_id;
    }
    return ref;
}

static Pst__RunningStep *add_clean(struct noded *d, struct report_build *b,
                                   const struct report_event *e)
{
    const struct njob *job = jobs_find(&d->jobs, e->job_id, e->run_id);
    Pst__RunningStep *ref = add_ref(b, e, false);

    if (job && job->epilog == SCRIPT_FAILED)
        ref->has_epilog_failed = ref->epilog_failed = true;
    return ref;
}

/* It is over as if it had been killed: nobody started it. */
static Pst__StepEnd *add_absent(struct report_build *b, const struct report_event *e)
{
    Pst__StepEnd *end = &b->absent[b->n_absent++];

    pst__step_end__init(end);
    end->has_job_id = end->has_run_id = end->has_step_id = end->has_exit_status = true;
    end->job_id = e->job_id;
    end->run_id = e->run_id;
    end->step_id = e->step_id;
    end->exit_status = SIGKILL;
    return end;
}

static void add_memory(struct noded *d, struct report_build *b, const struct report_event *e)
{
    const struct njob *job = jobs_find(&d->jobs, e->job_id, e->run_id);
    Pst__JobMemory *m = &b->memory[b->msg.n_job_memory];

    if (!job)
        return; /* it ended meanwhile */
    pst__job_memory__init(m);
    m->has_job_id = m->has_run_id = m->has_used_kib = true;
    m->job_id = e->job_id;
    m->run_id = e->run_id;
    m->used_kib = memuse_kib(job);
    b->memories[b->msg.n_job_memory++] = m;
}

void report_build_add(struct noded *d, struct report_build *b, const struct report_event *e)
{
    struct njob *job;
    struct nstep *step;

    switch (e->kind) {
    case EV_LAUNCHED:
        b->launched[b->msg.n_launched++] = add_ref(b, e, true);
        break;
    case EV_ENDED:
        job = jobs_find(&d->jobs, e->job_id, e->run_id);
        step = job ? job_find_step(job, e->step_id) : NULL;
        if (step && step->end)
            b->ended[b->msg.n_ended++] = step->end;
        break;
    case EV_ABSENT:
        b->ended[b->msg.n_ended++] = add_absent(b, e);
        break;
    case EV_CLEAN:
        b->clean[b->msg.n_clean++] = add_clean(d, b, e);
        break;
    case EV_PROLOG_DONE:
        b->prolog[b->msg.n_prolog_done++] = add_ref(b, e, false);
        break;
    case EV_PROLOG_FAILED:
        b->msg.has_prolog_failed_job = true;
        b->msg.prolog_failed_job = e->job_id;
        b->msg.has_prolog_failed_run = true;
        b->msg.prolog_failed_run = e->run_id;
        break;
    case EV_SCRIPT_TOLD:
        b->told[b->msg.n_script_told++] = add_ref(b, e, false);
        break;
    case EV_MEMORY:
        add_memory(d, b, e);
        break;
    }
}

bool report_build_init(struct report_build *b, size_t n)
{
    pst__node_report__init(&b->msg);
    b->n_refs = b->n_absent = 0;
    b->absent = calloc(n + 1, sizeof(*b->absent));
    b->refs = calloc(n + 1, sizeof(*b->refs));
    b->launched = calloc(6 * (n + 1), sizeof(void *));
    b->clean = b->launched ? b->launched + n + 1 : NULL;
    b->prolog = b->launched ? b->clean + n + 1 : NULL;
    b->told = b->launched ? b->prolog + n + 1 : NULL;
    b->ended = b->launched ? (Pst__StepEnd **)(b->told + n + 1) : NULL;
    b->memories = b->launched ? (Pst__JobMemory **)(b->ended + n + 1) : NULL;
    b->memory = calloc(n + 1, sizeof(*b->memory));
    b->msg.job_memory = b->memories;
    b->msg.launched = b->launched;
    b->msg.clean = b->clean;
    b->msg.prolog_done = b->prolog;
    b->msg.script_told = b->told;
    b->msg.ended = b->ended;
    return b->refs && b->launched && b->absent && b->memory;
}

void report_build_done(struct report_build *b)
{
    free(b->refs);
    free(b->absent);
    free(b->memory);
    free(b->launched);
}
