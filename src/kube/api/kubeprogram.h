/* kubeprogram.h - what a program of this folder is around its work: signals, the way to the API
 * server, the lease.  One thread. */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "kube/api/kubeapi.h"
#include "kube/api/kubelease.h"

struct kubeprogram {
    /* Of the caller, before the first call; borrowed. */
    const char *name;                 /* "penstock-bridge": of the lease too */
    const char *agent;                /* "penstock-bridge/1.0" */
    const char *kubeconfig, *context; /* NULL: KUBECONFIG, then what a pod has; its own context */
    const char *lease_namespace;      /* NULL: the program acts without a lease */
    /* The program may act: asks what it needs to know of the server, calls kubeprogram_again() to
     * be called again, and sets `begun` once it works. */
    void (*ask)(void *ctx);
    void *ctx;
    bool begun;
    int signals; /* -1 at first */
    /* One more server whose requests are answered before the lease is given back; NULL. */
    struct kubeserver *beside;
    unsigned qps; /* requests a second to the API server, twice as many at once; 0: 200 */
    /* Made by the calls. */
    bool ended, lost; /* lost: the exit status is 1 */
    bool hurried;     /* a second signal: nothing is waited for */
    char identity[128];
    struct kubeconfig config;
    struct kubeloop *loop;
    struct kubeserver *kube;
    struct kubelease *lease;
    struct kubetimer timer;
};

/* Find the server.  Errors: those of kubeconfig_load(), kubeconfig_in_cluster(). */
int kubeprogram_load(struct kubeprogram *p, struct err *err);
/* SIGTERM and SIGINT end the loop from here on; `ask` is called when the lease is held, or not
 * wanted.  Errors: -ENOMEM, those of signalfd(2). */
int kubeprogram_begin(struct kubeprogram *p, struct err *err);
/* Call `ask` after so long. */
void kubeprogram_again(struct kubeprogram *p, int64_t after_us);
/* End with status 1. */
void kubeprogram_fail(struct kubeprogram *p);
/* Until it ends: 0, or a negative errno of the loop. */
int kubeprogram_run(struct kubeprogram *p);
/* Drop the connections: no answer comes any more.  Then kubeprogram_end() frees the rest. */
void kubeprogram_hang_up(struct kubeprogram *p);
void kubeprogram_end(struct kubeprogram *p);
/* The life of a program: begin(), the loop, end().  A failure of begin() is logged; end() frees
 * what there is in every case.  Both get p->ctx.  The exit status.
 *
 * A clean end of the lease's holder, or of a program without a lease: bindings that wait are sent
 * and what was sent is answered, for some seconds at most.  Then the lease is given back, so that
 * the next holder begins at once.  Where that takes too long the lease runs out by itself: what was
 * sent may still be done. */
int kubeprogram_live(struct kubeprogram *p, int (*begin)(void *ctx, struct err *err),
                     void (*end)(void *ctx));
