/* etcdhttp.c - see etcdhttp.h; libcurl is loaded when the first client is made */
#include "etcd/etcdhttp.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/strbuf.h"
#include "curl/curllib.h"
#include "etcd/etcdjson.h"

#define CONNECT_MS_MAX 1000u
#define LOGIN_PATH "/v3/auth/authenticate"
#define LOGIN_MS 5000L    /* etcd's hash of a password is slow on purpose */
#define TOKEN_MAX 4096u   /* etcd's own are short, signed ones are not */
#define PASSWORD_MAX 256u /* bytes, with the end of the line */

struct etcd_http {
    const struct etcd_config *config;
    struct curl_api api;
    CURL *curl;
    struct curl_slist *headers;
    size_t member;
    unsigned try_ms;
    bool logged_in; /* the headers have a token, which etcd may not know any more */
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
    h->api.easy_setopt(h->curl, CURLOPT_POST, 1L);
    if (c->cacert[0])
        h->api.easy_setopt(h->curl, CURLOPT_CAINFO, c->cacert);
    if (c->cert[0]) {
        h->api.easy_setopt(h->curl, CURLOPT_SSLCERT, c->cert);
        h->api.easy_setopt(h->curl, CURLOPT_SSLKEY, c->key);
    }
}

/* token: NULL without one. */
static int set_headers(struct etcd_http *h, const char *token)
{
    char line[TOKEN_MAX + 32];
    struct curl_slist *list = h->api.slist_append(NULL, "Content-Type: application/json");
    bool whole = list && h->api.slist_append(list, "Expect:");

    if (whole && token) {
        (void)snprintf(line, sizeof(line), "Authorization: %s", token); /* fits */
        whole = h->api.slist_append(list, line) != NULL;
        explicit_bzero(line, sizeof(line));
    }
    if (!whole) {
        h->api.slist_free_all(list);
        return -ENOMEM;
    }
    h->api.slist_free_all(h->headers);
    h->headers = list;
    h->api.easy_setopt(h->curl, CURLOPT_HTTPHEADER, h->headers);
    return 0;
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
    h->try_ms = try_ms;
    h->curl = h->api.easy_init();
    r = h->curl ? set_headers(h, NULL) : -ENOMEM;
    if (r < 0) {
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

/* ---- users ----------------------------------------------------------------------------------- */

static int read_password(const char *path, char out[static PASSWORD_MAX], struct err *err)
{
    _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    ssize_t n = fd < 0 ? -1 : read(fd, out, PASSWORD_MAX - 1);

    if (n < 0)
        return err_set(err, -EIO, "JournalParameters: passwordfile=%s: %s", path,
                       strerrordesc_np(errno));
    out[n] = '\0';
    out[strcspn(out, "\r\n")] = '\0';
    if (!out[0] || n == PASSWORD_MAX - 1)
        return err_set(err, -EIO, "JournalParameters: passwordfile=%s: no password", path);
    return 0;
}

/* The member that is asked next gives a token. */
static int log_in(struct etcd_http *h, struct err *err)
{
    const struct etcd_config *c = h->config;
    char password[PASSWORD_MAX], token[TOKEN_MAX];
    char *body = NULL;
    int r = read_password(c->password_file, password, err);

    h->logged_in = false;
    if (r == 0) {
        body = etcd_login_text(c->user, password);
        r = body ? set_headers(h, NULL) : -ENOMEM;
    }
    if (r == 0) {
        h->api.easy_setopt(h->curl, CURLOPT_TIMEOUT_MS, MAX((long)h->try_ms, LOGIN_MS));
        r = ask_member(h, LOGIN_PATH, body, strlen(body), err);
        h->api.easy_setopt(h->curl, CURLOPT_TIMEOUT_MS, (long)h->try_ms);
    }
    if (r == 0 &&
        (r = etcd_read_token(strbuf_str(&h->answer), h->answer.len, token, sizeof(token))) < 0)
        (void)err_set(err, r, "etcd %s: no token for user %s", etcd_http_member(h), c->user);
    if (r == 0)
        r = set_headers(h, token);
    h->logged_in = r == 0;
    if (body)
        explicit_bzero(body, strlen(body));
    free(body);
    explicit_bzero(password, sizeof(password));
    explicit_bzero(token, sizeof(token));
    return r == -ENOMEM ? err_nomem(err) : r;
}

/* Tokens end, with their time, with the member that gave them, and when users change. */
static int ask_as_user(struct etcd_http *h, const char *path, const char *body, size_t len,
                       struct err *err)
{
    bool fresh = h->config->user[0] && !h->logged_in;
    int r = fresh ? log_in(h, err) : 0;

    if (r == 0)
        r = ask_member(h, path, body, len, err);
    if (r != -EIO || !h->config->user[0] || fresh)
        return r;
    r = log_in(h, err);
    return r < 0 ? r : ask_member(h, path, body, len, err);
}

int etcd_http_post(struct etcd_http *h, const char *path, const char *body, size_t len,
                   const char **ret_text, size_t *ret_len, struct err *err)
{
    int r = -EHOSTUNREACH;

    for (size_t i = 0; i < h->config->n_endpoints && r == -EHOSTUNREACH; i++) {
        r = ask_as_user(h, path, body, len, err);
        if (r == -EHOSTUNREACH)
            h->member = (h->member + 1) % h->config->n_endpoints;
    }
    *ret_text = strbuf_str(&h->answer);
    *ret_len = h->answer.len;
    return r;
}
