/* jobsummary.c - slurmstepd-summary: the end of a batch job's output (OutputSummary)
 *
 * Started by the step daemon as the job's user when the script has ended: standard input is the
 * run as the node knows it (an encoded AcctJob), standard output the file.  What the steps of
 * srun used, and how the job ended, the controller knows; while it does not answer, the node's
 * part is told alone. */
#include <errno.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "api.pb-c.h"
#include "base/cleanup.h"
#include "base/pb/pbutil.h"
#include "base/strbuf.h"
#include "base/timefmt.h"
#include "cli/base/cli.h"
#include "cli/base/ids.h"
#include "cli/query/out_query.h"
#include "model/words/efficiency.h"
#include "model/words/names.h"
#include "wire/ops.h"

#define INPUT_MAX (16u << 20)
#define STEPS_MAX 4096u
#define WAIT_US (3 * USEC_PER_SEC) /* for steps whose end the controller does not know yet */
#define LOOK_MS 50
#define CALL_MS 5000

struct summary {
    struct cli cli;
    Pst__AcctJob *own;                 /* what the node told */
    Pst__JobRecord *job;               /* the controller's; NULL: it did not answer */
    Pst__StepRecord *steps[STEPS_MAX]; /* the batch step first, which is own's */
    size_t n;
    bool running; /* one of them has not ended */
};

static Pst__AcctJob *read_own(void)
{
    uint8_t *data = xmalloc_or_die(INPUT_MAX);
    size_t len = 0;
    ssize_t n;
    Pst__AcctJob *own;

    while ((n = read(STDIN_FILENO, data + len, INPUT_MAX - len)) > 0)
        len += (size_t)n;
    own = n == 0 && len < INPUT_MAX ? pst__acct_job__unpack(NULL, len, data) : NULL;
    free(data);
    if (!own || !own->job || own->n_steps != 1)
        cli_fatal("this program is started by slurmstepd only");
    return own;
}

static int on_step(void *ctx, const ProtobufCMessage *record, const struct query_info *info)
{
    struct summary *s = ctx;
    const Pst__StepRecord *step = (const Pst__StepRecord *)record;
    ProtobufCMessage *copy = NULL;
    int r;

    (void)info;
    if (step->job_id != s->own->job->job_id || step->step_id >= NAMES_STEP_INTERACTIVE ||
        s->n == STEPS_MAX || (step->has_job_db_id && step->job_db_id != s->own->job->db_id))
        return 0;
    s->running = s->running || step->state == PST__STEP_STATE__STEP_RUNNING;
    r = pb_dup(record, &copy);
    if (r == 0)
        s->steps[s->n++] = (Pst__StepRecord *)copy;
    return r;
}

static int on_job(void *ctx, const ProtobufCMessage *record, const struct query_info *info)
{
    struct summary *s = ctx;
    const Pst__JobRecord *job = (const Pst__JobRecord *)record;
    ProtobufCMessage *copy = NULL;
    int r = 0;

    (void)info;
    if (!s->job && job->job_id == s->own->job->job_id && job->db_id == s->own->job->db_id) {
        r = pb_dup(record, &copy);
        s->job = (Pst__JobRecord *)copy;
    }
    return r;
}

static void drop_reply(struct summary *s)
{
    while (s->n > 1)
        pst__step_record__free_unpacked(s->steps[--s->n], NULL);
    if (s->job)
        pst__job_record__free_unpacked(s->job, NULL);
    s->job = NULL;
    s->running = false;
}

static int ask_store(struct summary *s, struct client *client)
{
    Pst__QueryRequest req = PST__QUERY_REQUEST__INIT;
    Pst__JobFilter filter = PST__JOB_FILTER__INIT;
    struct query_info info;
    int r;

    drop_reply(s);
    filter.job_ids = &s->own->job->job_id;
    filter.n_job_ids = 1;
    req.jobs = &filter;
    r = query_run(client, OP_QUERY_JOBS, &req.base, &pst__job_record__descriptor, on_job, s, &info);
    return r < 0 ? r
                 : query_run(client, OP_QUERY_STEPS, &req.base, &pst__step_record__descriptor,
                             on_step, s, &info);
}

/* The controller's word, once all steps have ended or the time is up. */
static void record_complete(struct summary *s)
{
    int64_t until = now_mono_us() + WAIT_US;
    struct client *client = NULL;
    struct err err = { .text = "" };
    int r = cli_connect_once(&s->cli, &client, &err);

    while (r == 0) {
        r = ask_store(s, client);
        if (r < 0 || !s->running || now_mono_us() >= until)
            break;
        /* the controller sends nothing unasked */
        (void)nanosleep(&(struct timespec){ .tv_nsec = LOOK_MS * 1000000L }, NULL);
    }
    if (r < 0)
        drop_reply(s);
    client_free(client);
}

/* How it ended, where the controller knows better than the script's exit status. */
static void merge_job(struct summary *s)
{
    Pst__JobRecord *job = s->job, *own = s->own->job;

    if (!job)
        return;
    if (!names_job_state_terminal(job->state))
        job->state = own->state;
    job->end_us = own->end_us;
}

static int put_line(const char *text, size_t len)
{
    for (size_t at = 0; at < len;) {
        ssize_t n = write(STDOUT_FILENO, text + at, len - at);

        if (n < 0 && errno != EINTR)
            return -errno;
        at += n > 0 ? (size_t)n : 0;
    }
    return 0;
}

int main(void)
{
    struct summary s = { 0 };
    Pst__AcctJob run = PST__ACCT_JOB__INIT;
    _cleanup_val_(strbuf_done) struct strbuf text = STRBUF_INIT;

    (void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); /* cannot fail; it only asks and writes */
    cli_init(&s.cli, "slurmstepd-summary");
    s.cli.timeout_ms = CALL_MS;
    s.own = read_own();
    s.steps[s.n++] = s.own->steps[0];
    record_complete(&s);
    merge_job(&s);
    run.job = s.job ? s.job : s.own->job;
    run.steps = s.steps;
    run.n_steps = s.n;
    strbuf_add(&text, "-- Summary of the job --\n");
    efficiency_report(&run, run.job->end_us, &text);
    if (!s.job)
        strbuf_add(&text, "Steps of srun are not counted: the controller did not answer\n");
    return text.failed || put_line(strbuf_str(&text), text.len) < 0 ? 1 : 0;
}
