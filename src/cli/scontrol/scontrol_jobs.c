/* scontrol_jobs.c - commands for jobs: hold, release, requeue, notify, wait_job, write ... */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/timefmt.h"
#include "cli/base/ownfile.h"
#include "cli/query/arrayanswer.h"
#include "cli/query/elsewhere.h"
#include "cli/query/out_filter.h"
#include "cli/query/out_job.h"
#include "cli/query/out_query.h"
#include "cli/query/out_sluid.h"
#include "api.pb-c.h"
#include "cli/scontrol/scontrol.h"
#include "model/words/names.h"
#include "wire/errors.h"
#include "wire/ops.h"

struct verb_request {
    Pst__JobActionRequest request;
    Pst__JobFilter filter;
    const char *after; /* text before the error of the whole command, NULL = none */
    const char *what;  /* text before each error instead of "for job" behind it, NULL = none */
};

/* Programs know another message for this. */
static bool unknown_to_suspend(const struct verb_request *v, const Pst__JobActionResult *result)
{
    return (v->request.verb == PST__JOB_VERB__VERB_SUSPEND ||
            v->request.verb == PST__JOB_VERB__VERB_RESUME) &&
           result->code == ESLURM_INVALID_JOB_ID && !result->job_id && result->id &&
           !strchr(result->id, '_');
}

/* Jobs of a name that do not wait have no line of their own. */
static bool missed_by_name(const struct verb_request *v, const Pst__JobActionResult *result)
{
    return v->filter.n_names && result->code == ESLURM_JOB_NOT_PENDING;
}

static void send_verb(struct scontrol *s, struct verb_request *v)
{
    Pst__JobActionReply *reply = NULL;
    const char *last = NULL;
    bool last_is_good;
    size_t missed = 0;
    int r;

    v->request.filter = v->filter.n_names ? &v->filter : NULL;
    r = client_call(scontrol_client(s, "slurm_load_jobs"), OP_JOB_ACTION, &v->request.base,
                    (ProtobufCMessage **)&reply);
    if (r < 0) {
        last = client_strerror(s->client, r);
        scontrol_missing(s, stderr, "%s for job %s", last,
                         v->request.n_ids ? v->request.ids[0] : v->filter.names[0]);
    } else {
        elsewhere_act(&s->cli, &v->request, reply);
    }
    for (size_t i = 0, n; r >= 0 && i < reply->n_results; i += n) {
        const Pst__JobActionResult *result = reply->results[i];

        n = v->what ? 0 : arrayanswer_run(reply->results + i, reply->n_results - i);
        if (n > 0) { /* programs know no error of the whole command behind these lines */
            (void)scontrol_fail_tasks(s, reply->results + i, n, !v->after);
            continue;
        }
        n = 1;
        if (!result->code)
            continue;
        if (missed_by_name(v, result)) {
            missed++;
            continue;
        }
        if (!v->what && scontrol_fail_unknown_tasks(s, result))
            continue;
        last = result->text ? result->text : slurm_err_text(result->code);
        if (v->what) {
            scontrol_fail(s, "%s: %s", v->what, last);
            break; /* one line for the whole list */
        }
        if (unknown_to_suspend(v, result))
            scontrol_missing(s, stderr, "Unexpected message received for job %s", result->id);
        else
            scontrol_fail_result(s, result);
    }
    /* Programs know this line without a reason when the last of several jobs was well. */
    last_is_good = r >= 0 && reply->n_results > 0 && !reply->results[reply->n_results - 1]->code;
    if (missed && missed == reply->n_results)
        scontrol_missing(s, stderr, "%s error", v->after);
    if (last && v->after)
        scontrol_missing(s, stderr, "%s error%s%s", v->after, last_is_good ? "" : ":",
                         last_is_good ? "" : last);
    if (r >= 0)
        pst__job_action_reply__free_unpacked(reply, NULL);
}

/* "jobname=NAME" of hold, uhold and release. */
static bool is_name(const char *word)
{
    return strncasecmp(word, "jobname=", 8) == 0 || strncasecmp(word, "name=", 5) == 0;
}

/* Are all names of the list such as the verb takes?  A step is no job, and no set of tasks can be
 * the first of all but a whole array. */
static bool well_formed(const char *word, Pst__JobVerb verb)
{
    struct filter_ids ids = { 0 };
    bool good = filter_parse_ids(word, &ids, NULL) == 0;

    for (size_t i = 0; i < ids.n; i++) {
        if (ids.ids[i].has_step && verb != PST__JOB_VERB__VERB_NOTIFY)
            good = false;
        if (ids.ids[i].array == IDS_TASK_SET && verb == PST__JOB_VERB__VERB_TOP)
            good = false;
    }
    filter_ids_done(&ids);
    return good;
}

/* The jobs of a list come to the top together, so one error is about the whole list. */
static void send_top(struct scontrol *s, struct verb_request *v, const char *word)
{
    Pst__JobActionReply *reply = NULL;
    const char *text = NULL;
    int r = client_call(scontrol_client(s, "slurm_load_jobs"), OP_JOB_ACTION, &v->request.base,
                        (ProtobufCMessage **)&reply);

    if (r < 0)
        text = client_strerror(s->client, r);
    for (size_t i = 0; r >= 0 && i < reply->n_results && !text; i++) {
        const Pst__JobActionResult *result = reply->results[i];

        if (result->code)
            text = result->text ? result->text : slurm_err_text(result->code);
    }
    if (text)
        scontrol_missing(s, stderr, "%s for job %s", text, word);
    if (r >= 0)
        pst__job_action_reply__free_unpacked(reply, NULL);
}

/* A word of the list, and its request: a comma keeps ids together, a blank parts requests. */
static void send_word(struct scontrol *s, struct verb_request *v, const char *word, bool names)
{
    if (names && is_name(word)) {
        argwords_add(&v->filter.names, &v->filter.n_names, strchr(word, '=') + 1);
        send_verb(s, v);
    } else if (well_formed(word, v->request.verb)) {
        filter_add_ids(&v->request.ids, &v->request.n_ids, word);
        if (v->request.verb == PST__JOB_VERB__VERB_TOP)
            send_top(s, v, word);
        else
            send_verb(s, v);
    } else {
        scontrol_missing(s, stderr, "%s for job %s", slurm_err_text(ESLURM_INVALID_JOB_ID), word);
        if (v->after)
            scontrol_missing(s, stderr, "%s error:%s", v->after,
                             slurm_err_text(ESLURM_INVALID_JOB_ID));
    }
    argwords_free(v->request.ids, v->request.n_ids);
    v->request.ids = NULL;
    v->request.n_ids = 0;
    filter_done(&v->filter);
    v->filter = (Pst__JobFilter)PST__JOB_FILTER__INIT;
}

enum verb_flag { VERB_SPECIAL = 1, VERB_INCOMPLETE = 2 };

static void run_verb(struct scontrol *s, Pst__JobVerb verb, const char *word, const char *after,
                     int argc, char **argv, unsigned flags)
{
    struct verb_request v = { .request = PST__JOB_ACTION_REQUEST__INIT,
                              .filter = PST__JOB_FILTER__INIT,
                              .after = after };

    v.request.has_verb = true;
    v.request.verb = verb;
    v.request.has_special_exit = v.request.special_exit = (flags & VERB_SPECIAL) != 0;
    v.request.has_incomplete_only = v.request.incomplete_only = (flags & VERB_INCOMPLETE) != 0;
    if (argc < 1)
        scontrol_missing(s, stderr, "too few arguments for keyword:%s", word);
    for (int i = 0; i < argc; i++)
        send_word(s, &v, argv[i], after != NULL);
}

void scontrol_hold(struct scontrol *s, int argc, char **argv)
{
    run_verb(s, PST__JOB_VERB__VERB_HOLD, "hold", "slurm_suspend", argc, argv, 0);
}

void scontrol_uhold(struct scontrol *s, int argc, char **argv)
{
    run_verb(s, PST__JOB_VERB__VERB_UHOLD, "uhold", "slurm_suspend", argc, argv, 0);
}

void scontrol_release(struct scontrol *s, int argc, char **argv)
{
    run_verb(s, PST__JOB_VERB__VERB_RELEASE, "release", "slurm_suspend", argc, argv, 0);
}

void scontrol_suspend(struct scontrol *s, int argc, char **argv)
{
    run_verb(s, PST__JOB_VERB__VERB_SUSPEND, "suspend", NULL, argc, argv, 0);
}

void scontrol_resume(struct scontrol *s, int argc, char **argv)
{
    run_verb(s, PST__JOB_VERB__VERB_RESUME, "resume", NULL, argc, argv, 0);
}

void scontrol_top(struct scontrol *s, int argc, char **argv)
{
    run_verb(s, PST__JOB_VERB__VERB_TOP, "top", NULL, argc, argv, 0);
}

void scontrol_requeue(struct scontrol *s, int argc, char **argv)
{
    unsigned flags = 0;

    if (argc && strcasecmp(argv[0], "incomplete") == 0) {
        flags = VERB_INCOMPLETE;
        argc--;
        argv++;
    }
    run_verb(s, PST__JOB_VERB__VERB_REQUEUE, "requeue", NULL, argc, argv, flags);
}

void scontrol_requeuehold(struct scontrol *s, int argc, char **argv)
{
    unsigned flags = 0;

    for (; argc; argc--, argv++) {
        if (strcasecmp(argv[0], "state=SpecialExit") == 0 || strcasecmp(argv[0], "state=SE") == 0) {
            flags |= VERB_SPECIAL;
        } else if (strcasecmp(argv[0], "incomplete") == 0) {
            flags |= VERB_INCOMPLETE;
        } else {
            break;
        }
    }
    run_verb(s, PST__JOB_VERB__VERB_REQUEUE_HOLD, "requeuehold", NULL, argc, argv, flags);
}

void scontrol_notify(struct scontrol *s, int argc, char **argv)
{
    struct verb_request v = { .request = PST__JOB_ACTION_REQUEST__INIT,
                              .filter = PST__JOB_FILTER__INIT };
    _cleanup_val_(strbuf_done) struct strbuf text = STRBUF_INIT;

    if (argc < 2) {
        scontrol_missing(s, stderr, "too few arguments for keyword:notify");
        return;
    }
    for (int i = 1; i < argc; i++)
        strbuf_addf(&text, "%s%s", i > 1 ? " " : "", argv[i]);
    v.request.has_verb = true;
    v.request.verb = PST__JOB_VERB__VERB_NOTIFY;
    v.what = "job notify failure";
    v.request.message = (char *)strbuf_str(&text);
    if (well_formed(argv[0], v.request.verb))
        send_word(s, &v, argv[0], false);
    else
        scontrol_fail(s, "Invalid job_id %sjob notify failure: %s", argv[0], slurm_err_text(0));
}

static bool one_job(struct scontrol *s, const char *word, int argc, char **argv, uint32_t *ret_id)
{
    struct ids id;
    struct err err = { .text = "" };

    if (argc < 1) {
        scontrol_missing(s, stderr, "too few arguments for keyword:%s", word);
        return false;
    }
    if (ids_parse(argv[0], &id, &err) < 0) {
        scontrol_fail(s, "Invalid job_id %s", argv[0]);
        return false;
    }
    *ret_id = id.job_id;
    ids_done(&id);
    return true;
}

/* What a status says: ready 1, ended -ECHILD, not yet 0. */
static int job_ready(const struct frame *frame)
{
    Pst__JobStatus *status = pst__job_status__unpack(NULL, frame->len, frame->body);
    int r = 0;

    if (!status)
        return -EBADMSG;
    if (names_job_state_terminal((unsigned)status->state) ||
        status->state == PST__JOB_STATE__JOB_PENDING)
        r = -ECHILD;
    else if (status->launched)
        r = 1;
    pst__job_status__free_unpacked(status, NULL);
    return r;
}

void scontrol_wait_job(struct scontrol *s, int argc, char **argv)
{
    Pst__JobWaitRequest request = PST__JOB_WAIT_REQUEST__INIT;
    struct client *c;
    struct frame frame;
    int r;

    if (!one_job(s, "wait_job", argc, argv, &request.job_id))
        return;
    request.has_job_id = true;
    request.has_until_started = request.until_started = true;
    c = scontrol_client(s, "slurm_load_jobs");
    r = client_send(c, OP_JOB_WAIT, 0, client_next_id(c), &request.base);
    while (r >= 0 && (r = client_recv(c, -1, &frame)) > 0) {
        r = frame.flags & FRAME_ERROR ? -EREMOTEIO : job_ready(&frame);
        if (r > 0)
            break;
    }
    if (r > 0)
        (void)fprintf(stderr, "scontrol: Nodes are ready for job %u\n", request.job_id);
    else if (r == -ECHILD)
        scontrol_fail(s, "scontrol: Job %u no longer running", request.job_id);
    else if (r == -EREMOTEIO)
        scontrol_fail(s, "scontrol: Problem running job %u", request.job_id);
    else
        scontrol_fail(s, "scontrol: error: %s", client_strerror(c, r));
    /* The replies were left in the middle: the next command starts on a connection of its own. */
    s->client = client_free(s->client);
}

/* Write a script to path; "-" is stdout.  named: by the caller.  False with errno set. */
static bool write_script(const char *path, bool named, const ProtobufCBinaryData *script)
{
    _cleanup_close_ int fd = -1;

    if (strcmp(path, "-") == 0)
        return fwrite(script->data, 1, script->len, stdout) == script->len && fflush(stdout) == 0;
    fd = named ? open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600)
               : ownfile_create(path, 0600);
    if (!named && fd < 0)
        errno = -fd;
    for (size_t at = 0; fd >= 0 && at < script->len;) {
        ssize_t n = write(fd, script->data + at, script->len - at);

        if (n < 0 && errno != EINTR)
            return false;
        at += n > 0 ? (size_t)n : 0;
    }
    return fd >= 0;
}

static bool is_abbreviation(const char *word, const char *name, size_t shortest)
{
    size_t len = strlen(word);

    return len >= shortest && len <= strlen(name) && strncasecmp(word, name, len) == 0;
}

static bool read_job(struct scontrol *s, const char *text, uint32_t *ret_id)
{
    struct ids id;
    struct filter_ids one = { .ids = &id, .n = 1 };

    if (ids_parse(text, &id, NULL) < 0)
        return false;
    if (id.sluid[0])
        (void)sluids_find(scontrol_client(s, "slurm_load_jobs"), &one); /* fails again below */
    *ret_id = id.job_id;
    ids_done(&id);
    return *ret_id != 0;
}

void scontrol_write(struct scontrol *s, int argc, char **argv)
{
    Pst__JobIdRequest request = PST__JOB_ID_REQUEST__INIT;
    Pst__ScriptReply *reply = NULL;
    _cleanup_free_ char *path = NULL;
    int r;

    if (argc < 1) {
        scontrol_missing(s, stderr, "too few arguments for keyword:write");
        return;
    }
    if (is_abbreviation(argv[0], "config", 1)) {
        scontrol_write_config(s, argc > 1 ? argv[1] : NULL);
        return;
    }
    if (!is_abbreviation(argv[0], "batch_script", 1)) {
        scontrol_fail(s, "invalid write argument:%s", argv[0]);
        return;
    }
    if (argc < 2)
        return;
    if (!read_job(s, argv[1], &request.job_id)) {
        scontrol_fail(s, "scontrol: fatal: Bad job/step specified: %s: JobID can not be zero",
                      argv[1]);
        return;
    }
    request.has_job_id = true;
    r = client_call(scontrol_client(s, "slurm_load_jobs"), OP_QUERY_SCRIPT, &request.base,
                    (ProtobufCMessage **)&reply);
    if (r < 0) { /* programs know the message; the exit status is 0 */
        (void)fprintf(stderr, "job script retrieval failed: %s\n", client_strerror(s->client, r));
        return;
    }
    path = argc > 2 ? xstrdup_or_die(argv[2]) : xasprintf_or_die("slurm-%u.sh", request.job_id);
    if (!reply->has_script)
        (void)fprintf(stderr, "job script retrieval failed: %s\n",
                      slurm_err_text(ESLURM_JOB_SCRIPT_MISSING));
    else if (!write_script(path, argc > 2, &reply->script))
        (void)fprintf(stderr, "failed to open file `%s`: %s\n", path, strerror(errno));
    else if (strcmp(path, "-") != 0 && !s->quiet)
        (void)printf("batch script for job %u written to %s\n", request.job_id, path);
    pst__script_reply__free_unpacked(reply, NULL);
}

static int on_completing(void *ctx, const ProtobufCMessage *record, const struct query_info *info)
{
    struct strbuf *out = ctx;
    const Pst__JobRecord *j = (const Pst__JobRecord *)record;
    int64_t since = j->end_us > 0 ? (info->now_us - j->end_us) / USEC_PER_SEC : 0;

    if (!(j->state_flags & (1u << PST__JOB_FLAG__JOB_FLAG_COMPLETING)))
        return 0;
    strbuf_addf(out, "JobId=%u EndTime=", j->job_id);
    put_stamp(out, j->end_us, "Unknown", info->now_us);
    strbuf_add(out, " CompletingTime=");
    put_hms(out, since > 0 ? since : 0);
    strbuf_addf(out, " Nodes(COMPLETING)=%s\n", job_nodelist(j));
    return 0;
}

void scontrol_completing(struct scontrol *s, int argc, char **argv)
{
    Pst__QueryRequest request = query_to_print();
    _cleanup_val_(strbuf_done) struct strbuf out = STRBUF_INIT;
    int r = query_run(scontrol_client(s, "slurm_load_jobs"), OP_QUERY_JOBS, &request.base,
                      &pst__job_record__descriptor, on_completing, &out, NULL);

    (void)argc;
    (void)argv;
    if (r < 0)
        scontrol_fail(s, "slurm_load_jobs error: %s", client_strerror(s->client, r));
    (void)fputs(strbuf_str(&out), stdout);
}
