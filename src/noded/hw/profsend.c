/* profsend.c - see profsend.h
 *
 * `waiting` and `lost` are shared between the main loop and the thread, under the lock; the batch
 * under way, and the connection, are the thread's. */
#include "noded/hw/profsend.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/log.h"
#include "base/text/owntext.h"
#include "base/sametext.h"
#include "base/strbuf.h"
#include "base/timefmt.h"
#include "curl/curllib.h"
#include "noded/hw/profsocket.h"

#define SEND_AT (256u << 10) /* bytes: do not wait for the time */
#define ANSWER_MAX 256u
#define STOP_GRACE_US USEC_PER_SEC

struct profsend {
    struct profsocket *socket;
    struct curl_api api;
    CURL *curl;
    struct curl_slist *headers;
    char *host, *database, *policy, *user, *pass; /* as configured; NULL: not given */
    char *url;
    uint32_t every_s, timeout_s;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t news;
    struct strbuf waiting;
    uint64_t lost; /* datagrams for which there was no room */
    bool stop;
    /* the thread's */
    struct strbuf batch;
    bool failing, ending;    /* ending: this is the last try */
    char answer[ANSWER_MAX]; /* its beginning */
    struct curl_head head;   /* of answer */
    int64_t stop_mono_us;    /* 0: not seen */
};

/* ---- the thread ------------------------------------------------------------------------------ */

/* slurmd ends: what is under way gets a moment. */
static int on_progress(void *arg, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d)
{
    struct profsend *p = arg;
    bool stop;

    (void)pthread_mutex_lock(&p->lock);
    stop = p->stop;
    (void)pthread_mutex_unlock(&p->lock);
    if (!stop)
        return 0;
    if (!p->stop_mono_us)
        p->stop_mono_us = now_mono_us() + STOP_GRACE_US;
    return now_mono_us() > p->stop_mono_us;
}

static void say_failure(struct profsend *p, const char *why, bool again)
{
    char quoted[2 * ANSWER_MAX];

    log_seldom(LOG_ERROR, "InfluxDB at %.200s does not take samples: %s; %s", p->host,
               log_quote(why, quoted, sizeof(quoted)),
               again && !p->ending ? "they are sent again" : "those of this request are lost");
    p->failing = true;
}

/* Post the batch.  False: it stays, to be tried again. */
static bool post_batch(struct profsend *p)
{
    CURLcode rc;
    long status = 0;
    char why[ANSWER_MAX + 64];

    curl_head_clear(&p->head);
    p->api.easy_setopt(p->curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)p->batch.len);
    p->api.easy_setopt(p->curl, CURLOPT_POSTFIELDS, strbuf_str(&p->batch));
    rc = p->api.easy_perform(p->curl);
    if (rc != CURLE_OK) {
        say_failure(p, p->api.easy_strerror(rc), true);
        return false;
    }
    p->api.easy_getinfo(p->curl, CURLINFO_RESPONSE_CODE, &status);
    if (status >= 200 && status < 300)
        return true;
    (void)snprintf(why, sizeof(why), "status %ld %s", status, p->answer); /* cut is fine */
    if (status == 429 || status >= 500) {
        say_failure(p, why, true);
        return false;
    }
    say_failure(p, why, false);
    return true;
}

/* With the lock held: wait until there is something to do.  Returns whether to stop. */
static bool wait_turn(struct profsend *p)
{
    struct timespec until;
    int r = 0;

    (void)clock_gettime(CLOCK_MONOTONIC, &until); /* cannot fail */
    until.tv_sec += p->every_s;
    while (!p->stop && r == 0 && (p->failing || p->waiting.len < SEND_AT))
        r = pthread_cond_timedwait(&p->news, &p->lock, &until);
    return p->stop;
}

static void take_waiting(struct profsend *p)
{
    struct strbuf empty = p->batch;

    if (p->batch.len)
        return; /* a batch is still there to be sent again */
    p->batch = p->waiting;
    p->waiting = empty;
}

/* Send what there is: the batch that failed, then what waits.  The lock is held on both sides. */
static void send_samples(struct profsend *p)
{
    for (bool sent = true; sent && (p->batch.len || p->waiting.len);) {
        uint64_t lost = p->lost;
        bool was_failing = p->failing;

        take_waiting(p);
        p->lost = 0;
        (void)pthread_mutex_unlock(&p->lock);
        if (lost)
            log_seldom(LOG_ERROR, "InfluxDB at %.200s is slow: %llu samples were dropped", p->host,
                       (unsigned long long)lost);
        p->failing = false;
        sent = post_batch(p);
        if (sent)
            strbuf_reset(&p->batch);
        if (was_failing && !p->failing)
            log_info("InfluxDB at %.200s takes samples again", p->host);
        (void)pthread_mutex_lock(&p->lock);
    }
}

static void *run_sender(void *arg)
{
    struct profsend *p = arg;
    bool stop = false;

    (void)pthread_mutex_lock(&p->lock);
    while (!stop) {
        stop = p->ending = wait_turn(p);
        send_samples(p);
    }
    (void)pthread_mutex_unlock(&p->lock);
    return NULL;
}

/* ---- what step daemons send ------------------------------------------------------------------ */

static void take_lines(void *ctx, const char *data, size_t len)
{
    struct profsend *p = ctx;

    (void)pthread_mutex_lock(&p->lock);
    if (p->waiting.len + len > PROFSEND_WAIT_MAX)
        p->lost++;
    else
        strbuf_addn(&p->waiting, data, len);
    if (p->waiting.failed) { /* no memory */
        strbuf_reset(&p->waiting);
        p->lost++;
    }
    if (p->waiting.len >= SEND_AT)
        (void)pthread_cond_signal(&p->news);
    (void)pthread_mutex_unlock(&p->lock);
}

/* ---- life ------------------------------------------------------------------------------------ */

/* With a token it is InfluxDB 2, whose names of the same things are others. */
static int make_url(struct profsend *p)
{
    bool second = p->pass && !p->user;
    const char *scheme = strstr(p->host, "://") ? "" : "http://";
    char *db = p->api.easy_escape(p->curl, p->database, 0),
         *rp = p->policy ? p->api.easy_escape(p->curl, p->policy, 0) : NULL;
    int r = -1;

    if (db && (rp || !p->policy))
        r = asprintf(&p->url, "%s%s%s?%s=%s%s%s&precision=ms", scheme, p->host,
                     second ? "/api/v2/write" : "/write", second ? "bucket" : "db", db,
                     !rp      ? ""
                     : second ? "&org="
                              : "&rp=",
                     rp ? rp : "");
    if (r < 0)
        p->url = NULL;
    p->api.free(db);
    p->api.free(rp);
    return r < 0 ? -ENOMEM : 0;
}

static int add_header(struct profsend *p, const char *line)
{
    struct curl_slist *more = p->api.slist_append(p->headers, line);

    if (!more)
        return -ENOMEM;
    p->headers = more;
    return 0;
}

static int add_token(struct profsend *p)
{
    char *line;
    int r;

    if (!p->pass || p->user)
        return 0;
    if (asprintf(&line, "Authorization: Token %s", p->pass) < 0)
        return -ENOMEM;
    r = add_header(p, line);
    explicit_bzero(line, strlen(line));
    free(line);
    return r;
}

static int prepare_curl(struct profsend *p)
{
    int r;

    p->curl = p->api.easy_init();
    r = p->curl ? make_url(p) : -ENOMEM;
    if (r == 0)
        r = add_header(p, "Content-Type: text/plain; charset=utf-8");
    if (r == 0)
        r = add_header(p, "Expect:"); /* no round trip before the lines */
    if (r == 0)
        r = add_token(p);
    if (r < 0)
        return r;
    p->api.easy_setopt(p->curl, CURLOPT_NOSIGNAL, 1L);
    p->api.easy_setopt(p->curl, CURLOPT_TIMEOUT, (long)p->timeout_s);
    p->api.easy_setopt(p->curl, CURLOPT_URL, p->url);
    p->api.easy_setopt(p->curl, CURLOPT_POST, 1L);
    p->api.easy_setopt(p->curl, CURLOPT_HTTPHEADER, p->headers);
    p->api.easy_setopt(p->curl, CURLOPT_WRITEFUNCTION, curl_head_take);
    p->head = (struct curl_head){ .text = p->answer, .size = sizeof(p->answer) };
    p->api.easy_setopt(p->curl, CURLOPT_WRITEDATA, &p->head);
    p->api.easy_setopt(p->curl, CURLOPT_NOPROGRESS, 0L);
    p->api.easy_setopt(p->curl, CURLOPT_XFERINFOFUNCTION, on_progress);
    p->api.easy_setopt(p->curl, CURLOPT_XFERINFODATA, p);
    if (p->user)
        p->api.easy_setopt(p->curl, CURLOPT_USERNAME, p->user);
    if (p->user && p->pass)
        p->api.easy_setopt(p->curl, CURLOPT_PASSWORD, p->pass);
    return 0;
}

static int copy_conf(struct profsend *p, const struct conf_influx *influx)
{
    bool fine = copy_text(&p->host, influx->host) == 0 &&
                copy_text(&p->database, influx->database) == 0 &&
                copy_text(&p->policy, influx->policy) == 0 &&
                copy_text(&p->user, influx->user) == 0 && copy_text(&p->pass, influx->pass) == 0;

    p->every_s = influx->every_s;
    p->timeout_s = influx->timeout_s;
    return fine ? 0 : -ENOMEM;
}

static void free_profsend(struct profsend *p)
{
    if (p->curl)
        p->api.easy_cleanup(p->curl);
    if (p->headers)
        p->api.slist_free_all(p->headers);
    if (p->pass)
        explicit_bzero(p->pass, strlen(p->pass));
    strbuf_done(&p->waiting);
    strbuf_done(&p->batch);
    (void)pthread_mutex_destroy(&p->lock);
    (void)pthread_cond_destroy(&p->news);
    free(p->host);
    free(p->database);
    free(p->policy);
    free(p->user);
    free(p->pass);
    free(p->url);
    free(p);
}

/* Signals are the main loop's. */
static int start_thread(struct profsend *p)
{
    sigset_t all, before;
    int r;

    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    r = -pthread_create(&p->thread, NULL, run_sender, p);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return r;
}

static void init_locks(struct profsend *p)
{
    pthread_condattr_t attr;

    (void)pthread_mutex_init(&p->lock, NULL); /* these cannot fail */
    (void)pthread_condattr_init(&attr);
    (void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&p->news, &attr);
    (void)pthread_condattr_destroy(&attr);
}

int profsend_new(uv_loop_t *loop, const char *dir, const struct conf_influx *influx,
                 struct profsend **ret, struct err *err)
{
    struct profsend *p = calloc(1, sizeof(*p));
    int r = p ? 0 : err_nomem(err);

    if (r < 0)
        return r;
    p->waiting = p->batch = (struct strbuf)STRBUF_INIT;
    init_locks(p);
    r = curl_api_load(&p->api, "AcctGatherProfileType=acct_gather_profile/influxdb", err);
    if (r == 0 && (copy_conf(p, influx) < 0 || prepare_curl(p) < 0))
        r = err_nomem(err);
    if (r == 0)
        r = profsocket_open(loop, dir, take_lines, p, &p->socket, err);
    if (r == 0 && (r = start_thread(p)) < 0)
        (void)err_set(err, r, "a thread for InfluxDB: %s", strerror(-r));
    if (r < 0) {
        p->socket = profsocket_close(p->socket);
        free_profsend(p);
        return r;
    }
    *ret = p;
    return 0;
}

struct profsend *profsend_close(struct profsend *p)
{
    if (!p)
        return NULL;
    p->socket = profsocket_close(p->socket); /* takes what steps have left just now */
    (void)pthread_mutex_lock(&p->lock);
    p->stop = true;
    (void)pthread_cond_signal(&p->news);
    (void)pthread_mutex_unlock(&p->lock);
    (void)pthread_join(p->thread, NULL); /* it runs */
    free_profsend(p);
    return NULL;
}

bool profsend_is(const struct profsend *p, const struct conf_influx *influx)
{
    return same_or_missing(p->host, influx->host) &&
           same_or_missing(p->database, influx->database) &&
           same_or_missing(p->policy, influx->policy) && same_or_missing(p->user, influx->user) &&
           same_or_missing(p->pass, influx->pass) && p->every_s == influx->every_s &&
           p->timeout_s == influx->timeout_s;
}

void profsend_configure(struct noded *d)
{
    struct conf_influx influx;
    struct err err = { .text = "" };
    bool wanted = conf_gather_influx(d->conf, &influx);

    if (d->profsend && wanted && profsend_is(d->profsend, &influx))
        return;
    d->profsend = profsend_close(d->profsend);
    if (wanted && profsend_new(&d->loop, d->spool, &influx, &d->profsend, &err) < 0)
        log_error("steps are not profiled: %s", err.text);
}
