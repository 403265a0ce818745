/* tgopts.h - the command line of `penstock topograph`, as a request and how to serve it
 *
 * Internal to the command; one thread. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#define TGOPTS_LISTEN "127.0.0.1:49021"

struct tgopts {
    bool serve; /* else: generate */
    /* A request (tgrequest.h) of the options that make one; owned by the caller. */
    json_t *request;
    const char *output;
    bool apply, watch;
    uint64_t every_s; /* of watch */
    /* serve */
    const char *config, *listen, *data;
    uint64_t delay_s;
    bool has_delay;
};

/* Gives STATUS_OK, STATUS_USAGE, or -1 when help was printed. */
int tgopts_parse(int argc, char **argv, struct tgopts *ret);
