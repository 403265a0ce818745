/* mail.c - mail to users about their jobs; see mail.h.
 *
 * An array is one thing to its owner unless he asked for ARRAY_TASKS: one mail when its first
 * task starts, one when its last has ended, with the range of exit codes. */
#include "ctld/notify/mail.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/must.h"
#include "base/safetext.h"
#include "base/timefmt.h"
#include "ctld/notify/hooks.h"
#include "ctld/notify/programs.h"
#include "ctld/core/service.h"
#include "model/words/efficiency.h"
#include "model/words/names.h"

#define SUBJECT_MAX 1024

static const struct {
    uint32_t bit;
    const char *words;
} events[] = {
    { MAIL_BEGIN, "Began" },
    { MAIL_END, "Ended" },
    { MAIL_FAIL, "Failed" },
    { MAIL_REQUEUE, "Requeued" },
    { MAIL_TIME_100, "Reached time limit" },
    { MAIL_TIME_90, "Reached 90% of time limit" },
    { MAIL_TIME_80, "Reached 80% of time limit" },
    { MAIL_TIME_50, "Reached 50% of time limit" },
    { MAIL_STAGE_OUT, "Staged Out" },
    { MAIL_INVALID_DEPEND, "Invalid dependency" },
};

/* How the tasks of an array ended, or the one job. */
struct outcome {
    unsigned min_code, max_code, max_signal;
    Pst__JobState state;
    bool mixed;
};

static const char *words_of(uint32_t bit)
{
    for (size_t i = 0; i < ARRAY_SIZE(events); i++)
        if (events[i].bit == bit)
            return events[i].words;
    return "Unknown";
}

static bool asks_mail(const Pst__JobRecord *r, uint32_t bit)
{
    return r->has_mail_type && (r->mail_type & bit);
}

/* A task whose owner wants to hear of the array as a whole. */
static bool is_part(const Pst__JobRecord *r)
{
    return r->has_array_job_id && r->has_array_task_id && !asks_mail(r, MAIL_ARRAY_TASKS);
}

/* Is a mail about this record one about its array? */
static bool tells_array(const Pst__JobRecord *r)
{
    return is_part(r) || (job_is_array(r) && !asks_mail(r, MAIL_ARRAY_TASKS));
}

static void add_outcome(struct outcome *o, const Pst__JobRecord *r, bool first)
{
    int status = r->has_exit_status ? (int)r->exit_status : 0;
    unsigned code = WIFEXITED(status) ? (unsigned)WEXITSTATUS(status) : 0;

    if (first)
        *o = (struct outcome){ .min_code = code, .max_code = code, .state = job_state(r) };
    o->mixed = o->mixed || o->state != job_state(r);
    o->min_code = MIN(o->min_code, code);
    o->max_code = MAX(o->max_code, code);
    if (WIFSIGNALED(status))
        o->max_signal = MAX(o->max_signal, (unsigned)WTERMSIG(status));
}

/* Has every task of the array ended?  Then how.  The walk stops at the first that has not. */
static bool array_over(struct ctld *ctld, uint32_t array_job_id, struct outcome *o)
{
    const struct job *meta = cluster_job(ctld->cluster, array_job_id);
    const uint32_t *ids;
    size_t n;
    bool first = true;

    if (meta && job_is_array(meta->rec))
        return false;
    n = cluster_array_jobs(ctld->cluster, array_job_id, &ids);
    for (size_t i = 0; i < n; i++) {
        const struct job *t = cluster_job(ctld->cluster, ids[i]);

        if (!t)
            continue;
        if (!job_is_ended(t->rec) || job_has_flag(t->rec, JOB_FLAG(REQUEUED)))
            return false;
        add_outcome(o, t->rec, first);
        first = false;
    }
    return !first;
}

/* Is j the first task of its array to start? */
static bool array_begins(struct ctld *ctld, const struct job *j)
{
    const uint32_t *ids;
    size_t n = cluster_array_jobs(ctld->cluster, j->rec->array_job_id, &ids);

    for (size_t i = 0; i < n; i++) {
        const struct job *t = cluster_job(ctld->cluster, ids[i]);

        if (t && t != j && t->rec->has_start_us && t->rec->has_array_task_id)
            return false;
    }
    return true;
}

static void clock_text(int64_t us, char *buf, size_t size)
{
    int64_t s = us > 0 ? us / USEC_PER_SEC : 0, days = s / 86400;

    s %= 86400;
    if (days)
        (void)snprintf(buf, size, "%lld-%02lld:%02lld:%02lld", (long long)days, (long long)s / 3600,
                       (long long)s / 60 % 60, (long long)s % 60);
    else
        (void)snprintf(buf, size, "%02lld:%02lld:%02lld", (long long)s / 3600,
                       (long long)s / 60 % 60, (long long)s % 60);
}

static void num_env(struct program *p, const char *name, uint64_t value)
{
    char text[24];

    (void)snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
    program_env(p, name, text);
}

/* ", Queued time 00:00:01" or ", Run time 00:00:01". */
static void add_time(const Pst__JobRecord *r, uint32_t bit, struct program *p, char *buf,
                     size_t size)
{
    int64_t end = r->has_end_us && job_is_ended(r) ? r->end_us : core_now();
    char text[32];

    buf[0] = '\0';
    if (bit == MAIL_BEGIN && !r->start_us)
        return; /* the record of an array, of which a task began */
    if (bit == MAIL_BEGIN) {
        int64_t from = r->has_requeue_us ? r->requeue_us : r->submit_us;

        clock_text(r->start_us - from, text, sizeof(text));
        program_env(p, "SLURM_JOB_QUEUED_TIME", text);
        (void)snprintf(buf, size, ", Queued time %s", text);
    } else if ((r->has_start_us && r->start_us) || job_is_ended(r)) {
        int64_t from = r->has_start_us && r->start_us ? r->start_us : end;

        clock_text(end - from - (r->has_suspended_us ? r->suspended_us : 0), text, sizeof(text));
        program_env(p, "SLURM_JOB_RUN_TIME", text);
        (void)snprintf(buf, size, ", Run time %s", text);
    }
}

/* ", COMPLETED, ExitCode 0", for arrays ", Mixed, ExitCode [0-1]". */
static void add_end(const struct outcome *o, bool array, struct program *p, char *buf, size_t size)
{
    const char *state = o->mixed ? "Mixed" : names_job_state(o->state);

    program_env(p, "SLURM_JOB_STATE", state);
    if (array) {
        num_env(p, "SLURM_JOB_EXIT_CODE_MAX", o->max_code);
        num_env(p, "SLURM_JOB_EXIT_CODE_MIN", o->min_code);
        if (o->max_signal)
            num_env(p, "SLURM_JOB_TERM_SIGNAL_MAX", o->max_signal);
        (void)snprintf(buf, size, ", %s, ExitCode [%u-%u]", state, o->min_code, o->max_code);
        return;
    }
    num_env(p, "SLURM_JOB_EXIT_CODE_MAX", o->max_code);
    if (o->max_signal)
        num_env(p, "SLURM_JOB_TERM_SIGNAL_MAX", o->max_signal);
    (void)snprintf(buf, size, ", %s, ExitCode %u", state, o->max_code);
}

/* How it ended, as EpilogSlurmctld is told. */
static void add_exit_codes(const Pst__JobRecord *r, struct program *p)
{
    uint32_t status = r->has_exit_status ? r->exit_status : 0;
    char text[32];

    num_env(p, "SLURM_JOB_EXIT_CODE", status);
    (void)snprintf(text, sizeof(text), "%u:%u", status >> 8 & 0xff, status & 0x7f);
    program_env(p, "SLURM_JOB_EXIT_CODE2", text);
    num_env(p, "SLURM_JOB_DERIVED_EC", r->has_derived_exit_status ? r->derived_exit_status : 0);
}

static void subject_start(const Pst__JobRecord *r, bool summary, char *buf, size_t size)
{
    const char *name = r->name ? r->name : "";

    if (summary)
        (void)snprintf(buf, size, "Slurm Array Summary Job_id=%u_* (%u) Name=%s", r->array_job_id,
                       r->array_job_id, name);
    else if (r->has_array_task_id)
        (void)snprintf(buf, size, "Slurm Array Task Job_id=%u_%u (%u) Name=%s", r->array_job_id,
                       r->array_task_id, r->job_id, name);
    else
        (void)snprintf(buf, size, "Slurm Job_id=%u Name=%s", r->job_id, name);
}

/* The recipient; MailDomain is added to the user's own name.  False: a mail program would take the
 * text for something else, such as an option.  No "--" comes before the recipient: we call programs
 * as Slurm does, and not all know "--". */
static bool add_recipient(struct ctld *ctld, const Pst__JobRecord *r, struct program *p)
{
    const char *domain = conf_str(ctld->conf, CONF_MAIL_DOMAIN);
    char to[512];

    if (r->mail_user && *r->mail_user)
        (void)snprintf(to, sizeof(to), "%s", r->mail_user);
    else if (r->user_name)
        (void)snprintf(to, sizeof(to), domain && *domain ? "%s@%s" : "%s", r->user_name, domain);
    else
        (void)snprintf(to, sizeof(to), "%u", r->uid);
    if (!safetext_is_address(to)) { /* of a log from before submissions were asked */
        log_error("job %u: no mail is sent: its mail_user is not an address of mail", r->job_id);
        return false;
    }
    program_arg(p, to);
    return true;
}

/* MailSummary: what the job used of what it held, as `penstock report` says it. */
static void add_summary(const struct job *j, struct program *p)
{
    _cleanup_val_(strbuf_done) struct strbuf text = STRBUF_INIT;
    Pst__AcctJob run = PST__ACCT_JOB__INIT;
    size_t n = 0;

    for (const struct step *s = j->steps; s; s = s->next)
        n++;
    run.job = j->rec;
    run.steps = malloc((n + 1) * sizeof(*run.steps));
    for (const struct step *s = j->steps; run.steps && s; s = s->next)
        run.steps[run.n_steps++] = s->rec;
    efficiency_report(&run, core_now(), &text);
    program_input(p, strbuf_str(&text));
    free(run.steps);
}

/* The job is one, a task or an array's own record.  summary: how the tasks ended, when the mail is
 * about the whole array. */
static void send_mail(struct ctld *ctld, struct job *j, uint32_t bit, const struct outcome *summary)
{
    const Pst__JobRecord *r = j->rec;
    const char *prog = conf_str(ctld->conf, CONF_MAIL_PROG);
    bool part = tells_array(r), ended = bit & (MAIL_END | MAIL_FAIL);
    char start[SUBJECT_MAX / 2], when[64], how[128] = "", subject[SUBJECT_MAX];
    struct outcome own;
    struct program *p;

    if (!prog || !*prog || !ctld->programs)
        return;
    p = program_new(ctld, "MailProg");
    p->lsn = ctld->applied_lsn;
    p->job_id = r->job_id;
    p->limit_us = 60 * USEC_PER_SEC;
    program_path(p, prog);
    hooks_env(ctld, j, p);
    program_env(p, "SLURM_JOB_MAIL_TYPE", words_of(bit));
    add_time(r, bit, p, when, sizeof(when));
    add_outcome(&own, r, true);
    if (ended)
        add_exit_codes(r, p);
    if (ended)
        add_end(summary ? summary : &own, summary != NULL, p, how, sizeof(how));
    else
        program_env(p, "SLURM_JOB_STATE", names_job_state(job_state(r)));
    subject_start(r, part, start, sizeof(start));
    (void)snprintf(subject, sizeof(subject), "%s %s%s%s", start, words_of(bit), part ? "" : when,
                   how);
    program_arg(p, "-s");
    program_arg(p, subject);
    if (!add_recipient(ctld, r, p)) {
        program_free(p);
        return;
    }
    if (ended && !summary && conf_bool(ctld->conf, CONF_MAIL_SUMMARY))
        add_summary(j, p);
    programs_add_take(ctld->programs, p);
}

static bool good_end(Pst__JobState state)
{
    return state == JOB_STATE(COMPLETED) || state == JOB_STATE(CANCELLED);
}

/* The record that stands for the whole array, in a mail about it: that of the array's own number,
 * which holds the tasks that have not begun, or is the last task of them.  j where it is gone. */
static struct job *summary_job(struct ctld *ctld, struct job *j)
{
    struct job *array = is_part(j->rec) ? cluster_job(ctld->cluster, j->rec->array_job_id) : NULL;

    return array && array->rec->array_job_id == j->rec->array_job_id ? array : j;
}

static void on_end(struct ctld *ctld, struct job *j)
{
    struct outcome o;
    bool part = is_part(j->rec), good;
    uint32_t bit;

    if (part && !array_over(ctld, j->rec->array_job_id, &o))
        return;
    if (!part)
        add_outcome(&o, j->rec, true);
    good = good_end(o.state) && !o.mixed && (o.max_code == 0 || o.state == JOB_STATE(CANCELLED));
    bit = !good && asks_mail(j->rec, MAIL_FAIL) ? MAIL_FAIL : MAIL_END;
    if (asks_mail(j->rec, bit))
        send_mail(ctld, summary_job(ctld, j), bit, part ? &o : NULL);
}

/* ---- marks of the time limit ----------------------------------------------------------------- */

struct mails {
    struct idmap sent; /* job id -> bits of mail_type that its present run was mailed about */
};

int mails_new(struct mails **ret)
{
    *ret = calloc(1, sizeof(**ret));
    return *ret ? 0 : -ENOMEM;
}

struct mails *mails_free(struct mails *m)
{
    if (!m)
        return NULL;
    idmap_done(&m->sent);
    free(m);
    return NULL;
}

static bool was_sent(const struct mails *m, const struct job *j, uint32_t bit)
{
    return (uintptr_t)idmap_get(&m->sent, j->rec->job_id) & bit;
}

static void note_sent(struct mails *m, const struct job *j, uint32_t bit)
{
    uintptr_t bits = (uintptr_t)idmap_get(&m->sent, j->rec->job_id) | bit;

    if (idmap_put(&m->sent, j->rec->job_id, (void *)bits) < 0)
        must(NULL);
}

void mail_forget(struct ctld *ctld, const struct job *j)
{
    (void)idmap_remove(&ctld->mails->sent, j->rec->job_id); /* most have none */
}

void mail_job(struct ctld *ctld, struct job *j, Pst__EventKind kind)
{
    const Pst__JobRecord *r = j->rec;

    if (!r->has_mail_type || !r->mail_type || job_has_flag(r, JOB_FLAG(REVOKED)))
        return; /* REVOKED: the cluster that has the run tells of it */
    if (kind == PST__EVENT_KIND__EV_JOB_START) {
        mail_forget(ctld, j);
        if (asks_mail(r, MAIL_BEGIN) && (!is_part(r) || array_begins(ctld, j)))
            send_mail(ctld, summary_job(ctld, j), MAIL_BEGIN, NULL);
    } else if (kind == PST__EVENT_KIND__EV_JOB_END && job_is_ended(r)) {
        if (job_has_flag(r, JOB_FLAG(REQUEUED))) {
            if (asks_mail(r, MAIL_REQUEUE))
                send_mail(ctld, j, MAIL_REQUEUE, NULL);
            return;
        }
        if (job_state(r) == JOB_STATE(TIMEOUT) && asks_mail(r, MAIL_TIME_100))
            send_mail(ctld, j, MAIL_TIME_100, NULL);
        on_end(ctld, j);
    }
}

static const struct {
    uint32_t bit, percent;
} marks[] = { { MAIL_TIME_50, 50 }, { MAIL_TIME_80, 80 }, { MAIL_TIME_90, 90 } };

static bool passed_percent(const Pst__JobRecord *r, uint32_t percent, int64_t now)
{
    return r->has_end_us && now - r->start_us >= (r->end_us - r->start_us) / 100 * percent;
}

void mail_time(struct ctld *ctld, struct job *j, int64_t now)
{
    for (size_t i = 0; i < ARRAY_SIZE(marks); i++) {
        if (!asks_mail(j->rec, marks[i].bit) || was_sent(ctld->mails, j, marks[i].bit) ||
            !passed_percent(j->rec, marks[i].percent, now))
            continue;
        note_sent(ctld->mails, j, marks[i].bit);
        send_mail(ctld, j, marks[i].bit, NULL);
    }
}

void mail_recover(struct ctld *ctld, const struct job *j, int64_t now)
{
    for (size_t i = 0; i < ARRAY_SIZE(marks); i++)
        if (job_is_running(j->rec) && passed_percent(j->rec, marks[i].percent, now))
            note_sent(ctld->mails, j, marks[i].bit);
}

void mail_invalid_depend(struct ctld *ctld, struct job *j)
{
    if (asks_mail(j->rec, MAIL_INVALID_DEPEND))
        send_mail(ctld, j, MAIL_INVALID_DEPEND, NULL);
}

/* ---- the service ----------------------------------------------------------------------------- */

static int start_mails(struct ctld *ctld, struct err *err)
{
    (void)err;
    return mails_new(&ctld->mails);
}

static void free_mails(struct ctld *ctld)
{
    ctld->mails = mails_free(ctld->mails);
}

static void forget_job(struct ctld *ctld, struct job *j)
{
    mail_forget(ctld, j);
}

const struct ctld_service mail_service = {
    .name = "mail",
    .on_job = mail_job,
    .start = start_mails,
    .free = free_mails,
    .on_job_gone = forget_job,
};
