/* etcdhttp.c - see etcdhttp.h; libcurl is loaded when the first client is made */
#include "etcd/etcdhttp.h"

#include <curl/curl.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/strbuf.h"
#include "etcd/etcdjson.h"

#define CONNECT_MS_MAX 1000u

struct curl_api {
    void *lib;
    __typeof__(&curl_global_init) global_init;
    __typeof__(&curl_easy_init) easy_init;
    CURLcode (*setopt)(CURL *, CURLoption, ...);
    CURLcode (*getinfo)(CURL *, CURLINFO, ...);
    __typeof__(&curl_easy_perform) perform;
    __typeof__(&curl_easy_cleanup) cleanup;
    __typeof__(&curl_easy_strerror) text;
    __typeof__(&curl_slist_append) append;
    __typeof__(&curl_slist_free_all) free_all;
};

struct etcd_http {
    const struct etcd_config *config;
    struct curl_api api;
    CURL *curl;
    struct curl_slist *headers;
    size_t member;
    struct strbuf answer;
};

/* ---- the library ----------------------------------------------------------------------------- */

/* It stays loaded: it may have threads and handlers of its own. */
static int load_library(struct curl_api *api, struct err *err)
{
    const struct {
        const char *name;
        void *to;
    } syms[] = { { "curl_global_init", &api->global_init }, { "curl_easy_init", &api->easy_init },
                 { "curl_easy_setopt", &api->setopt },      { "curl_easy_getinfo", &api->getinfo },
                 { "curl_easy_perform", &api->perform },    { "curl_easy_cleanup", &api->cleanup },
                 { "curl_easy_strerror", &api->text },      { "curl_slist_append", &api->append },
                 { "curl_slist_free_all", &api->free_all } };

    api->lib = dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);
    if (!api->lib)
        return err_set(err, -ENOENT, "JournalType=etcd needs libcurl.so.4 (package libcurl4): %s",
                       dlerror());
    for (size_t i = 0; i < ARRAY_SIZE(syms); i++) {
        void *at = dlsym(api->lib, syms[i].name);

        if (!at)
            return err_set(err, -ENOSYS, "JournalType=etcd: %s is missing in libcurl",
                           syms[i].name);
        memcpy(syms[i].to, &at, sizeof(at));
    }
    return api->global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK ? 0 : err_nomem(err);
}

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

    h->api.setopt(h->curl, CURLOPT_NOSIGNAL, 1L);
    h->api.setopt(h->curl, CURLOPT_NOPROXY, "*");
    h->api.setopt(h->curl, CURLOPT_TCP_NODELAY, 1L);
    h->api.setopt(h->curl, CURLOPT_CONNECTTIMEOUT_MS, (long)MIN(try_ms, CONNECT_MS_MAX));
    h->api.setopt(h->curl, CURLOPT_TIMEOUT_MS, (long)try_ms);
    h->api.setopt(h->curl, CURLOPT_WRITEFUNCTION, on_answer);
    h->api.setopt(h->curl, CURLOPT_WRITEDATA, h);
    h->api.setopt(h->curl, CURLOPT_HTTPHEADER, h->headers);
    h->api.setopt(h->curl, CURLOPT_POST, 1L);
    if (c->cacert[0])
        h->api.setopt(h->curl, CURLOPT_CAINFO, c->cacert);
    if (c->cert[0]) {
        h->api.setopt(h->curl, CURLOPT_SSLCERT, c->cert);
        h->api.setopt(h->curl, CURLOPT_SSLKEY, c->key);
    }
}

int etcd_http_new(const struct etcd_config *config, unsigned try_ms, struct etcd_http **ret,
                  struct err *err)
{
    struct etcd_http *h = calloc(1, sizeof(*h));
    int r = h ? load_library(&h->api, err) : err_nomem(err);

    if (r < 0) {
        free(h);
        return r;
    }
    h->config = config;
    h->curl = h->api.easy_init();
    h->headers = h->api.append(NULL, "Content-Type: application/json");
    if (!h->curl || !h->headers || !h->api.append(h->headers, "Expect:")) {
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
        h->api.cleanup(h->curl);
    if (h->headers)
        h->api.free_all(h->headers);
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
    h->api.setopt(h->curl, CURLOPT_URL, url);
    h->api.setopt(h->curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)len);
    h->api.setopt(h->curl, CURLOPT_POSTFIELDS, body);
    rc = h->api.perform(h->curl);
    if (rc != CURLE_OK)
        return err_set(err, -EHOSTUNREACH, "etcd %s: %s", member, h->api.text(rc));
    h->api.getinfo(h->curl, CURLINFO_RESPONSE_CODE, &status);
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
