/* fetchtls.h - how a host without a configuration encrypts its first connection (private to
 * configless/)
 *
 * With an authority's certificate that somebody handed over, the controller must show one of that
 * authority.  Without it any will do to begin with: who the controller is says the proof of the
 * cluster's key, which is bound to the connection.  That is all that tls/auto promises; a
 * configuration that names an authority is not taken over such a connection. */
#pragma once

#include "api.pb-c.h"
#include "base/err.h"
#include "wire/tls/tlsctx.h"

/* ca_file NULL: any certificate.  Errors: those of tls_ctx_new(). */
int fetchtls_new(const char *ca_file, struct tls_ctx **ret_ctx, struct err *err);
/* May a bundle that came without an authority be taken?  -EPERM: it names one. */
int fetchtls_judge(const Pst__ConfBundle *b, struct err *err);
