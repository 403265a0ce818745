/* tgserve.h - the HTTP service
 *
 * | POST /v1/generate        | 202 and the request's id; 400 what is wrong with it |
 * | GET /v1/topology?uid=ID  | 200 and the result; 202 not yet; 404; or the failure of the run |
 * | POST /v1/lookup          | the same for the id that this body would have |
 * | GET /healthz, /metrics   | |
 *
 * Nobody is asked who he is, as the interface has it: keep it on loopback, or behind something that
 * asks.  Pages of other sites (Origin) are refused all the same.  One thread answers, one makes
 * topologies.
 *
 * Limits: 64 connections, 8 MiB of a body and 64 MiB of all together, tgqueue.h. */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "topograph/run/tgrun.h"

#define TGSERVE_BODY_MAX (8u << 20)

struct tgserve_config {
    int fd; /* listens; taken */
    int64_t delay_us;
    const json_t *defaults;             /* a request, as tgrequest_parse() has it; borrowed */
    struct tgrequest_stranger stranger; /* borrowed */
    struct tgrun_io io;                 /* called on the thread that makes topologies */
    /* Told of each run that succeeded, there too; what it gives back is the result in place of
     * run->text when it is not NULL.  0, or the status of a failure with err. */
    unsigned (*deliver)(void *ctx, const struct tgrequest *q, const struct tgrun *run,
                        const char **ret_text, struct err *err);
    void *ctx;
    const char *version;
};

struct tgserve;

/* Start both threads.  Errors: -ENOMEM, -EAGAIN no thread. */
int tgserve_new(const struct tgserve_config *config, struct tgserve **ret_serve, struct err *err);
/* Ends connections, and waits for a run that is under way. */
struct tgserve *tgserve_free(struct tgserve *s);
