/* kubecall.c - see kubecall.h */
#include "kube/api/kubecall.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "base/timefmt.h"
#include "kube/api/kubecred.h"
#include "kube/api/kubejson.h"

#define SLURM_NOT_BELIEVED 511 /* slurmrestd: what is behind it does not believe us */
#define JWT "SLURM_JWT="       /* as scontrol writes tokens */
#define TIMEOUT_MS 30000
#define CONNECT_MS 10000L
#define IN_FLIGHT 64u
#define SPARE_MOST 64u

struct kubecall {
    struct kubeserver *s;
    struct kubecall *next;  /* of its lane, or of those under way */
    struct kubecall **link; /* what points here while it is under way */
    CURL *easy;             /* NULL: waits */
    struct kubeloop_transfer transfer;
    struct curl_slist *headers, *connect_to;
    char *method, *path, *body, *content_type, *header;
    struct strbuf in;
    char error[CURL_ERROR_SIZE];
    char why[96]; /* we ended it ourselves */
    unsigned lane;
    int timeout_ms;
    kubecall_line_fn *line;
    kubecall_fn *done;
    void (*begun)(void *ctx);
    void *ctx;
    bool stream, ended_by_line, unread;
};

struct lane {
    struct kubecall *first, **last;
};

struct kubeserver {
    struct kubeloop *loop;
    const struct kubeconfig *config;
    struct kubeserver_options o;
    struct kubecred *cred;
    struct lane lanes[KUBECALL_LANES];
    struct kubecall *under_way;
    unsigned n_under_way, next_lane;
    size_t waiting;
    double tokens;
    int64_t filled_us;
    int64_t held_mono_us; /* Retry-After: the lease and lane 0 alone go before */
    unsigned long sent;
    struct kubetimer timer;
    CURL *spare[SPARE_MOST]; /* of requests that are over: a new one costs memory of many KiB */
    unsigned n_spare;
};

static void send_waiting(void *ctx);

int64_t kubereply_slurm_error(const struct kubereply *reply)
{
    const json_t *errors = json_object_get(reply->body, "errors");

    return kubejson_int(json_array_get(errors, 0), "error_number", 0);
}

bool kubereply_is_slurms(const struct kubereply *reply)
{
    int64_t error = kubereply_slurm_error(reply);

    return reply->status && reply->status != SLURM_NOT_BELIEVED && reply->status != 401 && error &&
           error != SLURM_UNREACHABLE;
}

bool kubereply_is_refusal(const struct kubereply *reply)
{
    return reply->status >= 400 && reply->status < 500 && reply->status != 404 &&
           reply->status != 409 && reply->status != 429;
}

int kubeserver_new(struct kubeloop *loop, const struct kubeconfig *config,
                   const struct kubeserver_options *o, struct kubeserver **ret)
{
    struct kubeserver *s = calloc(1, sizeof(*s));

    if (!s || kubecred_new(config, &s->cred) < 0) {
        free(s);
        return -ENOMEM;
    }
    s->loop = loop;
    s->config = config;
    s->o = *o;
    s->o.in_flight = o->in_flight ? o->in_flight : IN_FLIGHT;
    s->tokens = o->burst;
    s->filled_us = now_mono_us();
    s->timer = (struct kubetimer){ .fn = send_waiting, .ctx = s };
    for (unsigned i = 0; i < KUBECALL_LANES; i++)
        s->lanes[i].last = &s->lanes[i].first;
    *ret = s;
    return 0;
}

size_t kubeserver_pending(const struct kubeserver *s)
{
    return s->waiting + s->n_under_way;
}

static bool is_sent_now(const struct kubeserver *s, unsigned lane)
{
    enum kubeloop_phase phase = kubeloop_phase(s->loop);

    return phase == KUBELOOP_OPEN || lane == KUBECALL_LEASE ||
           (phase == KUBELOOP_FINISHING && lane == KUBECALL_URGENT);
}

size_t kubeserver_owed(const struct kubeserver *s)
{
    size_t n = s->n_under_way;

    for (unsigned i = 0; i < KUBECALL_LANES; i++)
        n += is_sent_now(s, i) && s->lanes[i].first;
    return n;
}

struct kubeloop *kubeserver_loop(const struct kubeserver *s)
{
    return s->loop;
}

unsigned long kubeserver_sent(const struct kubeserver *s)
{
    return s->sent;
}

unsigned kubecall_lane(const char *namespace_)
{
    unsigned h = 2166136261u;

    for (const char *c = namespace_; *c; c++)
        h = (h ^ (unsigned char)*c) * 16777619u;
    return 1 + h % (KUBECALL_TOLD - 1);
}

void kubecall_escape(struct strbuf *out, const char *text)
{
    for (; *text; text++)
        if ((*text >= '0' && *text <= '9') || (*text >= 'a' && *text <= 'z') ||
            (*text >= 'A' && *text <= 'Z') || strchr("-_.", *text))
            strbuf_addc(out, *text);
        else
            strbuf_addf(out, "%%%02X", (unsigned char)*text);
}

/* ---- the life of a request ------------------------------------------------------------------- */

static CURL *take_easy(struct kubeserver *s)
{
    return s->n_spare ? s->spare[--s->n_spare] : curl_easy_init();
}

/* Nothing of the request stays in it, its secrets neither. */
static void give_easy(struct kubeserver *s, CURL *easy)
{
    if (s->n_spare == SPARE_MOST) {
        curl_easy_cleanup(easy);
        return;
    }
    curl_easy_reset(easy);
    s->spare[s->n_spare++] = easy;
}

static void free_call(struct kubecall *c)
{
    if (c->easy) {
        kubeloop_remove(c->s->loop, c->easy);
        give_easy(c->s, c->easy);
    }
    curl_slist_free_all(c->headers);
    curl_slist_free_all(c->connect_to);
    free(c->method);
    free(c->path);
    free(c->body);
    free(c->content_type);
    free(c->header);
    strbuf_done(&c->in);
    free(c);
}

/* It is no longer under way. */
static void unlink_call(struct kubecall *c)
{
    *c->link = c->next;
    if (c->next)
        c->next->link = c->link;
    if (!c->stream)
        c->s->n_under_way--;
}

static void answer_call(struct kubecall *c, const struct kubereply *reply)
{
    kubecall_fn *done = c->done;
    void *ctx = c->ctx;
    struct kubeserver *s = c->s;

    unlink_call(c);
    done(ctx, reply);
    free_call(c);
    if (s->waiting)
        kubeloop_arm(s->loop, &s->timer, now_mono_us());
}

void kubecall_cancel(struct kubecall *c)
{
    struct lane *lane = &c->s->lanes[c->lane];

    if (c->easy) {
        unlink_call(c);
    } else {
        struct kubecall **at = &lane->first;

        while (*at != c)
            at = &(*at)->next;
        *at = c->next;
        if (!c->next)
            lane->last = at;
        c->s->waiting--;
    }
    free_call(c);
}

struct kubeserver *kubeserver_free(struct kubeserver *s)
{
    if (!s)
        return NULL;
    kubeloop_disarm(s->loop, &s->timer);
    while (s->under_way)
        kubecall_cancel(s->under_way);
    for (unsigned i = 0; i < KUBECALL_LANES; i++)
        while (s->lanes[i].first)
            kubecall_cancel(s->lanes[i].first);
    while (s->n_spare)
        curl_easy_cleanup(s->spare[--s->n_spare]);
    s->cred = kubecred_free(s->cred);
    free(s);
    return NULL;
}

/* ---- what comes ------------------------------------------------------------------------------ */

/* Whole lines of a stream go to their reader. */
static int take_lines(struct kubecall *c)
{
    size_t from = 0;
    char *end;

    while (c->in.len > from && (end = memchr(c->in.buf + from, '\n', c->in.len - from))) {
        size_t len = (size_t)(end - (c->in.buf + from));

        *end = '\0';
        if (len && c->line(c->ctx, c->in.buf + from, len) < 0) {
            c->ended_by_line = true;
            return -1;
        }
        from += len + 1;
    }
    if (from) {
        memmove(c->in.buf, c->in.buf + from, c->in.len - from);
        c->in.len -= from;
    }
    return c->in.len > KUBECALL_LINE_MAX ? -1 : 0;
}

static size_t take_bytes(char *data, size_t one, size_t n, void *ctx)
{
    struct kubecall *c = ctx;
    long status = 0;

    (void)curl_easy_getinfo(c->easy, CURLINFO_RESPONSE_CODE, &status);
    strbuf_addn(&c->in, data, n);
    if (c->in.failed || c->in.len > KUBECALL_ANSWER_MAX) {
        (void)snprintf(c->why, sizeof(c->why), "the answer has more than %u MiB",
                       KUBECALL_ANSWER_MAX >> 20);
        return 0;
    }
    if (c->stream && status == 200 && take_lines(c) < 0) {
        (void)snprintf(c->why, sizeof(c->why), "%s",
                       c->ended_by_line ? "the stream cannot be read" : "a line is too long");
        return 0;
    }
    return n * one;
}

/* A line of the head; the empty one ends it. */
static size_t take_head(char *data, size_t one, size_t n, void *ctx)
{
    struct kubecall *c = ctx;
    long status = 0;

    (void)curl_easy_getinfo(c->easy, CURLINFO_RESPONSE_CODE, &status);
    if (n * one == 2 && memcmp(data, "\r\n", 2) == 0 && status == 200)
        c->begun(c->ctx);
    return n * one;
}

/* An answer that nobody reads.  What is cut or from somebody else is still seen: an object ends as
 * it begins. */
static bool is_framed(const struct strbuf *in)
{
    size_t len = in->len;

    while (len && strchr(" \t\r\n", in->buf[len - 1]))
        len--;
    return len >= 2 && in->buf[0] == '{' && in->buf[len - 1] == '}';
}

static void hold_server(const struct kubecall *c, const struct kubereply *reply)
{
    int64_t until = now_mono_us() + MIN(reply->retry_after_s, KUBECALL_HELD_S) * USEC_PER_SEC;

    if (reply->status != 429 && reply->status != 503)
        return;
    c->s->held_mono_us = MAX(c->s->held_mono_us, until);
}

/* A connection that was taken and ended without an answer, or has other bytes. */
static bool is_mute(CURLcode result)
{
    return result == CURLE_GOT_NOTHING || result == CURLE_RECV_ERROR ||
           result == CURLE_UNSUPPORTED_PROTOCOL || result == CURLE_WEIRD_SERVER_REPLY;
}

static void end_call(void *ctx, CURLcode result)
{
    struct kubecall *c = ctx;
    struct kubereply reply = { .reason = "", .text = "" };
    _cleanup_json_ json_t *body = NULL;
    struct err err = { .text = "" };
    long status = 0;
    curl_off_t after = 0;

    (void)curl_easy_getinfo(c->easy, CURLINFO_RESPONSE_CODE, &status);
    (void)curl_easy_getinfo(c->easy, CURLINFO_RETRY_AFTER, &after);
    if (result != CURLE_OK) {
        reply.no_http = !status && is_mute(result);
        reply.text = c->why[0] ? c->why : c->error[0] ? c->error : curl_easy_strerror(result);
        answer_call(c, &reply);
        return;
    }
    if (status == 401 || status == SLURM_NOT_BELIEVED)
        kubecred_forget(c->s->cred);
    reply.status = (int)status;
    reply.retry_after_s = (int)MIN(after, 3600);
    hold_server(c, &reply);
    if (c->unread && status >= 200 && status < 300 && is_framed(&c->in)) {
        answer_call(c, &reply);
        return;
    }
    if (c->in.len && !(c->stream && status == 200) &&
        kubejson_parse(c->in.buf, c->in.len, &body, &err) < 0 && status < 300)
        reply.status = 0;
    reply.body = body;
    if (reply.status < 200 || reply.status > 299) {
        const char *text = kubejson_text(body, "message");

        reply.reason = kubejson_text(body, "reason");
        reply.text = *text ? text : err.text[0] && !reply.status ? err.text : "refused";
    }
    answer_call(c, &reply);
}

/* ---- what goes ------------------------------------------------------------------------------- */

static void set_pem(CURL *easy, CURLoption option, const char *pem)
{
    struct curl_blob blob = { (void *)(uintptr_t)pem, strlen(pem), CURL_BLOB_COPY };

    (void)curl_easy_setopt(easy, option, &blob);
}

static void set_trust(const struct kubeconfig *config, CURL *easy, const char *cert,
                      const char *key)
{
    if (config->ca_pem)
        set_pem(easy, CURLOPT_CAINFO_BLOB, config->ca_pem);
    else if (config->ca_file)
        (void)curl_easy_setopt(easy, CURLOPT_CAINFO, config->ca_file);
    (void)curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, config->insecure ? 0L : 1L);
    (void)curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, config->insecure ? 0L : 2L);
    (void)curl_easy_setopt(easy, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    if (cert && key) {
        set_pem(easy, CURLOPT_SSLCERT_BLOB, cert);
        set_pem(easy, CURLOPT_SSLKEY_BLOB, key);
    } else if (config->cert_file && config->key_file) {
        (void)curl_easy_setopt(easy, CURLOPT_SSLCERT, config->cert_file);
        (void)curl_easy_setopt(easy, CURLOPT_SSLKEY, config->key_file);
    }
}

static void add_header(struct kubecall *c, const char *text)
{
    struct curl_slist *more = curl_slist_append(c->headers, text);

    c->headers = more ? more : c->headers;
}

static void set_headers(struct kubecall *c, const char *token)
{
    _cleanup_val_(strbuf_done) struct strbuf line = STRBUF_INIT;

    if (!c->header || !kubejson_after(c->header, "Accept:"))
        add_header(c, "Accept: application/json");
    if (c->body) {
        strbuf_addf(&line, "Content-Type: %s", c->content_type);
        add_header(c, strbuf_str(&line));
    }
    if (c->header)
        add_header(c, c->header);
    add_header(c, "Expect:"); /* bodies go at once */
    if (token) {
        strbuf_reset(&line);
        if (c->s->o.header)
            strbuf_addf(&line, "%s: %s", c->s->o.header,
                        kubejson_after(token, JWT) ? kubejson_after(token, JWT) : token);
        else
            strbuf_addf(&line, "Authorization: Bearer %s", token);
        add_header(c, strbuf_str(&line));
        explicit_bzero(line.buf, line.len);
    }
    (void)curl_easy_setopt(c->easy, CURLOPT_HTTPHEADER, c->headers);
}

/* The server's name is that of its certificate: the address is asked for beside it. */
static void set_address(struct kubecall *c)
{
    _cleanup_val_(strbuf_done) struct strbuf url = STRBUF_INIT;
    const struct kubeconfig *config = c->s->config;

    strbuf_addf(&url, "%s%s", config->server, c->path);
    if (config->tls_name && kubejson_after(config->server, "https://")) {
        const char *host = config->server + 8;
        size_t n = *host == '[' ? strcspn(host, "]") + 1 : strcspn(host, ":/");
        const char *rest = host + n;
        char connect[512];

        (void)snprintf(connect, sizeof(connect), "::%.*s:", (int)n, host);
        strbuf_reset(&url);
        strbuf_addf(&url, "https://%s%s%s", config->tls_name, rest, c->path);
        c->connect_to = curl_slist_append(NULL, connect);
        (void)curl_easy_setopt(c->easy, CURLOPT_CONNECT_TO, c->connect_to);
    }
    (void)curl_easy_setopt(c->easy, CURLOPT_URL, strbuf_str(&url));
}

static void set_times(struct kubecall *c)
{
    int ms = c->timeout_ms ? c->timeout_ms : TIMEOUT_MS;

    (void)curl_easy_setopt(c->easy, CURLOPT_CONNECTTIMEOUT_MS, CONNECT_MS);
    (void)curl_easy_setopt(c->easy, CURLOPT_TCP_KEEPALIVE, 1L);
    if (c->stream) {
        (void)curl_easy_setopt(c->easy, CURLOPT_LOW_SPEED_LIMIT, 1L);
        (void)curl_easy_setopt(c->easy, CURLOPT_LOW_SPEED_TIME, (long)MAX(1, ms / 1000));
    } else {
        (void)curl_easy_setopt(c->easy, CURLOPT_TIMEOUT_MS, (long)ms);
    }
}

/* Errors: -ENOMEM, those of the credentials. */
static int send_call(struct kubecall *c, struct err *err)
{
    const struct kubeconfig *config = c->s->config;
    const char *token = NULL, *cert = NULL, *key = NULL;
    int r = kubecred_get(c->s->cred, now_us(), &token, &cert, &key, err);

    if (r < 0)
        return r;
    c->easy = take_easy(c->s);
    if (!c->easy)
        return err_nomem(err);
    (void)curl_easy_setopt(c->easy, CURLOPT_NOSIGNAL, 1L);
    (void)curl_easy_setopt(c->easy, CURLOPT_PROTOCOLS_STR, "http,https");
    (void)curl_easy_setopt(c->easy, CURLOPT_ERRORBUFFER, c->error);
    (void)curl_easy_setopt(c->easy, CURLOPT_CUSTOMREQUEST, c->method);
    (void)curl_easy_setopt(c->easy, CURLOPT_USERAGENT, c->s->o.program);
    (void)curl_easy_setopt(c->easy, CURLOPT_WRITEFUNCTION, take_bytes);
    (void)curl_easy_setopt(c->easy, CURLOPT_WRITEDATA, c);
    if (c->begun) {
        (void)curl_easy_setopt(c->easy, CURLOPT_HEADERFUNCTION, take_head);
        (void)curl_easy_setopt(c->easy, CURLOPT_HEADERDATA, c);
    }
    (void)curl_easy_setopt(c->easy, CURLOPT_ACCEPT_ENCODING, c->stream ? NULL : "");
    if (c->body)
        (void)curl_easy_setopt(c->easy, CURLOPT_POSTFIELDS, c->body);
    if (config->user && config->password) {
        (void)curl_easy_setopt(c->easy, CURLOPT_USERNAME, config->user);
        (void)curl_easy_setopt(c->easy, CURLOPT_PASSWORD, config->password);
    }
    if (config->proxy)
        (void)curl_easy_setopt(c->easy, CURLOPT_PROXY, config->proxy);
    set_address(c);
    set_times(c);
    set_trust(config, c->easy, cert, key);
    set_headers(c, token);
    c->transfer = (struct kubeloop_transfer){ end_call, c };
    return kubeloop_add(c->s->loop, c->easy, &c->transfer);
}

static struct kubecall *take_from(struct kubeserver *s, unsigned lane)
{
    struct lane *l = &s->lanes[lane];
    struct kubecall *c = l->first;

    if (!c)
        return NULL;
    l->first = c->next;
    if (!l->first)
        l->last = &l->first;
    s->waiting--;
    return c;
}

static bool has_urgent(const struct kubeserver *s)
{
    return s->lanes[KUBECALL_LEASE].first ||
           (s->lanes[KUBECALL_URGENT].first && is_sent_now(s, KUBECALL_URGENT));
}

/* The lease and lane 0 first, then the others in turns. */
static struct kubecall *take_next(struct kubeserver *s)
{
    struct kubecall *c = take_from(s, KUBECALL_LEASE);

    if (!c)
        c = take_from(s, KUBECALL_URGENT);
    for (unsigned i = 0; !c && i < KUBECALL_LANES; i++) {
        s->next_lane = (s->next_lane + 1) % KUBECALL_LANES;
        c = take_from(s, s->next_lane);
    }
    return c;
}

static bool may_send(struct kubeserver *s)
{
    int64_t now = now_mono_us();

    if (s->n_under_way >= s->o.in_flight)
        return false; /* the next answer calls again */
    if (s->o.qps <= 0)
        return true;
    s->tokens =
        MIN((double)MAX(s->o.burst, 1u), s->tokens + (double)(now - s->filled_us) / 1e6 * s->o.qps);
    s->filled_us = now;
    if (s->tokens >= 1) {
        s->tokens -= 1;
        return true;
    }
    kubeloop_arm(s->loop, &s->timer, now + (int64_t)((1 - s->tokens) / s->o.qps * 1e6) + 1);
    return false;
}

static void place_call(struct kubecall *c)
{
    struct kubeserver *s = c->s;
    struct err err = { .text = "" };

    c->next = s->under_way;
    if (c->next)
        c->next->link = &c->next;
    c->link = &s->under_way;
    s->under_way = c;
    if (!c->stream)
        s->n_under_way++;
    s->sent++;
    if (send_call(c, &err) < 0) {
        const struct kubereply reply = { .reason = "", .text = err.text };

        log_seldom(LOG_ERROR, "credentials: %s", err.text);
        answer_call(c, &reply);
    }
}

static void send_waiting(void *ctx)
{
    struct kubeserver *s = ctx;

    while (s->waiting) {
        if (kubeloop_phase(s->loop) != KUBELOOP_OPEN && !has_urgent(s))
            return;
        if (now_mono_us() < s->held_mono_us && !has_urgent(s)) {
            kubeloop_arm(s->loop, &s->timer, s->held_mono_us);
            return;
        }
        if (!may_send(s))
            return;
        place_call(take_next(s));
    }
}

int kubecall_start(struct kubeserver *s, const struct kubecall_spec *spec,
                   struct kubecall **ret_call)
{
    struct kubecall *c = calloc(1, sizeof(*c));

    if (!c)
        return -ENOMEM;
    c->s = s;
    c->method = strdup(spec->method);
    c->path = strdup(spec->path);
    c->body = spec->body ? json_dumps(spec->body, JSON_COMPACT) : NULL;
    c->content_type = strdup(spec->content_type ? spec->content_type : "application/json");
    c->header = spec->header ? strdup(spec->header) : NULL;
    c->lane = spec->lane;
    c->timeout_ms = spec->timeout_ms;
    c->line = spec->line;
    c->stream = spec->line != NULL;
    c->unread = spec->unread;
    c->done = spec->done;
    c->begun = spec->begun;
    c->ctx = spec->ctx;
    if (!c->method || !c->path || !c->content_type || (spec->body && !c->body) ||
        (spec->header && !c->header)) {
        free_call(c);
        return -ENOMEM;
    }
    *s->lanes[c->lane].last = c;
    s->lanes[c->lane].last = &c->next;
    s->waiting++;
    kubeloop_arm(s->loop, &s->timer, now_mono_us());
    if (ret_call)
        *ret_call = c;
    return 0;
}
