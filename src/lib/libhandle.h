/* libhandle.h - what the files of libpenstock share: the handle, errors, connections */
#pragma once

#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>
#include <stdint.h>

#include "api.pb-c.h"
#include "base/err.h"
#include "base/strbuf.h"
#include "conf/conf.h"
#include "lib/libpenstock.h"
#include "wire/client.h"

struct penstock {
    char *conf_path, *token, *user, *program; /* NULL: not set */
    int timeout_ms;                           /* 0: MessageTimeout */
    struct conf *conf;                        /* NULL: not read yet */
    struct tls_ctx *tls;                      /* of TLSType; NULL: none, or not needed yet */
    struct client *idle; /* a connection without a request under way; NULL: none */
    int code;
    struct err err;
    Pst__JobActionReply *results; /* of the last change of jobs; NULL: none */
};

/* Keep the error and give r back.  code: Slurm's number, 0 = none. */
int lib_fail(struct penstock *p, int r, int code, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
int lib_nomem(struct penstock *p);
/* A call on a connection failed with r: its sentence; gives r, -ECONNRESET for a lost
 * connection. */
int lib_fail_client(struct penstock *p, struct client *c, int r);
/* An Error frame: -EREMOTEIO. */
int lib_fail_frame(struct penstock *p, const struct frame *frame);

/* slurm.conf, read once. */
int lib_conf(struct penstock *p, const struct conf **ret);
/* When a call that begins now must be over, in CLOCK_MONOTONIC. */
int lib_deadline(struct penstock *p, int64_t *ret_mono_us);
int lib_timeout_ms(struct penstock *p);

/* The idle connection or a new one, tried again while the controller may come back.  once: one
 * try. */
int lib_take_client(struct penstock *p, bool once, struct client **ret);
/* Done with it: it is kept for the next call when it can be, else closed. */
void lib_give_client(struct penstock *p, struct client *c);

/* One request and its answer.  again: asking twice does what asking once does, so the request is
 * repeated when the connection is lost; *ret_again (may be NULL) tells that it was. */
int lib_call(struct penstock *p, unsigned op, const ProtobufCMessage *request, bool again,
             ProtobufCMessage **ret_reply, bool *ret_again);
/* Does this error number say that asking again later is right? */
bool lib_code_is_passing(int code);
