/* restout.c - an answer on its way; see restout.h */
#include "rest/restout.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

struct rest_out {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    char *piece; /* NULL: none waits */
    size_t len, taken;
    bool put, ended, dropped;
    int result;
};

int restout_new(struct rest_out **ret)
{
    struct rest_out *out = calloc(1, sizeof(*out));

    if (!out)
        return -ENOMEM;
    (void)pthread_mutex_init(&out->lock, NULL); /* neither can fail with NULL */
    (void)pthread_cond_init(&out->changed, NULL);
    *ret = out;
    return 0;
}

struct rest_out *restout_free(struct rest_out *out)
{
    if (!out)
        return NULL;
    (void)pthread_mutex_destroy(&out->lock);
    (void)pthread_cond_destroy(&out->changed);
    free(out->piece);
    free(out);
    return NULL;
}

int restout_put(struct rest_out *out, struct strbuf *sb)
{
    char *piece = NULL;
    size_t len = sb->len;
    int r = strbuf_detach(sb, &piece);

    if (r < 0 || !len) {
        free(piece);
        return r;
    }
    (void)pthread_mutex_lock(&out->lock);
    while (out->piece && !out->dropped)
        (void)pthread_cond_wait(&out->changed, &out->lock);
    if (out->dropped) {
        free(piece);
        r = -EPIPE;
    } else {
        out->piece = piece;
        out->len = len;
        out->taken = 0;
        out->put = true;
    }
    (void)pthread_cond_broadcast(&out->changed);
    (void)pthread_mutex_unlock(&out->lock);
    return r;
}

void restout_end(struct rest_out *out, int r)
{
    (void)pthread_mutex_lock(&out->lock);
    out->ended = true;
    out->result = r;
    (void)pthread_cond_broadcast(&out->changed);
    (void)pthread_mutex_unlock(&out->lock);
}

bool restout_wait(struct rest_out *out)
{
    bool nothing;

    (void)pthread_mutex_lock(&out->lock);
    while (!out->put && !out->ended)
        (void)pthread_cond_wait(&out->changed, &out->lock);
    nothing = !out->put;
    (void)pthread_mutex_unlock(&out->lock);
    return nothing;
}

ssize_t restout_take(struct rest_out *out, char *buf, size_t size)
{
    size_t n = 0;
    int result;

    (void)pthread_mutex_lock(&out->lock);
    while (!out->piece && !out->ended)
        (void)pthread_cond_wait(&out->changed, &out->lock);
    if (out->piece) {
        n = MIN(size, out->len - out->taken);
        memcpy(buf, out->piece + out->taken, n);
        out->taken += n;
        if (out->taken == out->len) {
            free(out->piece);
            out->piece = NULL;
            (void)pthread_cond_broadcast(&out->changed);
        }
    }
    result = out->result;
    (void)pthread_mutex_unlock(&out->lock);
    return n || result >= 0 ? (ssize_t)n : result;
}

void restout_drop(struct rest_out *out)
{
    (void)pthread_mutex_lock(&out->lock);
    out->dropped = true;
    (void)pthread_cond_broadcast(&out->changed);
    (void)pthread_mutex_unlock(&out->lock);
}
