/* kubeloop.h - one thread's loop: transfers of libcurl, timers, descriptors
 *
 * Callbacks run inside kubeloop_turn() and never inside another call of this header.  They may arm
 * timers and start transfers. */
#pragma once

#include <curl/curl.h>
#include <stdbool.h>
#include <stdint.h>

struct kubeloop;

/* Part of its owner, zero at first; disarmed before its owner goes. */
struct kubetimer {
    struct kubetimer *next;
    bool armed;
    int64_t due_mono_us;
    void (*fn)(void *ctx);
    void *ctx;
};

/* A transfer has ended. */
typedef void kubeloop_end_fn(void *ctx, CURLcode result);

/* -ENOMEM. */
int kubeloop_new(struct kubeloop **ret);
/* All timers are disarmed and all transfers taken out before.  Always NULL. */
struct kubeloop *kubeloop_free(struct kubeloop *l);

/* Call t->fn once at due_mono_us; an armed timer is moved. */
void kubeloop_arm(struct kubeloop *l, struct kubetimer *t, int64_t due_mono_us);
void kubeloop_disarm(struct kubeloop *l, struct kubetimer *t);
/* Call fn while fd is readable.  -ENOSPC: there are KUBELOOP_FDS already. */
#define KUBELOOP_FDS 4u
int kubeloop_watch_fd(struct kubeloop *l, int fd, void (*fn)(void *ctx), void *ctx);
/* Begin a transfer; end is called when it is over, unless it is removed before.  -ENOMEM. */
struct kubeloop_transfer {
    kubeloop_end_fn *end;
    void *ctx;
};
int kubeloop_add(struct kubeloop *l, CURL *easy, struct kubeloop_transfer *t);
void kubeloop_remove(struct kubeloop *l, CURL *easy);
/* Wait for what comes next, max_ms at most, and do it.  Errors: -EIO. */
int kubeloop_turn(struct kubeloop *l, int max_ms);

/* The way to the end.  Timers come before transfers in a turn: who ends the loop in a timer, as
 * after a pause of the whole process, has nothing sent any more. */
enum kubeloop_phase {
    KUBELOOP_OPEN,
    KUBELOOP_FINISHING, /* what has been begun is finished: see kubecall.h */
    KUBELOOP_CLOSED,    /* nothing but the lease */
    KUBELOOP_ENDED,     /* turns do nothing */
};
void kubeloop_set_phase(struct kubeloop *l, enum kubeloop_phase phase);
enum kubeloop_phase kubeloop_phase(const struct kubeloop *l);
