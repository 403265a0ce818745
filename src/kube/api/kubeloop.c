/* kubeloop.c - see kubeloop.h */
#include "kube/api/kubeloop.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/timefmt.h"

struct watched {
    int fd;
    void (*fn)(void *ctx);
    void *ctx;
};

struct kubeloop {
    CURLM *multi;
    struct kubetimer *timers; /* few: their order does not matter */
    struct watched fds[KUBELOOP_FDS];
    unsigned n_fds;
    enum kubeloop_phase phase;
};

int kubeloop_new(struct kubeloop **ret)
{
    struct kubeloop *l = calloc(1, sizeof(*l));

    if (!l)
        return -ENOMEM;
    l->multi = curl_multi_init();
    if (!l->multi) {
        free(l);
        return -ENOMEM;
    }
    (void)curl_multi_setopt(l->multi, CURLMOPT_PIPELINING, CURLPIPE_MULTIPLEX);
    *ret = l;
    return 0;
}

struct kubeloop *kubeloop_free(struct kubeloop *l)
{
    if (!l)
        return NULL;
    (void)curl_multi_cleanup(l->multi); /* nothing is in it */
    free(l);
    return NULL;
}

void kubeloop_set_phase(struct kubeloop *l, enum kubeloop_phase phase)
{
    l->phase = phase;
}

enum kubeloop_phase kubeloop_phase(const struct kubeloop *l)
{
    return l->phase;
}

void kubeloop_disarm(struct kubeloop *l, struct kubetimer *t)
{
    if (!t->armed)
        return;
    for (struct kubetimer **at = &l->timers; *at; at = &(*at)->next)
        if (*at == t) {
            *at = t->next;
            break;
        }
    t->armed = false;
}

void kubeloop_arm(struct kubeloop *l, struct kubetimer *t, int64_t due_mono_us)
{
    t->due_mono_us = due_mono_us;
    if (t->armed)
        return;
    t->armed = true;
    t->next = l->timers;
    l->timers = t;
}

int kubeloop_watch_fd(struct kubeloop *l, int fd, void (*fn)(void *ctx), void *ctx)
{
    if (l->n_fds == KUBELOOP_FDS)
        return -ENOSPC;
    l->fds[l->n_fds++] = (struct watched){ fd, fn, ctx };
    return 0;
}

int kubeloop_add(struct kubeloop *l, CURL *easy, struct kubeloop_transfer *t)
{
    (void)curl_easy_setopt(easy, CURLOPT_PRIVATE, t);
    return curl_multi_add_handle(l->multi, easy) == CURLM_OK ? 0 : -ENOMEM;
}

void kubeloop_remove(struct kubeloop *l, CURL *easy)
{
    (void)curl_multi_remove_handle(l->multi, easy); /* it is there, or was never */
}

static void end_transfers(struct kubeloop *l)
{
    int left;
    CURLMsg *m;

    while ((m = curl_multi_info_read(l->multi, &left))) {
        CURL *easy = m->easy_handle;
        CURLcode result = m->data.result;
        struct kubeloop_transfer *t = NULL;

        if (m->msg != CURLMSG_DONE)
            continue;
        (void)curl_easy_getinfo(easy, CURLINFO_PRIVATE, (char **)&t);
        (void)curl_multi_remove_handle(l->multi, easy);
        t->end(t->ctx, result);
    }
}

/* One timer that is due; false: none. */
static bool run_timer(struct kubeloop *l, int64_t now)
{
    for (struct kubetimer *t = l->timers; t; t = t->next)
        if (t->due_mono_us <= now) {
            kubeloop_disarm(l, t);
            t->fn(t->ctx);
            return true;
        }
    return false;
}

static int wait_ms(const struct kubeloop *l, int max_ms)
{
    int64_t now = now_mono_us(), wait_us = (int64_t)max_ms * 1000;

    for (const struct kubetimer *t = l->timers; t; t = t->next)
        wait_us = MIN(wait_us, t->due_mono_us - now);
    return wait_us <= 0 ? 0 : (int)((wait_us + 999) / 1000);
}

int kubeloop_turn(struct kubeloop *l, int max_ms)
{
    struct curl_waitfd extra[KUBELOOP_FDS] = { 0 };
    int64_t now;
    int running;

    for (unsigned i = 0; i < l->n_fds; i++)
        extra[i] = (struct curl_waitfd){ .fd = l->fds[i].fd, .events = CURL_WAIT_POLLIN };
    if (l->phase == KUBELOOP_ENDED)
        return 0;
    if (curl_multi_poll(l->multi, extra, l->n_fds, wait_ms(l, max_ms), NULL) != CURLM_OK)
        return -EIO;
    now = now_mono_us(); /* a timer that arms itself for now waits for the next turn */
    while (l->phase != KUBELOOP_ENDED && run_timer(l, now))
        continue;
    if (l->phase == KUBELOOP_ENDED)
        return 0;
    if (curl_multi_perform(l->multi, &running) != CURLM_OK)
        return -EIO;
    end_transfers(l);
    for (unsigned i = 0; i < l->n_fds; i++)
        if (extra[i].revents)
            l->fds[i].fn(l->fds[i].ctx);
    return 0;
}
