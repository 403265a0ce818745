/* web.c - what the controller answers to HTTP: health and metrics
 *
 * The table of paths and the service.  Pages are made on the thread of HTTP from a view; the core
 * is asked for a fresh view and for its figures, and that is all it does for them. */
#include "ctld/web/web.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/timefmt.h"
#include "conf/json/json_conf.h"
#include "ctld/core/service.h"
#include "ctld/front/diag.h"
#include "ctld/update/op_config.h"
#include "ctld/front/view.h"
#include "ctld/notify/jobcomp.h"
#include "ctld/schedlink/schedthread.h"
#include "ctld/watch/watch.h"
#include "ctld/web/jobmetrics.h"
#include "ctld/web/nodemetrics.h"
#include "ctld/web/ownmetrics.h"
#include "ctld/web/restchild.h"
#include "ctld/web/schedmetrics.h"
#include "ctld/web/startwaits.h"
#include "ctld/web/webaccess.h"
#include "ctld/web/webask.h"
#include "stream/streamlog.h"

#define KEEP_MS 1000u /* a page of metrics serves all that ask within so long */

struct web {
    struct ctld *ctld;
    struct webaccess *access;
    struct startwaits *waits;
    struct http *http;
    struct restchild *rest;
    char elsewhere[192]; /* "http://host:port" of the first controller; "": that is this one */
};

/* ---- what the pages are made of -------------------------------------------------------------- */

static void publish_view(struct ctld *ctld, void *answer)
{
    (void)answer;
    views_publish(ctld->views, ctld->cluster, ctld->applied_lsn);
}

/* The view as of now, held; NULL: the core does not answer. */
static struct view *fresh_view(struct ctld *ctld)
{
    struct view *view = views_get_fresh(ctld->views);
    _cleanup_free_ void *answer = view ? NULL : webask(ctld, 1, publish_view);

    return view || !answer ? view : views_get(ctld->views);
}

static unsigned fail_busy(struct err *err)
{
    (void)err_set(err, -ETIMEDOUT, "The controller does not answer in time");
    return HTTP_FAILED;
}

/* A controller that stands by sends who wants metrics to the first one. */
static unsigned send_elsewhere(const struct web *w, struct strbuf *body, struct err *err)
{
    if (!w->elsewhere[0]) {
        (void)err_set(err, -EAGAIN, "This controller stands by");
        return HTTP_UNAVAILABLE;
    }
    strbuf_add(body, w->elsewhere);
    return HTTP_SEE_OTHER;
}

static unsigned answer_view(struct web *w, struct strbuf *body, struct err *err,
                            void (*write)(const struct view *view, struct strbuf *sb))
{
    struct view *view;

    if (atomic_load(&w->ctld->standby))
        return send_elsewhere(w, body, err);
    if (!webaccess_metrics_on(w->access))
        return HTTP_OK; /* an empty page, as the incumbent has it */
    view = fresh_view(w->ctld);
    if (!view)
        return fail_busy(err);
    write(view, body);
    view_unref(view);
    return HTTP_OK;
}

static void fill_stream(struct streamlog *log, struct own_stream *f)
{
    struct streamlog_stats s;

    streamlog_get_stats(log, &s);
    f->sends = true;
    f->witness_answers = s.witness_answers;
    for (size_t i = 0; i < s.n; i++) {
        const struct streamlog_peer *p = &s.peers[i];

        f->followers += p->follows;
        f->in_sync += p->in_sync;
        if (p->follows) {
            f->lag_bytes = MAX(f->lag_bytes, p->lag_bytes);
            f->lag_us = MAX(f->lag_us, p->lag_us);
        }
    }
}

static void fill_figures(struct ctld *ctld, void *answer)
{
    Pst__DiagReply *r = answer;

    pst__diag_reply__init(r);
    diag_fill(ctld, false, r);
}

/* ---- pages ----------------------------------------------------------------------------------- */

static unsigned answer_jobs(void *ctx, const struct http_request *r, struct strbuf *body,
                            struct err *err)
{
    (void)r;
    return answer_view(ctx, body, err, jobmetrics_cluster);
}

static unsigned answer_who(void *ctx, const struct http_request *r, struct strbuf *body,
                           struct err *err)
{
    (void)r;
    return answer_view(ctx, body, err, jobmetrics_who);
}

static unsigned answer_nodes(void *ctx, const struct http_request *r, struct strbuf *body,
                             struct err *err)
{
    (void)r;
    return answer_view(ctx, body, err, nodemetrics_nodes);
}

static unsigned answer_parts(void *ctx, const struct http_request *r, struct strbuf *body,
                             struct err *err)
{
    (void)r;
    return answer_view(ctx, body, err, nodemetrics_parts);
}

static unsigned answer_sched(void *ctx, const struct http_request *r, struct strbuf *body,
                             struct err *err)
{
    const struct web *w = ctx;
    _cleanup_free_ Pst__DiagReply *figures = NULL;

    (void)r;
    if (atomic_load(&w->ctld->standby))
        return send_elsewhere(w, body, err);
    if (!webaccess_metrics_on(w->access))
        return HTTP_OK;
    figures = webask(w->ctld, sizeof(*figures), fill_figures);
    if (!figures)
        return fail_busy(err);
    schedmetrics_write(figures, body);
    return HTTP_OK;
}

struct own_answer {
    Pst__DiagReply diag;
    bool has_jobcomp;
    uint64_t jobcomp_lag;
    struct own_stream stream;
};

/* On the core, which alone knows whether there is job completion. */
static void fill_own(struct ctld *ctld, void *answer)
{
    struct own_answer *a = answer;

    fill_figures(ctld, &a->diag);
    if (ctld->streamlog)
        fill_stream(ctld->streamlog, &a->stream);
    a->has_jobcomp = ctld->jobcomp != NULL;
    a->jobcomp_lag = a->has_jobcomp ? jobcomp_lag(ctld->jobcomp) : 0;
}

static void write_own(const struct web *w, const struct own_answer *a, struct strbuf *body)
{
    struct view *view = views_get(w->ctld->views);
    struct journal_stats log;
    struct own_figures f = {
        .diag = &a->diag,
        .has_jobcomp = a->has_jobcomp,
        .jobcomp_lag = a->jobcomp_lag,
        .stream = a->stream,
        .sync = journal_sync_histogram(w->ctld->journal),
        .batch = &w->ctld->batch_us,
        .pass = schedthread_histogram(w->ctld->sched, false),
        .plan = schedthread_histogram(w->ctld->sched, true),
        .waits = w->waits,
        .view_age_us = view ? (uint64_t)MAX(now_us() - view->made_us, INT64_C(0)) : 0,
    };

    journal_get_stats(w->ctld->journal, &log);
    f.journal_records = log.records;
    watch_figures(w->ctld->watch, &f.watchers, &f.watch_lag);
    ownmetrics_write(&f, body);
    if (view)
        view_unref(view);
}

static unsigned answer_own(void *ctx, const struct http_request *r, struct strbuf *body,
                           struct err *err)
{
    const struct web *w = ctx;
    _cleanup_free_ struct own_answer *figures = NULL;

    (void)r;
    if (atomic_load(&w->ctld->standby))
        return send_elsewhere(w, body, err);
    if (!webaccess_metrics_on(w->access))
        return HTTP_OK;
    figures = webask(w->ctld, sizeof(*figures), fill_own);
    if (!figures)
        return fail_busy(err);
    write_own(w, figures, body);
    return HTTP_OK;
}

static unsigned allow_metrics(void *ctx, const struct http_request *r, struct err *err)
{
    const struct web *w = ctx;

    return webaccess_metrics(w->access, r, err);
}

/* Ready: the core answers. */
static unsigned answer_ready(void *ctx, const struct http_request *r, struct strbuf *body,
                             struct err *err)
{
    const struct web *w = ctx;
    _cleanup_free_ Pst__DiagReply *figures = NULL;

    if (atomic_load(&w->ctld->standby)) {
        (void)err_set(err, -EAGAIN, "This controller stands by: another one is active");
        return HTTP_FAILED;
    }
    figures = webask(w->ctld, sizeof(*figures), fill_figures);
    if (!figures)
        return fail_busy(err);
    if (!http_request_asks(r, "verbose"))
        return HTTP_NO_CONTENT;
    strbuf_addf(body, "core: answers, longest batch %" PRIu64 " us\n",
                figures->core_worst_stall_us);
    strbuf_addf(body, "disk: %s\n", atomic_load(&w->ctld->disk_full) ? "full" : "takes the log");
    strbuf_addf(body, "log: %" PRIu64 " writes, %" PRIu64 " bytes, last %" PRIu64 " us\n",
                figures->journal_syncs, figures->journal_bytes, figures->journal_last_sync_us);
    strbuf_addf(body, "connections: %u\n", figures->connections);
    return HTTP_OK;
}

static unsigned allow_ready(void *ctx, const struct http_request *r, struct err *err)
{
    const struct web *w = ctx;

    return http_request_asks(r, "verbose") ? webaccess_admin(w->access, r, err) : 0;
}

/* The core writes the text into the answer itself: an answer that nobody waits for any more is
 * freed as it is. */
#define CONF_BYTES (1u << 20) /* some 10 KiB are usual */

struct conf_answer {
    size_t len; /* 0: too long, or no memory */
    char text[CONF_BYTES];
};

static void take_conf(void *ctx, const Pst__ConfigReply *reply)
{
    struct conf_answer *a = ctx;
    struct strbuf sb = STRBUF_INIT;
    struct json js;

    json_begin(&js, &sb, JSON_PRETTY);
    json_conf(&js, reply);
    json_end(&js);
    if (!sb.failed && sb.len <= sizeof(a->text)) {
        memcpy(a->text, sb.buf, sb.len);
        a->len = sb.len;
    }
    strbuf_done(&sb);
}

/* On the core. */
static void fill_conf(struct ctld *ctld, void *answer)
{
    op_config_told(ctld, take_conf, answer);
}

static unsigned answer_conf(void *ctx, const struct http_request *r, struct strbuf *body,
                            struct err *err)
{
    const struct web *w = ctx;
    _cleanup_free_ struct conf_answer *a = NULL;

    (void)r;
    if (atomic_load(&w->ctld->standby)) {
        (void)err_set(err, -EAGAIN, "This controller stands by: another one is active");
        return HTTP_FAILED;
    }
    a = webask(w->ctld, sizeof(*a), fill_conf);
    if (!a || !a->len)
        return fail_busy(err);
    strbuf_addn(body, a->text, a->len);
    return HTTP_OK;
}

static unsigned allow_conf(void *ctx, const struct http_request *r, struct err *err)
{
    const struct web *w = ctx;

    return webaccess_user(w->access, r, err);
}

#define METRICS(name, page, what)                                                                  \
    {                                                                                              \
        "/metrics/" name, "/metrics", what, NULL, page, allow_metrics, KEEP_MS                     \
    }

const struct http_path web_paths[] = {
    { .path = "/", .title = "index of endpoints" },
    { HTTPHEALTH_CONF, .answer = answer_conf, .allow = allow_conf },
    { "/readyz", "/", "check slurmctld is servicing RPCs", NULL, answer_ready, allow_ready, 0 },
    { "/livez", "/", "check slurmctld is running", NULL, httphealth_alive, NULL, 0 },
    { "/healthz", "/", "check slurmctld is running", NULL, httphealth_alive, NULL, 0 },
    { "/metrics", "/", "print available metric endpoints", "index of metrics endpoints", NULL,
      allow_metrics, 0 },
    METRICS("jobs", answer_jobs, "get job metrics"),
    METRICS("nodes", answer_nodes, "get node metrics"),
    METRICS("partitions", answer_parts, "get partition metrics"),
    METRICS("jobs-users-accts", answer_who, "get user and account jobs metrics"),
    METRICS("scheduler", answer_sched, "get scheduler metrics"),
    METRICS("penstock", answer_own, "get times and lags that only Penstock has"),
    { 0 }
};

/* ---- the service ----------------------------------------------------------------------------- */

static void configure_web(struct ctld *ctld)
{
    const struct conf *conf = ctld->conf;

    if (!ctld->web)
        return;
    webaccess_configure(ctld->web->access, conf, ctld->tokens);
    http_switch(ctld->web->http,
                !conf_option(conf, CONF_COMMUNICATION_PARAMETERS, "disable_http", NULL, NULL));
    restchild_configure(ctld->web->rest, conf, ctld->conf_path);
}

static void watch_rest(struct ctld *ctld, int64_t now_us)
{
    (void)now_us;
    restchild_tick(ctld->web->rest);
}

static void stop_web(struct ctld *ctld)
{
    if (!ctld->web)
        return;
    ctld->web->http = http_free(ctld->web->http);
    ctld->web->rest = restchild_free(ctld->web->rest);
}

static void free_web(struct ctld *ctld)
{
    struct web *w = TAKE_PTR(ctld->web);

    if (!w)
        return;
    (void)http_free(w->http); /* always NULL, as the next three */
    (void)restchild_free(w->rest);
    (void)webaccess_free(w->access);
    (void)startwaits_free(w->waits);
    free(w);
}

static void note_first(struct web *w)
{
    const struct conf *conf = w->ctld->conf;
    const char *addr = NULL, *name = conf_ctld_host(conf, 0, NULL);

    if (name && strcasecmp(name, w->ctld->host) != 0 && conf_ctld_addrs(conf, &addr, 1) == 1)
        (void)snprintf(w->elsewhere, sizeof(w->elsewhere),
                       strchr(addr, ':') ? "http://[%s]:%u" : "http://%s:%u", addr,
                       conf_ctld_port(conf));
}

static int start_web(struct ctld *ctld, struct err *err)
{
    struct http_config config = { .name = "slurmctld", .paths = web_paths };
    struct web *w = calloc(1, sizeof(*w));
    int r;

    if (!w)
        return -ENOMEM;
    ctld->web = w;
    w->ctld = ctld;
    config.ctx = w;
    note_first(w);
    r = webaccess_new(&w->access);
    if (r == 0)
        r = startwaits_new(&w->waits);
    if (r == 0)
        r = restchild_new(&w->rest);
    if (r == 0)
        r = http_new(&config, &w->http, err);
    if (r == 0)
        configure_web(ctld);
    return r;
}

static void take_connection(struct ctld *ctld, int fd, const char *head, size_t n)
{
    if (!restchild_take(ctld->web->rest, fd, head, n))
        http_take(ctld->web->http, fd);
}

/* How long it waited since it could start. */
static void note_start(struct ctld *ctld, struct job *j, uint64_t lsn)
{
    const Pst__JobRecord *r = j->rec;
    int64_t since = MAX(r->submit_us, r->eligible_us);

    (void)lsn;
    if (r->partition && r->has_start_us && since)
        startwaits_note(ctld->web->waits, r->partition,
                        (uint64_t)MAX(r->start_us - since, INT64_C(0)));
}

const struct ctld_service web_service = {
    .name = "web",
    .start = start_web,
    .reconfigured = configure_web,
    .tick = watch_rest,
    .stop = stop_web,
    .free = free_web,
    .on_http = take_connection,
    .job_started = note_start,
};
