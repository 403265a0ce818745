/* etcdhttp.c - see etcdhttp.h; libcurl is loaded when the first client is made */
#include "etcd/etcdhttp.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/strbuf.h"
#include "curl/curllib.h"
#include "etcd/etcdjson.h"

#define CONNECT_MS_MAX 1000u

struct etcd_http {
    const struct etcd_config *config;
    struct curl_api api;
    CURL *curl;
    struct curl_slist *headers;
    size_t member;
    struct strbuf answer;
};

/* ---- life ------------------------------------------------------------------------------------ */

static size_t on_answer(char *data, size_t size, size_t n, void *arg)
{
    struct etcd_http *h = arg;

    if (h->answer.len + size * n > ETCD_ANSWER_MAX)
        return 0; /* ends the transfer */
    strbuf_addn(&h->answer, data, size * n);
    return h->answer.failed ? 0 : size * n;
}

static void set_options(struct etcd_http *h, unsigned try_ms)
{
    const struct etcd_config *c = h->config;

    h->api.easy_setopt(h->curl, CURLOPT_NOSIGNAL, 1L);
    h->api.easy_setopt(h->curl, CURLOPT_NOPROXY, "*");
    h->api.easy_setopt(h->curl, CURLOPT_TCP_NODELAY, 1L);
    h->api.easy_setopt(h->curl, CURLOPT_CONNECTTIMEOUT_MS, (long)MIN(try_ms, CONNECT_MS_MAX));
    h->api.easy_setopt(h->curl, CURLOPT_TIMEOUT_MS, (long)try_ms);
    h->api.easy_setopt(h->curl, CURLOPT_WRITEFUNCTION, on_answer);
    h->api.easy_setopt(h->curl, CURLOPT_WRITEDATA, h);
    h->api.easy_setopt(h->curl, CURLOPT_HTTPHEADER, h->headers);
    h->api.easy_setopt(h->curl, CURLOPT_POST, 1L);
    if (c->cacert[0])
        h->api.easy_setopt(h->curl, CURLOPT_CAINFO, c->cacert);
    if (c->cert[0]) {
        h->api.easy_setopt(h->curl, CURLOPT_SSLCERT, c->cert);
        h->api.easy_setopt(h->curl, CURLOPT_SSLKEY, c->key);
    }
}

int etcd_http_new(const struct etcd_config *config, unsigned try_ms, struct etcd_http **ret,
                  struct err *err)
{
    struct etcd_http *h = calloc(1, sizeof(*h));
    int r = h ? curl_api_load(&h->api, "JournalType=etcd", err) : err_nomem(err);

    if (r < 0) {
        free(h);
        return r;
    }
    h->config = config;
    h->curl = h->api.easy_init();
    h->headers = h->api.slist_append(NULL, "Content-Type: application/json");
    if (!h->curl || !h->headers || !h->api.slist_append(h->headers, "Expect:")) {
        (void)etcd_http_free(h); /* always NULL */
        return err_nomem(err);
    }
    set_options(h, try_ms);
    *ret = h;
    return 0;
}

struct etcd_http *etcd_http_free(struct etcd_http *h)
{
    if (!h)
        return NULL;
    if (h->curl)
        h->api.easy_cleanup(h->curl);
    if (h->headers)
        h->api.slist_free_all(h->headers);
    strbuf_done(&h->answer);
    free(h);
    return NULL;
}

const char *etcd_http_member(const struct etcd_http *h)
{
    return h->config->endpoints[h->member];
}

/* ---- requests -------------------------------------------------------------------------------- */

static int ask_member(struct etcd_http *h, const char *path, const char *body, size_t len,
                      struct err *err)
{
    const char *member = etcd_http_member(h);
    char url[2 * ETCD_TEXT_MAX], said[256];
    CURLcode rc;
    long status = 0;

    strbuf_reset(&h->answer);
    (void)snprintf(url, sizeof(url), "%s%s", member, path); /* fits */
    h->api.easy_setopt(h->curl, CURLOPT_URL, url);
    h->api.easy_setopt(h->curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)len);
    h->api.easy_setopt(h->curl, CURLOPT_POSTFIELDS, body);
    rc = h->api.easy_perform(h->curl);
    if (rc != CURLE_OK)
        return err_set(err, -EHOSTUNREACH, "etcd %s: %s", member, h->api.easy_strerror(rc));
    h->api.easy_getinfo(h->curl, CURLINFO_RESPONSE_CODE, &status);
    if (status == 200)
        return 0;
    etcd_read_error(strbuf_str(&h->answer), h->answer.len, said, sizeof(said));
    return err_set(err,
                   status >= 500   ? -EHOSTUNREACH
                   : status == 429 ? -ENOSPC
                                   : -EIO,
                   "etcd %s: %s (HTTP status %ld)", member, said, status);
}

int etcd_http_post(struct etcd_http *h, const char *path, const char *body, size_t len,
                   const char **ret_text, size_t *ret_len, struct err *err)
{
    int r = -EHOSTUNREACH;

    for (size_t i = 0; i < h->config->n_endpoints && r == -EHOSTUNREACH; i++) {
        r = ask_member(h, path, body, len, err);
        if (r == -EHOSTUNREACH)
            h->member = (h->member + 1) % h->config->n_endpoints;
    }
    *ret_text = strbuf_str(&h->answer);
    *ret_len = h->answer.len;
    return r;
}
