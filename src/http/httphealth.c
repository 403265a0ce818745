/* httphealth.c - health over HTTP of a daemon that serves nothing else there */
#include "http/httphealth.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

enum { ROW_INDEX, ROW_READY, ROW_LIVE, ROW_HEALTH, ROW_CONF, ROW_END, ROWS };
#define WORDS_MAX 64u

/* formats: the daemon's name */
static const char live_words[] = "check %s is running";
static const char ready_words[] = "check %s is servicing RPCs";

struct httphealth {
    struct httphealth_config config;
    struct httpaccess *access;
    struct http *http;
    struct http_path paths[ROWS];
    char live_words[WORDS_MAX], ready_words[WORDS_MAX];
    pthread_mutex_t lock;
    char *conf; /* under the lock */
};

unsigned httphealth_alive(void *ctx, const struct http_request *r, struct strbuf *body,
                          struct err *err)
{
    (void)ctx;
    (void)r;
    (void)body;
    (void)err;
    return HTTP_NO_CONTENT;
}

static unsigned answer_ready(void *ctx, const struct http_request *r, struct strbuf *body,
                             struct err *err)
{
    const struct httphealth *h = ctx;
    struct strbuf told = STRBUF_INIT;
    bool asks = http_request_asks(r, "verbose");
    bool ready = h->config.ready(h->config.ctx, &told);

    if (ready && asks)
        strbuf_add(body, strbuf_str(&told));
    if (!ready)
        (void)err_set(err, -EAGAIN, "%s does not serve requests now", h->config.name);
    strbuf_done(&told);
    return !ready ? HTTP_FAILED : asks ? HTTP_OK : HTTP_NO_CONTENT;
}

static unsigned allow_ready(void *ctx, const struct http_request *r, struct err *err)
{
    const struct httphealth *h = ctx;

    return http_request_asks(r, "verbose") ? httpaccess_admin(h->access, r, err) : 0;
}

static unsigned answer_conf(void *ctx, const struct http_request *r, struct strbuf *body,
                            struct err *err)
{
    struct httphealth *h = ctx;

    (void)r;
    pthread_mutex_lock(&h->lock);
    strbuf_add(body, h->conf ? h->conf : "");
    pthread_mutex_unlock(&h->lock);
    if (body->len)
        return HTTP_OK;
    (void)err_set(err, -EAGAIN, "%s cannot tell its configuration now", h->config.name);
    return HTTP_FAILED;
}

static unsigned allow_conf(void *ctx, const struct http_request *r, struct err *err)
{
    const struct httphealth *h = ctx;
    _cleanup_free_ char *user = NULL;

    return httpaccess_user(h->access, r, &user, err);
}

static void make_table(struct httphealth *h)
{
    const char *name = h->config.name;

    (void)snprintf(h->live_words, WORDS_MAX, live_words, name); /* names are short */
    (void)snprintf(h->ready_words, WORDS_MAX, ready_words, name);
    h->paths[ROW_INDEX] = (struct http_path){ .path = "/", .title = "index of endpoints" };
    h->paths[ROW_READY] = (struct http_path){ .path = "/readyz",
                                              .listed = "/",
                                              .words = h->ready_words,
                                              .answer = answer_ready,
                                              .allow = allow_ready };
    h->paths[ROW_LIVE] = (struct http_path){
        .path = "/livez", .listed = "/", .words = h->live_words, .answer = httphealth_alive
    };
    h->paths[ROW_HEALTH] = h->paths[ROW_LIVE];
    h->paths[ROW_HEALTH].path = "/healthz";
    if (!h->config.has_conf)
        return;
    /* the index names it first */
    memmove(&h->paths[ROW_READY + 1], &h->paths[ROW_READY], 3 * sizeof(h->paths[0]));
    h->paths[ROW_READY] =
        (struct http_path){ HTTPHEALTH_CONF, .answer = answer_conf, .allow = allow_conf };
}

int httphealth_new(const struct httphealth_config *config, struct httphealth **ret, struct err *err)
{
    struct httphealth *h = calloc(1, sizeof(*h));
    int r;

    if (!h)
        return err_nomem(err);
    (void)pthread_mutex_init(&h->lock, NULL); /* always 0 */
    r = httpaccess_new(&h->access);
    if (r == 0) {
        struct http_config http = { .name = config->name, .paths = h->paths, .ctx = h };

        h->config = *config;
        make_table(h);
        r = http_new(&http, &h->http, err);
    }
    if (r < 0) {
        (void)httphealth_free(h); /* always NULL */
        return r == -ENOMEM ? err_nomem(err) : r;
    }
    *ret = h;
    return 0;
}

void httphealth_set(struct httphealth *h, struct auth_tokens *tokens, uid_t slurm_uid)
{
    httpaccess_set(h->access, tokens, slurm_uid);
}

void httphealth_show(struct httphealth *h, const char *json)
{
    char *copy = json ? strdup(json) : NULL, *old;

    pthread_mutex_lock(&h->lock);
    old = h->conf;
    h->conf = copy;
    pthread_mutex_unlock(&h->lock);
    free(old);
}

void httphealth_switch(struct httphealth *h, bool on)
{
    http_switch(h->http, on);
}

void httphealth_take(struct httphealth *h, int fd)
{
    http_take(h->http, fd);
}

struct httphealth *httphealth_free(struct httphealth *h)
{
    if (!h)
        return NULL;
    h->http = http_free(h->http);
    h->access = httpaccess_free(h->access);
    (void)pthread_mutex_destroy(&h->lock); /* nobody holds it */
    free(h->conf);
    free(h);
    return NULL;
}
