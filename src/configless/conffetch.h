/* conffetch.h - ask the controllers for the configuration
 *
 * Blocking, for a program that starts.  The caller proves the cluster's key (or munge, a token),
 * and so does the controller before anything is believed: bundles come over sealed connections. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "api.pb-c.h"
#include "base/err.h"
#include "configless/confserver.h"

struct conffetch {
    const struct confservers *servers;
    const char *key_file; /* of the cluster; NULL: none */
    bool use_munge;       /* when there is no key file */
    const char *jwt;      /* a command's token; NULL: none */
    const char *ca_file;  /* of the authority that the controller's certificate is of; NULL: none */
    bool encrypted;       /* the controllers have TLS; set here when one says so */
    const char *program;  /* who asks */
    bool node;            /* all that a node needs */
    int timeout_ms;       /* of each step of each attempt */
};

/* With ca_file nothing is asked for in clear.  Without it a controller that has TLS is asked again
 * with it, and known by the cluster's key alone (fetchtls.h).
 *
 * Ask each server once, in their order.  The bundle is checked.  Errors: -EACCES (also: the answer
 * cannot be trusted), -EPERM the controller refuses, -EINVAL the bundle is not sound: none of them
 * gets better by itself; others: no server can be reached now.  err names the server and the
 * reason. */
int conffetch_once(struct conffetch *f, Pst__ConfBundle **ret, struct err *err);

/* Does an error of conffetch_once() stay until somebody does something? */
bool conffetch_is_final(int r);

/* Wait for another configuration than the one with this digest, on a connection of its own, for as
 * long as f->timeout_ms; *ret is NULL when there was none.  Errors as above. */
int conffetch_next(struct conffetch *f, const ProtobufCBinaryData *have, Pst__ConfBundle **ret,
                   struct err *err);
