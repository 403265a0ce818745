/* jobcomp_elastic.c - finished runs to Elasticsearch or what speaks like it, over HTTP
 *
 * JobCompLoc ending in /_doc gets one document a request, as it stands.  Ending in /_bulk it gets
 * up to BATCH documents a request, each named by its run's SLUID, so that one sent twice is one;
 * what a bulk request does not take whole is sent one by one.  A document that the server calls bad
 * is dropped with a line in the log; anything else is tried again for ever.  libcurl is loaded when
 * this type is configured. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/logflags.h"
#include "base/timefmt.h"
#include "ctld/notify/jobcomp.h"
#include "curl/curllib.h"

#define BATCH 500u
#define ANSWER_MAX 2048u
#define CONNECT_S 10L
#define REQUEST_S 60L
#define STOP_GRACE_US (2 * USEC_PER_SEC)

struct doc {
    uint64_t lsn;
    uint32_t job_id;
    char sluid[24];
    char *text;
    size_t len;
};

struct elastic {
    struct curl_api api;
    CURL *curl;
    struct curl_slist *json, *lines; /* headers */
    char *url, *base, *cluster;      /* base: of documents with a name, with /_bulk only */
    struct doc *docs;                /* of the batch */
    size_t n, cap;
    char answer[ANSWER_MAX]; /* its beginning */
    struct curl_head head;   /* of answer */
    const atomic_bool *stop;
    int64_t stop_mono_us;
};

/* ---- the library ----------------------------------------------------------------------------- */

/* The controller ends: what is under way gets a moment. */
static int on_progress(void *arg, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d)
{
    struct elastic *e = arg;

    if (!e->stop || !atomic_load(e->stop))
        return 0;
    if (!e->stop_mono_us)
        e->stop_mono_us = now_mono_us() + STOP_GRACE_US;
    return now_mono_us() > e->stop_mono_us;
}

static int prepare_curl(struct elastic *e)
{
    e->curl = e->api.easy_init();
    e->json = e->api.slist_append(NULL, "Content-Type: application/json");
    e->lines = e->api.slist_append(NULL, "Content-Type: application/x-ndjson");
    if (!e->curl || !e->json || !e->lines)
        return -ENOMEM;
    e->api.easy_setopt(e->curl, CURLOPT_NOSIGNAL, 1L);
    e->api.easy_setopt(e->curl, CURLOPT_CONNECTTIMEOUT, CONNECT_S);
    e->api.easy_setopt(e->curl, CURLOPT_TIMEOUT, REQUEST_S);
    e->api.easy_setopt(e->curl, CURLOPT_WRITEFUNCTION, curl_head_take);
    e->head = (struct curl_head){ .text = e->answer, .size = sizeof(e->answer) };
    e->api.easy_setopt(e->curl, CURLOPT_WRITEDATA, &e->head);
    e->api.easy_setopt(e->curl, CURLOPT_NOPROGRESS, 0L);
    e->api.easy_setopt(e->curl, CURLOPT_XFERINFOFUNCTION, on_progress);
    e->api.easy_setopt(e->curl, CURLOPT_XFERINFODATA, e);
    return 0;
}

/* ---- requests -------------------------------------------------------------------------------- */

/* The status of the answer, or negative: none came. */
static long post_body(struct elastic *e, const char *url, struct curl_slist *headers,
                      const char *method, const char *body, size_t len, struct err *err)
{
    CURLcode rc;
    long status = 0;

    curl_head_clear(&e->head);
    e->api.easy_setopt(e->curl, CURLOPT_URL, url);
    e->api.easy_setopt(e->curl, CURLOPT_HTTPHEADER, headers);
    e->api.easy_setopt(e->curl, CURLOPT_POST, 1L);
    e->api.easy_setopt(e->curl, CURLOPT_CUSTOMREQUEST, method);
    e->api.easy_setopt(e->curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)len);
    e->api.easy_setopt(e->curl, CURLOPT_POSTFIELDS, body);
    rc = e->api.easy_perform(e->curl);
    if (rc != CURLE_OK)
        return err_set(err, -EIO, "%.200s: %s", url, e->api.easy_strerror(rc));
    e->api.easy_getinfo(e->curl, CURLINFO_RESPONSE_CODE, &status);
    log_flag(ELASTICSEARCH, "%s of %zu bytes to %.200s: status %ld", method, len, url, status);
    return status;
}

/* No later try will do better. */
static bool is_bad(long status)
{
    return status == 400 || status == 413 || status == 422;
}

static int send_one(struct elastic *e, const struct doc *d, struct err *err)
{
    _cleanup_val_(strbuf_done) struct strbuf named = STRBUF_INIT;
    long status;

    if (e->base && d->sluid[0])
        strbuf_addf(&named, "%s%s", e->base, d->sluid);
    status = named.len ? post_body(e, strbuf_str(&named), e->json, "PUT", d->text, d->len, err)
                       : post_body(e, e->url, e->json, "POST", d->text, d->len, err);
    if (status < 0)
        return (int)status;
    if (status == 200 || status == 201)
        return 0;
    if (!is_bad(status))
        return err_set(err, -EIO, "%.200s answers with status %ld: %.100s", e->url, status,
                       e->answer);
    log_error("jobcomp: %.200s refuses the record with status %ld: %.200s job=%u", e->url, status,
              e->answer, d->job_id);
    return 0;
}

static int send_each(struct elastic *e, uint64_t *ret_done, struct err *err)
{
    int r = 0;

    for (size_t i = 0; i < e->n && r == 0; i++) {
        r = send_one(e, &e->docs[i], err);
        if (r == 0 && (i + 1 == e->n || e->docs[i + 1].lsn > e->docs[i].lsn))
            *ret_done = e->docs[i].lsn;
    }
    return r;
}

/* All at once.  1: not all were taken. */
static int send_bulk(struct elastic *e, struct err *err)
{
    _cleanup_val_(strbuf_done) struct strbuf body = STRBUF_INIT;
    long status;

    for (size_t i = 0; i < e->n; i++) {
        strbuf_addf(&body, "{\"index\":{\"_id\":\"%s\"}}\n", e->docs[i].sluid);
        strbuf_addn(&body, e->docs[i].text, e->docs[i].len);
        strbuf_addc(&body, '\n');
    }
    if (body.failed)
        return -ENOMEM;
    status = post_body(e, e->url, e->lines, "POST", strbuf_str(&body), body.len, err);
    if (status < 0)
        return (int)status;
    if ((status == 200 || status == 201) && strstr(e->answer, "\"errors\":false"))
        return 0;
    if (status == 200 || status == 201 || is_bad(status))
        return 1;
    return err_set(err, -EIO, "%.200s answers with status %ld: %.100s", e->url, status, e->answer);
}

/* ---- the sink -------------------------------------------------------------------------------- */

static void clear_docs(struct elastic *e)
{
    for (size_t i = 0; i < e->n; i++)
        free(e->docs[i].text);
    e->n = 0;
}

static void elastic_close(void *sink)
{
    struct elastic *e = sink;

    clear_docs(e);
    if (e->curl)
        e->api.easy_cleanup(e->curl);
    if (e->json)
        e->api.slist_free_all(e->json);
    if (e->lines)
        e->api.slist_free_all(e->lines);
    free(e->docs);
    free(e->url);
    free(e->base);
    free(e->cluster);
    free(e);
}

static int elastic_open(const struct conf *conf, void **ret, struct err *err)
{
    const char *url = conf_str(conf, CONF_JOB_COMP_LOC);
    size_t len = url ? strlen(url) : 0;
    struct elastic *e;
    int r;

    if (len < 4 || !strchr(url, '/'))
        return err_set(err, -EINVAL,
                       "JobCompLoc=%.128s: jobcomp/elasticsearch wants host:port/index/_doc or "
                       "host:port/index/_bulk",
                       url ? url : "");
    e = calloc(1, sizeof(*e));
    if (!e)
        return -ENOMEM;
    e->url = strdup(url);
    e->cluster = strdup(conf_str(conf, CONF_CLUSTER_NAME));
    r = e->url && e->cluster ? curl_api_load(&e->api, "jobcomp/elasticsearch", err) : -ENOMEM;
    if (r == 0 && len > 6 && strcmp(url + len - 6, "/_bulk") == 0 &&
        asprintf(&e->base, "%.*s/_doc/", (int)(len - 6), url) < 0) {
        e->base = NULL;
        r = -ENOMEM;
    }
    if (r == 0)
        r = prepare_curl(e);
    if (r < 0) {
        elastic_close(e);
        return r;
    }
    *ret = e;
    return 0;
}

static int elastic_put(void *sink, uint64_t lsn, const Pst__JobNote *note, struct err *err)
{
    struct elastic *e = sink;
    struct doc *d;
    int r;

    (void)err;
    if (note->has_began && note->began)
        return 0;
    if (e->n == e->cap) {
        size_t cap = e->cap ? e->cap * 2 : 16;
        struct doc *bigger = realloc(e->docs, cap * sizeof(*bigger));

        if (!bigger)
            return -ENOMEM;
        e->docs = bigger;
        e->cap = cap;
    }
    d = &e->docs[e->n];
    *d = (struct doc){ .lsn = lsn, .job_id = note->job->job_id };
    (void)snprintf(d->sluid, sizeof(d->sluid), "%s", note->job->sluid ? note->job->sluid : "");
    r = jobcomp_json(note, e->cluster, &d->text, &d->len);
    e->n += r == 0;
    return r;
}

static int elastic_flush(void *sink, const atomic_bool *stop, uint64_t *ret_done, struct err *err)
{
    struct elastic *e = sink;
    int r = 0;

    e->stop = stop;
    if (e->n)
        r = e->base && e->n > 1 ? send_bulk(e, err) : 1;
    if (r == 1)
        r = send_each(e, ret_done, err);
    clear_docs(e);
    return r;
}

const struct jobcomp_sink jobcomp_elastic = { .type = "jobcomp/elasticsearch",
                                              .batch = BATCH,
                                              .retry_ms = 30000,
                                              .json = true,
                                              .open = elastic_open,
                                              .put = elastic_put,
                                              .flush = elastic_flush,
                                              .close = elastic_close };
