/* tgserve.c - see tgserve.h
 *
 * `lock` protects the queue, the metrics and the count of bytes.  Bodies are parsed on the thread
 * that answers, to say at once what is wrong, and again for the run: what waits is only text. */
#include "topograph/serve/tgserve.h"

#include <errno.h>
#include <microhttpd.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/timefmt.h"
#include "topograph/serve/tgmetrics.h"
#include "topograph/serve/tgqueue.h"

#define CONNECTIONS_MAX 64u
#define IDLE_S 30u
#define HEADERS_MAX (32u * 1024)
#define BODIES_MAX (64u << 20)

struct tgserve {
    struct tgserve_config config;
    struct MHD_Daemon *mhd;
    pthread_t worker;
    bool has_worker;
    pthread_mutex_t lock;
    pthread_cond_t wake; /* of the worker */
    bool ends;
    struct tgqueue *queue;
    struct tgmetrics *metrics;
    size_t body_bytes; /* of requests that are coming in */
};

struct request { /* of one connection */
    struct tgserve *s;
    const struct path *path;
    const char *method;
    struct strbuf body;
    int64_t begin_us;
    unsigned refused; /* status of an answer that is due, the body was not read */
    const char *why;
};

typedef unsigned answer_fn(struct tgserve *s, struct request *q, struct MHD_Connection *conn,
                           struct strbuf *out);
struct path {
    const char *path, *method;
    answer_fn *answer;
};

/* ---- the thread that makes topologies -------------------------------------------------------- */

static unsigned make_result(struct tgserve *s, const char *text, size_t len, struct strbuf *out)
{
    struct tgrequest q = { 0 };
    struct tgrun run = { 0 };
    struct err err = { .text = "" };
    const char *instead = NULL;
    int64_t begin_us = now_mono_us();
    char labels[160];
    unsigned status = 400, failed;
    int r = tgrequest_parse(text, len, s->config.defaults, &s->config.stranger, &q, &err);

    if (r == 0) {
        r = tgrun_make(&q, &s->config.io, &run, &err);
        status = run.status;
    }
    failed = r == 0 && s->config.deliver
                 ? s->config.deliver(s->config.ctx, &q, &run, &instead, &err)
                 : 0;
    status = failed ? failed : status;
    strbuf_add(out, status != 200 ? err.text : instead ? instead : strbuf_str(&run.text));
    /* Both names are known ones here: they passed the check of the request. */
    (void)snprintf(labels, sizeof(labels), "provider=\"%.40s\",engine=\"%.40s\",status=\"%u\"",
                   q.provider ? q.provider : "", q.engine ? q.engine : "slurm", status);
    pthread_mutex_lock(&s->lock);
    tgmetrics_add(s->metrics, TGMETRIC_RUN, labels, (double)(now_mono_us() - begin_us) / 1e6);
    pthread_mutex_unlock(&s->lock);
    if (status != 200)
        log_error("topograph: a run failed with %u: %.200s", status, err.text);
    tgrun_done(&run);
    tgrequest_done(&q);
    return status;
}

/* With the lock, which is free while the run is made. */
static void run_request(struct tgserve *s, char *text, size_t len)
{
    struct strbuf out = STRBUF_INIT;
    char *body = NULL;
    size_t body_len;
    unsigned status;

    pthread_mutex_unlock(&s->lock);
    status = make_result(s, text, len, &out);
    free(text);
    body_len = out.len;
    if (strbuf_detach(&out, &body) < 0) {
        body_len = 0;
        status = 500;
    }
    pthread_mutex_lock(&s->lock);
    tgqueue_finish(s->queue, status, body, body_len);
}

static void wait_until(struct tgserve *s, int64_t due_us)
{
    struct timespec until = { .tv_sec = (time_t)(due_us / 1000000),
                              .tv_nsec = (long)(due_us % 1000000) * 1000 };

    if (due_us == INT64_MAX)
        (void)pthread_cond_wait(&s->wake, &s->lock);
    else
        (void)pthread_cond_timedwait(&s->wake, &s->lock, &until); /* the loop looks again */
}

static void *make_results(void *ctx)
{
    struct tgserve *s = ctx;
    char id[TGREQUEST_ID_SIZE], *text;
    int64_t due_us;
    size_t len;

    pthread_mutex_lock(&s->lock);
    while (!s->ends) {
        if (tgqueue_take(s->queue, now_mono_us(), id, &text, &len, &due_us))
            run_request(s, text, len);
        else
            wait_until(s, due_us);
    }
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

/* ---- answers --------------------------------------------------------------------------------- */

/* The request of a body, and its id.  Gives 0, or the status of a refusal said in out. */
static unsigned read_request(struct tgserve *s, struct request *q, struct tgrequest *ret,
                             char id[TGREQUEST_ID_SIZE], struct strbuf *out)
{
    struct err err = { .text = "" };
    int r = tgrequest_parse(strbuf_str(&q->body), q->body.len, s->config.defaults,
                            &s->config.stranger, ret, &err);

    if (r == 0)
        r = tgrun_check(ret, &err);
    if (r == 0)
        r = tgrequest_id(ret, id) < 0 ? err_nomem(&err) : 0;
    if (r == 0)
        return 0;
    strbuf_add(out, err.text);
    pthread_mutex_lock(&s->lock);
    tgmetrics_add(s->metrics, TGMETRIC_VALIDATION, "type=\"request\"", 1);
    pthread_mutex_unlock(&s->lock);
    return r == -ENOMEM ? 500 : 400;
}

/* The test provider refuses as it is told. */
static unsigned ordered_refusal(const struct tgrequest *q, struct strbuf *out)
{
    const char *message = NULL;
    uint64_t code = 0;

    if (strcmp(q->provider, "test") != 0 ||
        tgrequest_count(q->provider_params, "generateResponseCode", 599, &code, NULL) < 0 ||
        tgrequest_text(q->provider_params, "errorMessage", &message, NULL) < 0 || code < 400)
        return 0;
    strbuf_add(out, message ? message : "the test provider refuses as asked");
    return (unsigned)code;
}

static unsigned answer_generate(struct tgserve *s, struct request *q, struct MHD_Connection *conn,
                                struct strbuf *out)
{
    struct tgrequest request = { 0 };
    char id[TGREQUEST_ID_SIZE], *text = NULL;
    size_t len = q->body.len;
    unsigned status = read_request(s, q, &request, id, out);
    int r;

    (void)conn;
    if (!status)
        status = ordered_refusal(&request, out);
    tgrequest_done(&request);
    if (status)
        return status;
    if (strbuf_detach(&q->body, &text) < 0)
        return 500;
    pthread_mutex_lock(&s->lock);
    r = tgqueue_put(s->queue, id, text, len, now_mono_us());
    (void)pthread_cond_signal(&s->wake);
    pthread_mutex_unlock(&s->lock);
    if (r < 0) {
        free(text);
        strbuf_add(out, "too many requests wait: try again later");
        return 503;
    }
    strbuf_add(out, id);
    return 202;
}

static unsigned answer_id(struct tgserve *s, const char *id, struct strbuf *out)
{
    const char *body = NULL;
    unsigned status = 202;
    size_t len = 0;

    pthread_mutex_lock(&s->lock);
    switch (tgqueue_find(s->queue, id, &status, &body, &len)) {
    case TGQUEUE_UNKNOWN:
        status = 404;
        strbuf_add(out, "no such request");
        break;
    case TGQUEUE_WAITS:
        status = 202;
        strbuf_add(out, "the request waits, or is being worked on");
        break;
    case TGQUEUE_DONE:
        strbuf_addn(out, body ? body : "", len);
        break;
    }
    pthread_mutex_unlock(&s->lock);
    return status;
}

static unsigned answer_topology(struct tgserve *s, struct request *q, struct MHD_Connection *conn,
                                struct strbuf *out)
{
    const char *id = MHD_lookup_connection_value(conn, MHD_GET_ARGUMENT_KIND, "uid");

    (void)q;
    if (!id || !*id) {
        strbuf_add(out, "which request?  /v1/topology?uid=ID");
        return 400;
    }
    return answer_id(s, id, out);
}

static unsigned answer_lookup(struct tgserve *s, struct request *q, struct MHD_Connection *conn,
                              struct strbuf *out)
{
    struct tgrequest request = { 0 };
    char id[TGREQUEST_ID_SIZE];
    unsigned status = read_request(s, q, &request, id, out);

    (void)conn;
    tgrequest_done(&request);
    return status ? status : answer_id(s, id, out);
}

static unsigned answer_health(struct tgserve *s, struct request *q, struct MHD_Connection *conn,
                              struct strbuf *out)
{
    (void)s;
    (void)q;
    (void)conn;
    strbuf_add(out, "OK");
    return 200;
}

static unsigned answer_metrics(struct tgserve *s, struct request *q, struct MHD_Connection *conn,
                               struct strbuf *out)
{
    (void)q;
    (void)conn;
    pthread_mutex_lock(&s->lock);
    tgmetrics_write(s->metrics, s->config.version, out);
    pthread_mutex_unlock(&s->lock);
    return 200;
}

static const struct path paths[] = {
    { "/v1/generate", MHD_HTTP_METHOD_POST, answer_generate },
    { "/v1/topology", MHD_HTTP_METHOD_GET, answer_topology },
    { "/v1/lookup", MHD_HTTP_METHOD_POST, answer_lookup },
    { "/healthz", MHD_HTTP_METHOD_GET, answer_health },
    { "/metrics", MHD_HTTP_METHOD_GET, answer_metrics },
};

/* ---- requests -------------------------------------------------------------------------------- */

static void count_answer(struct tgserve *s, const struct request *q, unsigned status)
{
    char labels[160];

    (void)snprintf(labels, sizeof(labels), "method=\"%s\",path=\"%s\",status=\"%u\"",
                   q->path ? q->path->method : "", q->path ? q->path->path : "", status);
    pthread_mutex_lock(&s->lock);
    tgmetrics_add(s->metrics, TGMETRIC_HTTP, labels, (double)(now_mono_us() - q->begin_us) / 1e6);
    pthread_mutex_unlock(&s->lock);
}

static enum MHD_Result send_answer(struct tgserve *s, struct request *q,
                                   struct MHD_Connection *conn, unsigned status, struct strbuf *out)
{
    size_t len = out->len;
    char *text = NULL;
    struct MHD_Response *response;
    enum MHD_Result sent;

    if (strbuf_detach(out, &text) < 0)
        return MHD_NO;
    response = MHD_create_response_from_buffer(len, text, MHD_RESPMEM_MUST_FREE);
    if (!response) {
        free(text);
        return MHD_NO;
    }
    /* Without these an answer is only less safe in a browser, or less clear. */
    (void)MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE,
                                  "text/plain; charset=utf-8");
    (void)MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
    (void)MHD_add_response_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
    if (status == 405 && q->path)
        (void)MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, q->path->method);
    count_answer(s, q, status);
    sent = MHD_queue_response(conn, status, response);
    MHD_destroy_response(response);
    return sent;
}

static enum MHD_Result refuse_request(struct request *q, struct MHD_Connection *conn,
                                      unsigned status, const char *why)
{
    struct strbuf out = STRBUF_INIT;
    enum MHD_Result sent;

    strbuf_add(&out, why);
    sent = send_answer(q->s, q, conn, status, &out);
    strbuf_done(&out);
    return sent;
}

/* The headers are read: what can be refused without the body? */
static enum MHD_Result begin_request(struct request *q, struct MHD_Connection *conn,
                                     const char *path, const char *method)
{
    const char *length =
        MHD_lookup_connection_value(conn, MHD_HEADER_KIND, MHD_HTTP_HEADER_CONTENT_LENGTH);
    uint64_t n = 0;

    for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
        if (strcmp(paths[i].path, path) == 0)
            q->path = &paths[i];
    if (!q->path)
        return refuse_request(q, conn, 404, "no such path");
    if (strcmp(q->path->method, method) != 0 &&
        !(strcmp(method, MHD_HTTP_METHOD_HEAD) == 0 &&
          strcmp(q->path->method, MHD_HTTP_METHOD_GET) == 0))
        return refuse_request(q, conn, 405, "this path takes another method");
    if (MHD_lookup_connection_value(conn, MHD_HEADER_KIND, "Origin"))
        return refuse_request(q, conn, 403, "pages of other sites may ask nothing here");
    if (length && (parse_u64(length, 0, UINT64_MAX, &n) < 0 || n > TGSERVE_BODY_MAX))
        return refuse_request(q, conn, 413, "a body has at most 8 MiB");
    return MHD_YES;
}

/* A refusal in the middle of a body is sent behind it: the rest is read and dropped. */
static void take_bytes(struct request *q, const char *data, size_t n)
{
    struct tgserve *s = q->s;

    if (!q->refused && q->body.len + n > TGSERVE_BODY_MAX) {
        q->refused = 413;
        q->why = "a body has at most 8 MiB";
    }
    pthread_mutex_lock(&s->lock);
    if (!q->refused && s->body_bytes + n > BODIES_MAX) {
        q->refused = 503;
        q->why = "too many requests: try again later";
    }
    if (!q->refused)
        s->body_bytes += n;
    pthread_mutex_unlock(&s->lock);
    if (!q->refused)
        strbuf_addn(&q->body, data, n);
}

static void release_bytes(struct request *q, size_t n)
{
    pthread_mutex_lock(&q->s->lock);
    q->s->body_bytes -= n;
    pthread_mutex_unlock(&q->s->lock);
}

static enum MHD_Result answer_request(struct request *q, struct MHD_Connection *conn)
{
    struct strbuf out = STRBUF_INIT;
    size_t len = q->body.len;
    enum MHD_Result sent;
    unsigned status;

    if (q->refused)
        return refuse_request(q, conn, q->refused, q->why);
    if (q->body.failed)
        return refuse_request(q, conn, 500, ERR_NOMEM);
    status = q->path->answer(q->s, q, conn, &out);
    release_bytes(q, len - q->body.len); /* what the queue took is counted there */
    sent = send_answer(q->s, q, conn, status, &out);
    strbuf_done(&out);
    return sent;
}

static enum MHD_Result on_request(void *ctx, struct MHD_Connection *conn, const char *path,
                                  const char *method, const char *version, const char *data,
                                  size_t *len, void **con_ctx)
{
    struct request *q = *con_ctx;

    (void)version;
    if (!q) {
        q = calloc(1, sizeof(*q));
        if (!q)
            return MHD_NO;
        *q = (struct request){ .s = ctx, .begin_us = now_mono_us() };
        *con_ctx = q;
        return begin_request(q, conn, path, method);
    }
    if (*len) {
        take_bytes(q, data, *len);
        *len = 0;
        return MHD_YES;
    }
    return answer_request(q, conn);
}

static void on_completed(void *ctx, struct MHD_Connection *conn, void **con_ctx,
                         enum MHD_RequestTerminationCode code)
{
    struct request *q = *con_ctx;

    (void)ctx;
    (void)conn;
    (void)code;
    if (!q)
        return;
    release_bytes(q, q->body.len);
    strbuf_done(&q->body);
    free(q);
    *con_ctx = NULL;
}

/* ---- life ------------------------------------------------------------------------------------ */

static int start_threads(struct tgserve *s)
{
    sigset_t all, before;
    int r;

    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    r = -pthread_create(&s->worker, NULL, make_results, s);
    s->has_worker = r == 0;
    if (r == 0)
        s->mhd = MHD_start_daemon(
            MHD_USE_POLL_INTERNAL_THREAD | MHD_USE_ITC, 0, NULL, NULL, on_request, s,
            MHD_OPTION_LISTEN_SOCKET, s->config.fd, MHD_OPTION_NOTIFY_COMPLETED, on_completed, NULL,
            MHD_OPTION_CONNECTION_LIMIT, CONNECTIONS_MAX, MHD_OPTION_CONNECTION_TIMEOUT, IDLE_S,
            MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)HEADERS_MAX, MHD_OPTION_STRICT_FOR_CLIENT,
            1, MHD_OPTION_END);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return r < 0 ? r : s->mhd ? 0 : -EAGAIN;
}

int tgserve_new(const struct tgserve_config *config, struct tgserve **ret_serve, struct err *err)
{
    struct tgserve *s = calloc(1, sizeof(*s));
    pthread_condattr_t attr;

    if (!s) {
        (void)close(config->fd);
        return err_nomem(err);
    }
    s->config = *config;
    (void)pthread_mutex_init(&s->lock, NULL); /* these do not fail here */
    (void)pthread_condattr_init(&attr);
    (void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&s->wake, &attr);
    (void)pthread_condattr_destroy(&attr);
    if (tgqueue_new(config->delay_us, &s->queue) < 0 || tgmetrics_new(&s->metrics) < 0 ||
        start_threads(s) < 0) {
        if (!s->mhd)
            (void)close(config->fd);
        (void)tgserve_free(s); /* always NULL */
        return err_set(err, -EAGAIN, "the threads of the service cannot start");
    }
    *ret_serve = s;
    return 0;
}

struct tgserve *tgserve_free(struct tgserve *s)
{
    if (!s)
        return NULL;
    if (s->mhd)
        MHD_stop_daemon(s->mhd); /* closes the socket */
    pthread_mutex_lock(&s->lock);
    s->ends = true;
    (void)pthread_cond_signal(&s->wake);
    pthread_mutex_unlock(&s->lock);
    if (s->has_worker)
        (void)pthread_join(s->worker, NULL);
    tgqueue_free(s->queue);
    tgmetrics_free(s->metrics);
    (void)pthread_cond_destroy(&s->wake);
    (void)pthread_mutex_destroy(&s->lock);
    free(s);
    return NULL;
}
