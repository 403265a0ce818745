/* etcdhttp.c - see etcdhttp.h; libcurl is loaded when the first client is made */
#include "etcd/etcdhttp.h"

#include <curl/curl.h>
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/strbuf.h"
#include "etcd/etcdjson.h"

#define CONNECT_MS_MAX 1000u

static struct {
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
    int error; /* of the loading, which is done once */
    struct err why;
} api;

struct etcd_http {
    const struct etcd_config *config;
    CURL *curl;
    struct curl_slist *headers;
    size_t member;
    struct strbuf answer;
};

/* ---- the library ----------------------------------------------------------------------------- */

static void load_library(void)
{
    const struct {
        const char *name;
        void *to;
    } syms[] = { { "curl_global_init", &api.global_init }, { "curl_easy_init", &api.easy_init },
                 { "curl_easy_setopt", &api.setopt },      { "curl_easy_getinfo", &api.getinfo },
                 { "curl_easy_perform", &api.perform },    { "curl_easy_cleanup", &api.cleanup },
                 { "curl_easy_strerror", &api.text },      { "curl_slist_append", &api.append },
                 { "curl_slist_free_all", &api.free_all } };

    api.lib = dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);
    if (!api.lib)
        api.error = err_set(&api.why, -ENOENT,
                            "JournalType=etcd needs libcurl.so.4 (package libcurl4): %s",
                            dlerror());
    for (size_t i = 0; api.lib && i < ARRAY_SIZE(syms) && !api.error; i++) {
        void *at = dlsym(api.lib, syms[i].name);

        if (at)
            memcpy(syms[i].to, &at, sizeof(at));
        else
            api.error = err_set(&api.why, -ENOSYS, "JournalType=etcd: %s is missing in libcurl",
                                syms[i].name);
    }
    if (!api.error && api.global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
        api.error = err_nomem(&api.why);
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

    api.setopt(h->curl, CURLOPT_NOSIGNAL, 1L);
    api.setopt(h->curl, CURLOPT_NOPROXY, "*");
    api.setopt(h->curl, CURLOPT_TCP_NODELAY, 1L);
    api.setopt(h->curl, CURLOPT_CONNECTTIMEOUT_MS, (long)MIN(try_ms, CONNECT_MS_MAX));
    api.setopt(h->curl, CURLOPT_TIMEOUT_MS, (long)try_ms);
    api.setopt(h->curl, CURLOPT_WRITEFUNCTION, on_answer);
    api.setopt(h->curl, CURLOPT_WRITEDATA, h);
    api.setopt(h->curl, CURLOPT_HTTPHEADER, h->headers);
    api.setopt(h->curl, CURLOPT_POST, 1L);
    if (c->cacert[0])
        api.setopt(h->curl, CURLOPT_CAINFO, c->cacert);
    if (c->cert[0]) {
        api.setopt(h->curl, CURLOPT_SSLCERT, c->cert);
        api.setopt(h->curl, CURLOPT_SSLKEY, c->key);
    }
}

int etcd_http_new(const struct etcd_config *config, unsigned try_ms, struct etcd_http **ret,
                  struct err *err)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct etcd_http *h;

    (void)pthread_once(&once, load_library); /* cannot fail */
    if (api.error)
        return err_set(err, api.error, "%s", api.why.text);
    h = calloc(1, sizeof(*h));
    if (!h)
        return err_nomem(err);
    h->config = config;
    h->curl = api.easy_init();
    h->headers = api.append(NULL, "Content-Type: application/json");
    if (h->headers && !api.append(h->headers, "Expect:"))
        h->headers = NULL;
    if (!h->curl || !h->headers) {
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
        api.cleanup(h->curl);
    if (h->headers)
        api.free_all(h->headers);
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
    api.setopt(h->curl, CURLOPT_URL, url);
    api.setopt(h->curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)len);
    api.setopt(h->curl, CURLOPT_POSTFIELDS, body);
    rc = api.perform(h->curl);
    if (rc != CURLE_OK)
        return err_set(err, -EHOSTUNREACH, "etcd %s: %s", member, api.text(rc));
    api.getinfo(h->curl, CURLINFO_RESPONSE_CODE, &status);
    if (status == 200)
        return 0;
    etcd_read_error(strbuf_str(&h->answer), h->answer.len, said, sizeof(said));
    return err_set(err, status >= 500 ? -EHOSTUNREACH : status == 429 ? -ENOSPC : -EIO,
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
