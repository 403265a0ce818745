/* certask.h - ask the controller to have a certificate signed
 *
 * Made on the main thread with copies of all that it needs, run on a worker, read on the main
 * thread again. */
#pragma once

#include "noded/noded.h"

struct certask;

/* token NULL: the certificate of `tls` is to do.  tls (a reference is taken): what the connection
 * is made with.  -ENOMEM. */
int certask_new(const struct noded *d, struct tls_ctx *tls, const char *token, const char *csr,
                struct certask **ret);
/* Blocks.  Any one thread. */
void certask_run(struct certask *a);
/* The daemon ends: certask_run() comes back soon, without an answer.  Main thread. */
void certask_cancel(struct certask *a);
/* The answer, borrowed; NULL: err has the reason. */
const char *certask_certificate(const struct certask *a, struct err *err);
/* Was it the controller who said no, so that what was shown is not enough? */
bool certask_was_refused(const struct certask *a);
struct certask *certask_free(struct certask *a); /* always NULL */
