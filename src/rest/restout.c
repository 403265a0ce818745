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
    struct strbuf pieces[RESTOUT_PIECES]; /* a ring; what was taken keeps its memory */
    size_t first, n;                      /* those that wait */
    size_t taken;                         /* bytes of the first */
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
    for (size_t i = 0; i < RESTOUT_PIECES; i++)
        strbuf_done(&out->pieces[i]);
    free(out);
    return NULL;
}

int restout_put(struct rest_out *out, struct strbuf *sb)
{
    struct strbuf *piece, taken;
    int r = 0;

    if (sb->failed || !sb->len)
        return sb->failed ? -ENOMEM : 0;
    (void)pthread_mutex_lock(&out->lock);
    while (out->n == RESTOUT_PIECES && !out->dropped)
        (void)pthread_cond_wait(&out->changed, &out->lock);
    if (out->dropped) {
        r = -EPIPE;
        strbuf_reset(sb);
    } else {
        piece = &out->pieces[(out->first + out->n++) % RESTOUT_PIECES];
        taken = *piece;
        *piece = *sb;
        *sb = taken;
        out->put = true;
    }
    (void)pthread_cond_signal(&out->changed);
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

/* The maker leaves what waits alone, so it is copied without the lock.  Of `waiting` pieces: how
 * many bytes, and how many pieces that used up. */
static size_t copy_pieces(struct rest_out *out, char *buf, size_t size, size_t waiting,
                          size_t *ret_used)
{
    size_t n = 0, used = 0;

    while (used < waiting && n < size) {
        struct strbuf *piece = &out->pieces[(out->first + used) % RESTOUT_PIECES];
        size_t part = MIN(size - n, piece->len - out->taken);

        memcpy(buf + n, piece->buf + out->taken, part);
        n += part;
        out->taken += part;
        if (out->taken < piece->len)
            break;
        strbuf_reset(piece);
        out->taken = 0;
        used++;
    }
    *ret_used = used;
    return n;
}

ssize_t restout_take(struct rest_out *out, char *buf, size_t size)
{
    size_t waiting, used = 0, n = 0;
    int result;

    (void)pthread_mutex_lock(&out->lock);
    while (!out->n && !out->ended)
        (void)pthread_cond_wait(&out->changed, &out->lock);
    waiting = out->n;
    (void)pthread_mutex_unlock(&out->lock);
    if (waiting)
        n = copy_pieces(out, buf, size, waiting, &used);
    (void)pthread_mutex_lock(&out->lock);
    out->first = (out->first + used) % RESTOUT_PIECES;
    if (used && out->n == RESTOUT_PIECES)
        (void)pthread_cond_signal(&out->changed); /* the maker waits for room alone */
    out->n -= used;
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
