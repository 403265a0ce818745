/* emjobs.c - see emjobs.h */
#include "emulate/emjobs.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "stepd/shared/spool.h"

enum { SAY_LAUNCHED = 1, SAY_ENDED = 2, SAY_CLEAN = 4, SAY_PROLOG = 8 };

enum phase { PHASE_NO_SCRIPT, PHASE_RUNS, PHASE_STOPPED, PHASE_ENDED };

struct emjob {
    struct emjob *next;
    uint64_t run_id;
    uint32_t job_id;
    enum phase phase;
    bool single, clean;
    unsigned say, flying; /* SAY_ */
    uint32_t status;      /* as wait(2) gives it */
    int64_t due_us;       /* PHASE_RUNS; of PHASE_STOPPED: what is left */
};

static struct emjob *find_job(const struct emjobs *jobs, uint32_t job_id, uint64_t run_id)
{
    struct emjob *j = jobs->first;

    while (j && (j->job_id != job_id || j->run_id != run_id))
        j = j->next;
    return j;
}

static struct emjob *add_job(struct emjobs *jobs, uint32_t job_id, uint64_t run_id)
{
    struct emjob *j = calloc(1, sizeof(*j));

    if (j) {
        *j = (struct emjob){ .next = jobs->first, .run_id = run_id, .job_id = job_id };
        jobs->first = j;
    }
    return j;
}

static struct emjob *get_job(struct emjobs *jobs, const Pst__JobOnNode *on)
{
    struct emjob *j = find_job(jobs, on->job->job_id, on->run_id);

    return j ? j : add_job(jobs, on->job->job_id, on->run_id);
}

void emjobs_clear(struct emjobs *jobs)
{
    while (jobs->first) {
        struct emjob *j = jobs->first;

        jobs->first = j->next;
        free(j);
    }
    free(jobs->absent);
    *jobs = (struct emjobs){ 0 };
}

/* ---- orders ---------------------------------------------------------------------------------- */

int emjobs_launch(struct emjobs *jobs, const Pst__LaunchBatch *m, int64_t now_us)
{
    struct emscript script = emscript_read(m->script.data, m->script.len);
    struct emjob *j = get_job(jobs, m->job);

    if (!j)
        return -ENOMEM;
    if (j->phase != PHASE_NO_SCRIPT || j->clean)
        return 0;
    j->phase = PHASE_RUNS;
    j->single = m->job->job->alloc && m->job->job->alloc->n_node_ids == 1;
    j->status = script.exit_code << 8;
    j->due_us = now_us + (int64_t)script.run_ms * 1000;
    j->say |= SAY_LAUNCHED;
    return 0;
}

int emjobs_prepare(struct emjobs *jobs, const Pst__PrepareJob *m)
{
    struct emjob *j = get_job(jobs, m->job);

    if (!j)
        return -ENOMEM;
    j->say |= SAY_PROLOG;
    return 0;
}

static void end_script(struct emjob *j, uint32_t status)
{
    if (j->phase != PHASE_RUNS && j->phase != PHASE_STOPPED)
        return;
    j->phase = PHASE_ENDED;
    j->status = status;
    j->say |= SAY_ENDED;
}

static void stop_script(struct emjob *j, int64_t now_us)
{
    if (j->phase == PHASE_RUNS) {
        j->phase = PHASE_STOPPED;
        j->due_us -= now_us;
    }
}

static void resume_script(struct emjob *j, int64_t now_us)
{
    if (j->phase == PHASE_STOPPED) {
        j->phase = PHASE_RUNS;
        j->due_us += now_us;
    }
}

static void signal_script(struct emjob *j, uint32_t sig, int64_t now_us)
{
    switch (sig) {
    case 0:
    case SIGCHLD:
    case SIGURG:
    case SIGWINCH:
        break;
    case SIGSTOP:
    case SIGTSTP:
        stop_script(j, now_us);
        break;
    case SIGCONT:
        resume_script(j, now_us);
        break;
    default:
        end_script(j, sig);
    }
}

static bool names_script(const Pst__SignalSteps *m)
{
    bool named = m->n_step_ids == 0 && ((m->has_include_batch && m->include_batch) ||
                                        (m->has_batch_script_only && m->batch_script_only));

    for (size_t i = 0; i < m->n_step_ids; i++)
        named = named || m->step_ids[i] == STEP_ID_BATCH;
    return named;
}

static bool is_told(const struct emjobs *jobs, const struct emabsent *what)
{
    for (size_t i = jobs->n_absent_flying; i < jobs->n_absent; i++) {
        const struct emabsent *a = &jobs->absent[i];

        if (a->run_id == what->run_id && a->job_id == what->job_id && a->step_id == what->step_id)
            return true;
    }
    return false;
}

static int tell_absent(struct emjobs *jobs, const struct emjob *j, const Pst__SignalSteps *m)
{
    for (size_t i = 0; i < m->n_step_ids; i++) {
        const struct emabsent what = { m->run_id, m->job_id, m->step_ids[i] };
        struct emabsent *bigger;

        if ((j && what.step_id == STEP_ID_BATCH && j->phase != PHASE_NO_SCRIPT) ||
            is_told(jobs, &what))
            continue;
        bigger = realloc(jobs->absent, (jobs->n_absent + 1) * sizeof(*bigger));
        if (!bigger)
            return -ENOMEM;
        jobs->absent = bigger;
        bigger[jobs->n_absent++] = what;
    }
    return 0;
}

int emjobs_signal(struct emjobs *jobs, const Pst__SignalSteps *m, int64_t now_us)
{
    struct emjob *j = find_job(jobs, m->job_id, m->run_id);

    if (m->has_ask && m->ask)
        return tell_absent(jobs, j, m);
    if (!j)
        return -ENOENT;
    if (m->has_suspend && m->suspend)
        stop_script(j, now_us);
    else if (m->has_resume && m->resume)
        resume_script(j, now_us);
    else if (names_script(m))
        signal_script(j, m->has_terminate && m->terminate ? SIGTERM : m->signal, now_us);
    return 0;
}

int emjobs_terminate(struct emjobs *jobs, const Pst__TerminateJob *m)
{
    struct emjob *j = find_job(jobs, m->job_id, m->run_id);

    if (!j)
        j = add_job(jobs, m->job_id, m->run_id);
    if (!j)
        return -ENOMEM;
    end_script(j, m->has_now && m->now ? SIGKILL : SIGTERM);
    j->clean = true;
    j->say |= SAY_CLEAN;
    return 0;
}

int64_t emjobs_turn(struct emjobs *jobs, int64_t now_us)
{
    int64_t next = EMJOBS_NEVER;

    for (struct emjob *j = jobs->first; j; j = j->next) {
        if (j->phase != PHASE_RUNS)
            continue;
        if (j->due_us <= now_us)
            end_script(j, j->status);
        else
            next = MIN(next, j->due_us);
    }
    return next;
}

/* ---- messages -------------------------------------------------------------------------------- */

void emreport_done(struct emreport *r)
{
    free(r->refs);
    free(r->ends);
    free(r->pointers);
    *r = (struct emreport){ 0 };
}

/* Room for all that can be said of all jobs. */
static int make_room(const struct emjobs *jobs, struct emreport *r)
{
    size_t n = 1;

    for (const struct emjob *j = jobs->first; j; j = j->next)
        n++;
    *r = (struct emreport){ .refs = calloc(4 * n, sizeof(*r->refs)),
                            .ends = calloc(n + jobs->n_absent, sizeof(*r->ends)),
                            .pointers = calloc(5 * n + jobs->n_absent, sizeof(void *)) };
    if (r->refs && r->ends && r->pointers)
        return 0;
    emreport_done(r);
    return -ENOMEM;
}

static void add_ref(struct emreport *r, const struct emjob *j, bool with_step)
{
    Pst__RunningStep *ref = &r->refs[r->n_refs++];

    pst__running_step__init(ref);
    ref->has_job_id = ref->has_run_id = true;
    ref->job_id = j->job_id;
    ref->run_id = j->run_id;
    ref->has_step_id = with_step;
    ref->step_id = STEP_ID_BATCH;
    r->pointers[r->n_pointers++] = ref;
}

static Pst__StepEnd *add_end(struct emreport *r, uint32_t job_id, uint64_t run_id, uint32_t step_id,
                             uint32_t status)
{
    Pst__StepEnd *end = &r->ends[r->n_ends++];

    pst__step_end__init(end);
    end->has_job_id = end->has_run_id = end->has_step_id = end->has_exit_status = true;
    end->job_id = job_id;
    end->run_id = run_id;
    end->step_id = step_id;
    end->exit_status = status;
    r->pointers[r->n_pointers++] = end;
    return end;
}

/* A list of the message begins here; the caller sets its length afterwards. */
static void *begin_list(struct emreport *r)
{
    return &r->pointers[r->n_pointers];
}

static size_t list_length(const struct emreport *r, const void *list)
{
    return (size_t)(&r->pointers[r->n_pointers] - (void *const *)list);
}

static void add_refs(struct emjobs *jobs, struct emreport *r, unsigned what)
{
    for (const struct emjob *j = jobs->first; j; j = j->next)
        if (j->flying & what)
            add_ref(r, j, what == SAY_LAUNCHED);
}

static void add_ends(struct emjobs *jobs, int64_t now_us, struct emreport *r)
{
    for (const struct emjob *j = jobs->first; j; j = j->next) {
        Pst__StepEnd *end;

        if (!(j->flying & SAY_ENDED))
            continue;
        end = add_end(r, j->job_id, j->run_id, STEP_ID_BATCH, j->status);
        end->has_end_us = true;
        end->end_us = now_us;
        end->has_node_clean = end->node_clean = j->single;
    }
}

static void add_absent(struct emjobs *jobs, struct emreport *r)
{
    for (size_t i = 0; i < jobs->n_absent; i++) {
        const struct emabsent *a = &jobs->absent[i];

        (void)add_end(r, a->job_id, a->run_id, a->step_id, SIGKILL); /* borrowed by the message */
    }
    jobs->n_absent_flying = jobs->n_absent;
}

int emjobs_report(struct emjobs *jobs, int64_t now_us, struct emreport *r, Pst__NodeReport *msg)
{
    int rc = make_room(jobs, r);

    if (rc < 0)
        return rc;
    for (struct emjob *j = jobs->first; j; j = j->next) {
        j->flying = j->say;
        j->say = 0;
    }
    msg->launched = begin_list(r);
    add_refs(jobs, r, SAY_LAUNCHED);
    msg->n_launched = list_length(r, msg->launched);
    msg->prolog_done = begin_list(r);
    add_refs(jobs, r, SAY_PROLOG);
    msg->n_prolog_done = list_length(r, msg->prolog_done);
    msg->clean = begin_list(r);
    add_refs(jobs, r, SAY_CLEAN);
    msg->n_clean = list_length(r, msg->clean);
    msg->ended = begin_list(r);
    add_ends(jobs, now_us, r);
    add_absent(jobs, r);
    msg->n_ended = list_length(r, msg->ended);
    return r->n_pointers > 0;
}

int emjobs_register(struct emjobs *jobs, int64_t now_us, struct emreport *r, Pst__NodeRegister *msg)
{
    int rc = make_room(jobs, r);

    if (rc < 0)
        return rc;
    jobs->n_absent = jobs->n_absent_flying = 0; /* it will ask again */
    msg->running = begin_list(r);
    for (struct emjob *j = jobs->first; j; j = j->next) {
        j->flying = j->phase == PHASE_ENDED ? SAY_ENDED : 0;
        j->say &= SAY_PROLOG | SAY_CLEAN;
        if (j->phase == PHASE_RUNS || j->phase == PHASE_STOPPED)
            add_ref(r, j, true);
    }
    msg->n_running = list_length(r, msg->running);
    msg->jobs = begin_list(r);
    for (const struct emjob *j = jobs->first; j; j = j->next)
        if (!j->clean && !(j->single && j->phase == PHASE_ENDED))
            add_ref(r, j, false);
    msg->n_jobs = list_length(r, msg->jobs);
    msg->ended = begin_list(r);
    add_ends(jobs, now_us, r);
    msg->n_ended = list_length(r, msg->ended);
    return 0;
}

/* ---- answers --------------------------------------------------------------------------------- */

/* Of a job with no other node the end of its script says that the node is clean. */
static bool is_over(const struct emjob *j, unsigned told)
{
    return (told & SAY_CLEAN) || (j->single && (told & SAY_ENDED));
}

void emjobs_acked(struct emjobs *jobs)
{
    struct emjob **p = &jobs->first;

    while (*p) {
        struct emjob *j = *p;
        unsigned told = j->flying;

        j->flying = 0;
        if (is_over(j, told)) {
            *p = j->next;
            free(j);
        } else {
            p = &j->next;
        }
    }
    for (size_t i = jobs->n_absent_flying; i < jobs->n_absent; i++)
        jobs->absent[i - jobs->n_absent_flying] = jobs->absent[i];
    jobs->n_absent -= jobs->n_absent_flying;
    jobs->n_absent_flying = 0;
}

void emjobs_lost(struct emjobs *jobs)
{
    for (struct emjob *j = jobs->first; j; j = j->next) {
        j->say |= j->flying;
        j->flying = 0;
    }
    jobs->n_absent_flying = 0;
}
