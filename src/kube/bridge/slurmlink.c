/* slurmlink.c - see slurmlink.h */
#include "kube/bridge/slurmlink.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "base/timefmt.h"
#include "kube/api/kubejson.h"
#include "kube/api/kubemap.h"
#include "kube/bridge/jobmake.h"

#define API "/slurm/v0.0.45/"
#define FIELDS                                                                                     \
    "fields=job_id,job_state,nodes,admin_comment,state_reason,start_time,excluded_nodes,"          \
    "partition"
#define PAUSE_US INT64_C(200000)
#define MOST_PAUSE_US (INT64_C(2) * USEC_PER_SEC)
#define SILENCE_MS 60000 /* the stream says something every 15 seconds */
#define ID_TEXT 16u
#define AGAIN_US USEC_PER_SEC
#define NO_SUCH_JOB 2017
#define JOB_BYTES 1024u /* of a job without texts */
#define TREE_TIMES 8u   /* what a JSON text takes as a tree */

struct slurmlink {
    const char *bridge;
    struct kubeserver *s;
    struct kubeloop *loop;
    struct slurmlink_heard heard;
    struct kubemap jobs; /* by number */
    size_t bytes;        /* about what they take */
    char *cursor, *page;
    bool list_wanted, listing, is_synced;
    bool away; /* the stream says that slurmctld is */
    unsigned failures;
    int64_t lost_us; /* since when there is no stream; 0: there is one */
    struct kubetimer stream, list, again;
};

struct one_job {
    struct slurmlink *l;
    uint32_t id;
};

static void begin_stream(void *ctx);
static void ask_page(void *ctx);
static void tell_kept(void *ctx);

int slurmlink_new(struct kubeserver *s, const char *bridge, const struct slurmlink_heard *heard,
                  struct slurmlink **ret)
{
    struct slurmlink *l = calloc(1, sizeof(*l));

    if (!l)
        return -ENOMEM;
    l->s = s;
    l->bridge = bridge;
    l->loop = kubeserver_loop(s);
    l->lost_us = now_mono_us();
    l->heard = *heard;
    l->heard.bytes_most = heard->bytes_most ? heard->bytes_most : SLURMLINK_BYTES_MOST;
    l->stream = (struct kubetimer){ .fn = begin_stream, .ctx = l };
    l->list = (struct kubetimer){ .fn = ask_page, .ctx = l };
    l->again = (struct kubetimer){ .fn = tell_kept, .ctx = l };
    kubeloop_arm(l->loop, &l->stream, now_mono_us());
    *ret = l;
    return 0;
}

static void free_job(void *job)
{
    struct slurmjob *j = job;

    json_decref(j->comment);
    free(j->nodes);
    free(j->word);
    free(j->reason);
    free(j->excluded);
    free(j->partition);
    free(j);
}

struct slurmlink *slurmlink_free(struct slurmlink *l)
{
    if (!l)
        return NULL;
    kubeloop_disarm(l->loop, &l->stream);
    kubeloop_disarm(l->loop, &l->list);
    kubeloop_disarm(l->loop, &l->again);
    kubemap_done(&l->jobs, free_job);
    free(l->cursor);
    free(l->page);
    free(l);
    return NULL;
}

bool slurmlink_is_synced(const struct slurmlink *l)
{
    return l->is_synced;
}

int64_t slurmlink_silence_us(const struct slurmlink *l)
{
    return l->lost_us ? now_mono_us() - l->lost_us : 0;
}

const char *slurmlink_silent(const struct slurmlink *l)
{
    return l->away ? "slurmctld" : "slurmrestd";
}

static void write_id(uint32_t id, char buf[static ID_TEXT])
{
    (void)snprintf(buf, ID_TEXT, "%u", id);
}

const struct slurmjob *slurmlink_job(const struct slurmlink *l, uint32_t id)
{
    char key[ID_TEXT];

    write_id(id, key);
    return kubemap_get(&l->jobs, key);
}

void slurmlink_forget(struct slurmlink *l, uint32_t id)
{
    struct slurmjob *job;
    char key[ID_TEXT];

    write_id(id, key);
    job = kubemap_take(&l->jobs, key);
    if (!job)
        return;
    l->bytes -= job->bytes;
    free_job(job);
}

size_t slurmlink_bytes(const struct slurmlink *l)
{
    return l->bytes;
}

/* ---- what is told of a job ------------------------------------------------------------------- */

/* Is there room for a job of this size, instead of what it takes now? */
static bool has_room(const struct slurmlink *l, size_t now, size_t size)
{
    if (size <= now || l->bytes - now + size <= l->heard.bytes_most)
        return true;
    log_seldom(LOG_ERROR,
               "slurmrestd tells of %zu jobs of pods: more than %zu MiB are not kept, and what is "
               "told beyond is left alone",
               l->jobs.n, l->heard.bytes_most >> 20);
    return false;
}

static struct slurmjob *find_job(struct slurmlink *l, uint32_t id)
{
    struct slurmjob *job = (struct slurmjob *)(uintptr_t)slurmlink_job(l, id);
    char key[ID_TEXT];

    if (job)
        return job;
    if (!has_room(l, 0, JOB_BYTES))
        return NULL;
    job = calloc(1, sizeof(*job));
    write_id(id, key);
    if (!job || kubemap_put(&l->jobs, key, job) < 0) {
        free(job);
        return NULL;
    }
    job->id = id;
    job->bytes = JOB_BYTES;
    l->bytes += JOB_BYTES;
    return job;
}

static size_t size_of(const json_t *one, const json_t *comment)
{
    static const char *const texts[] = { "nodes", "excluded_nodes", "partition", "state_reason" };
    size_t n = JOB_BYTES + (comment ? strlen(kubejson_text(one, "admin_comment")) * TREE_TIMES : 0);

    for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
        n += strlen(kubejson_text(one, texts[i]));
    return n;
}

static enum slurmjob_state state_of(const char *word)
{
    static const char *const waits[] = { "PENDING", "REQUEUED", "REQUEUE_HOLD", "SPECIAL_EXIT" };
    static const char *const runs[] = { "RUNNING",    "SUSPENDED", "CONFIGURING",
                                        "COMPLETING", "RESIZING",  "STOPPED" };
    static const char *const ends[] = { "COMPLETED",     "CANCELLED",    "FAILED",    "TIMEOUT",
                                        "NODE_FAIL",     "PREEMPTED",    "BOOT_FAIL", "DEADLINE",
                                        "OUT_OF_MEMORY", "LAUNCH_FAILED" };

    for (size_t i = 0; i < ARRAY_SIZE(waits); i++)
        if (strcmp(word, waits[i]) == 0)
            return SLURMJOB_PENDING;
    for (size_t i = 0; i < ARRAY_SIZE(runs); i++)
        if (strcmp(word, runs[i]) == 0)
            return SLURMJOB_RUNNING;
    for (size_t i = 0; i < ARRAY_SIZE(ends); i++)
        if (strcmp(word, ends[i]) == 0)
            return SLURMJOB_ENDED;
    return SLURMJOB_UNKNOWN; /* a word of a later release says nothing */
}

static bool has_word(const json_t *job, const char *word)
{
    size_t i;
    json_t *one;

    json_array_foreach(json_object_get(job, "job_state"), i, one)
    {
        if (json_is_string(one) && strcmp(json_string_value(one), word) == 0)
            return true;
    }
    return false;
}

static bool keep_text(char **to, const char *text)
{
    char *copy = strdup(text);

    if (!copy)
        return false;
    free(*to);
    *to = copy;
    return true;
}

/* A whole job as slurmrestd writes it.  Jobs of others are left alone. */
static void take_job(struct slurmlink *l, const json_t *one)
{
    json_int_t id = kubejson_int(one, "job_id", 0);
    const char *word = json_string_value(json_array_get(json_object_get(one, "job_state"), 0));
    _cleanup_json_ json_t *comment =
        jobmake_read_comment(kubejson_text(one, "admin_comment"), l->bridge);
    const struct slurmjob *known;
    struct slurmjob *job;
    size_t size;

    if (id <= 0 || id > UINT32_MAX || !word || state_of(word) == SLURMJOB_UNKNOWN)
        return;
    known = slurmlink_job(l, (uint32_t)id);
    if (!comment && !known)
        return;
    size = MAX(size_of(one, comment), known ? known->bytes : 0); /* it may keep its comment */
    if (!has_room(l, known ? known->bytes : 0, size))
        return;
    job = find_job(l, (uint32_t)id);
    if (!job || !keep_text(&job->nodes, kubejson_text(one, "nodes")) ||
        !keep_text(&job->word, word) ||
        !keep_text(&job->excluded, kubejson_text(one, "excluded_nodes")) ||
        !keep_text(&job->partition, kubejson_text(one, "partition")) ||
        !keep_text(&job->reason, kubejson_text(one, "state_reason")))
        return;
    l->bytes += size - job->bytes;
    job->bytes = size;
    job->state = state_of(word);
    job->holds = job->state == SLURMJOB_ENDED && has_word(one, "COMPLETING");
    job->start_s = kubejson_int(one, "start_time.number", 0);
    job->missed_us = 0;
    if (comment) {
        json_decref(job->comment);
        job->comment = TAKE_PTR(comment);
    }
    l->heard.changed(l->heard.ctx, job);
}

static bool is_missing(const struct kubereply *reply)
{
    return (reply->status == 404 || reply->status == 200) &&
           json_is_array(json_object_get(reply->body, "jobs")) &&
           kubereply_slurm_error(reply) == NO_SUCH_JOB;
}

static void take_answer(void *ctx, const struct kubereply *reply)
{
    struct one_job *o = ctx;
    struct slurmlink *l = o->l;
    const json_t *jobs = json_object_get(reply->body, "jobs");
    struct slurmjob *job = (struct slurmjob *)(uintptr_t)slurmlink_job(l, o->id);

    if (reply->status == 200 && json_array_size(jobs) > 0) {
        take_job(l, json_array_get(jobs, 0));
    } else if (job && is_missing(reply)) {
        int64_t now = now_mono_us();

        if (!job->missed_us)
            job->missed_us = now;
        else if (now - job->missed_us >= SLURMLINK_SURE_US)
            job->state = SLURMJOB_GONE;
        l->heard.changed(l->heard.ctx, job);
    }
    free(o);
}

static int ask_rest(struct slurmlink *l, const char *method, const char *path, const json_t *body,
                    const char *header, kubecall_fn *done, void *ctx)
{
    return kubecall_start(l->s,
                          &(struct kubecall_spec){ .method = method,
                                                   .path = path,
                                                   .body = body,
                                                   .header = header,
                                                   .lane = 1,
                                                   .done = done,
                                                   .ctx = ctx },
                          NULL);
}

int slurmlink_ask(struct slurmlink *l, uint32_t id)
{
    struct one_job *o = malloc(sizeof(*o));
    char path[64];
    int r;

    if (!o || !find_job(l, id)) {
        free(o);
        return -ENOMEM;
    }
    *o = (struct one_job){ l, id };
    (void)snprintf(path, sizeof(path), API "job/%u", id);
    r = ask_rest(l, "GET", path, NULL, NULL, take_answer, o);
    if (r < 0)
        free(o);
    return r;
}

int slurmlink_submit(struct slurmlink *l, const json_t *body, const char *key, kubecall_fn *done,
                     void *ctx)
{
    char header[300];

    (void)snprintf(header, sizeof(header), "Idempotency-Key: %s", key);
    return ask_rest(l, "POST", API "job/submit?keeps_nodes=true", body, header, done, ctx);
}

int slurmlink_update(struct slurmlink *l, uint32_t id, const json_t *body, kubecall_fn *done,
                     void *ctx)
{
    char path[64];

    (void)snprintf(path, sizeof(path), API "job/%u", id);
    return ask_rest(l, "POST", path, body, NULL, done, ctx);
}

int slurmlink_resources(struct slurmlink *l, uint32_t id, kubecall_fn *done, void *ctx)
{
    char path[64];

    (void)snprintf(path, sizeof(path), API "resources/%u", id);
    return ask_rest(l, "GET", path, NULL, NULL, done, ctx);
}

int slurmlink_cancel(struct slurmlink *l, uint32_t id, kubecall_fn *done, void *ctx)
{
    char path[64];

    (void)snprintf(path, sizeof(path), API "job/%u", id);
    return ask_rest(l, "DELETE", path, NULL, NULL, done, ctx);
}

/* ---- nodes of a job that has ended ----------------------------------------------------------- */

bool slurmlink_is_kept(const struct slurmjob *job)
{
    return job->state == SLURMJOB_ENDED && job->holds && !job->let_go && job->comment;
}

void slurmlink_look_again(struct slurmlink *l)
{
    kubeloop_arm(l->loop, &l->again, now_mono_us() + AGAIN_US);
}

static void tell_one(void *ctx, const char *key, void *value)
{
    struct slurmlink *l = ctx;
    const struct slurmjob *job = value;

    (void)key;
    if (slurmlink_is_kept(job))
        l->heard.changed(l->heard.ctx, job);
}

static void tell_kept(void *ctx)
{
    struct slurmlink *l = ctx;

    kubemap_walk(&l->jobs, tell_one, l);
}

static void take_let_go(void *ctx, const struct kubereply *reply)
{
    struct one_job *o = ctx;
    struct slurmjob *job = (struct slurmjob *)(uintptr_t)slurmlink_job(o->l, o->id);
    const json_t *first = json_array_get(json_object_get(reply->body, "errors"), 0);

    if (job) {
        job->letting_go = false;
        job->let_go = reply->status == 200 || kubereply_slurm_error(reply) == NO_SUCH_JOB;
        if (!job->let_go) {
            log_seldom(LOG_ERROR, "job %u keeps its nodes: %d %s", o->id, reply->status,
                       first ? kubejson_text(first, "error") : reply->text);
            slurmlink_look_again(o->l);
        }
    }
    free(o);
}

void slurmlink_let_go(struct slurmlink *l, uint32_t id)
{
    struct slurmjob *job = (struct slurmjob *)(uintptr_t)slurmlink_job(l, id);
    struct one_job *o = malloc(sizeof(*o));
    char path[64];

    (void)snprintf(path, sizeof(path), "/penstock/v1/job/%u/nodes", id);
    if (o)
        *o = (struct one_job){ l, id };
    if (o && job && ask_rest(l, "DELETE", path, NULL, NULL, take_let_go, o) == 0) {
        job->letting_go = true;
        return;
    }
    free(o);
    slurmlink_look_again(l);
}

/* ---- the list -------------------------------------------------------------------------------- */

/* What we had and the list has not is asked for one by one: only that answer is a no. */
static void ask_missing(void *ctx, const char *key, void *value)
{
    struct slurmjob *job = value;

    (void)key;
    if (job->state != SLURMJOB_ENDED && job->state != SLURMJOB_GONE)
        (void)slurmlink_ask(ctx, job->id); /* else at the next change of its pods */
}

static void take_page(void *ctx, const struct kubereply *reply)
{
    struct slurmlink *l = ctx;
    const json_t *jobs = json_object_get(reply->body, "jobs");
    const char *more = kubejson_text(reply->body, "next_cursor");
    char *next = *more ? strdup(more) : NULL; /* without it the list would seem whole */
    size_t i;
    json_t *one;

    l->listing = false;
    if (reply->status != 200 || !json_is_array(jobs) || (*more && !next) ||
        (next && l->page && strcmp(next, l->page) == 0)) {
        free(next);
        free(l->page); /* from the first page: it may be the place that is refused */
        l->page = NULL;
        log_seldom(LOG_ERROR, "slurmrestd: the list of jobs failed: %d %s", reply->status,
                   reply->text);
        kubeloop_arm(l->loop, &l->list, now_mono_us() + USEC_PER_SEC);
        return;
    }
    json_array_foreach(jobs, i, one) take_job(l, one);
    free(l->page);
    l->page = next;
    if (l->page) {
        kubeloop_arm(l->loop, &l->list, now_mono_us());
        return;
    }
    l->list_wanted = false;
    if (l->is_synced) {
        kubemap_walk(&l->jobs, ask_missing, l);
        return;
    }
    l->is_synced = true;
    l->heard.synced(l->heard.ctx);
}

static void ask_page(void *ctx)
{
    struct slurmlink *l = ctx;
    _cleanup_val_(strbuf_done) struct strbuf path = STRBUF_INIT;

    if (l->listing || !l->list_wanted)
        return;
    strbuf_add(&path, API "jobs/?" FIELDS "&limit=1000");
    if (l->page) {
        strbuf_add(&path, "&cursor=");
        kubecall_escape(&path, l->page);
    }
    l->listing = ask_rest(l, "GET", strbuf_str(&path), NULL, NULL, take_page, l) == 0;
    if (!l->listing)
        kubeloop_arm(l->loop, &l->list, now_mono_us() + USEC_PER_SEC);
}

/* ---- the stream ------------------------------------------------------------------------------ */

static void lose_sight(struct slurmlink *l, bool away)
{
    l->away = away;
    if (!l->lost_us)
        l->lost_us = now_mono_us();
}

/* Pods that say that nobody answers say what they wait for again; what failed meanwhile need not
 * wait until its pause is over. */
static void hear_again(struct slurmlink *l)
{
    bool lost = l->lost_us != 0, long_ago = lost && slurmlink_silence_us(l) > PAUSE_US << 4u;

    l->away = false;
    l->lost_us = 0;
    if (long_ago && l->is_synced)
        l->heard.synced(l->heard.ctx);
    if (lost)
        l->heard.back(l->heard.ctx);
}

static int take_line(void *ctx, const char *line, size_t len)
{
    struct slurmlink *l = ctx;
    _cleanup_json_ json_t *event = NULL;
    struct err err = { .text = "" };
    const char *name, *cursor;
    uint32_t id;
    int r = kubejson_parse(line, len, &event, &err);

    if (r < 0)
        return r; /* the stream begins anew where it was */
    id = (uint32_t)kubejson_int(event, "id", 0);
    name = kubejson_text(event, "event");
    cursor = kubejson_text(event, "cursor");
    if (strcmp(name, "bye") == 0)
        return -ECONNRESET;
    if (strcmp(name, "reset") == 0 || (strcmp(name, "hello") == 0 && !l->is_synced)) {
        l->list_wanted = true;
        kubeloop_arm(l->loop, &l->list, now_mono_us());
    }
    if (strcmp(kubejson_text(event, "entity"), "WATCH_NODE") == 0)
        l->heard.node(l->heard.ctx, kubejson_text(event, "name"));
    else if (json_is_object(json_object_get(event, "job")))
        take_job(l, json_object_get(event, "job"));
    else if (id && *kubejson_text(event, "entity") && slurmlink_job(l, id))
        (void)slurmlink_ask(l, id); /* gone already? */
    if (*cursor && !keep_text(&l->cursor, cursor))
        return -ENOMEM;
    l->failures = 0;
    if (strcmp(name, "away") == 0)
        lose_sight(l, true);
    else if (!l->away || strcmp(name, "back") == 0)
        hear_again(l);
    return 0;
}

static void end_stream(void *ctx, const struct kubereply *reply)
{
    struct slurmlink *l = ctx;
    int64_t pause = MIN(PAUSE_US << MIN(l->failures, 8u), MOST_PAUSE_US);

    if (l->failures++ == 2)
        log_seldom(LOG_ERROR, "slurmrestd: no changes are told: %d %s", reply->status, reply->text);
    lose_sight(l, kubereply_slurm_error(reply) == SLURM_UNREACHABLE);
    kubeloop_arm(l->loop, &l->stream, now_mono_us() + pause);
}

static void begin_stream(void *ctx)
{
    struct slurmlink *l = ctx;
    _cleanup_val_(strbuf_done) struct strbuf path = STRBUF_INIT;

    strbuf_add(&path, "/penstock/v1/watch?types=job,node&objects=true&" FIELDS);
    if (l->cursor) {
        strbuf_add(&path, "&cursor=");
        kubecall_escape(&path, l->cursor);
    }
    if (kubecall_start(l->s,
                       &(struct kubecall_spec){ .method = "GET",
                                                .path = strbuf_str(&path),
                                                .header = "Accept: application/jsonl",
                                                .lane = 1,
                                                .timeout_ms = SILENCE_MS,
                                                .line = take_line,
                                                .done = end_stream,
                                                .ctx = l },
                       NULL) < 0)
        kubeloop_arm(l->loop, &l->stream, now_mono_us() + USEC_PER_SEC);
}
