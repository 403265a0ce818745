/* nodecert.h - the certificate of a node, where the controller has it signed (CertmgrType)
 *
 * Scripts of the site print a token, a request and the private key; the controller answers with the
 * certificate, which is kept in SlurmdSpoolDir/cert-NAME.pem with its key, and renewed while the
 * daemon runs.  Main thread.  docs/design/0026-node-certificates.md. */
#pragma once

#include "base/process/tlsconfig.h"
#include "noded/noded.h"

struct nodecert;

/* With CertmgrType: load the certificate that is there, or wait until there is one, running the
 * loop; nothing else of the daemon may be in it yet but the signals.  Without: nothing.  Errors,
 * with a sentence: a script is not configured; -ECANCELED a signal ended the daemon. */
int nodecert_begin(struct noded *d, struct err *err);
void nodecert_close(struct nodecert *c);            /* NULL is a no-op */
struct nodecert *nodecert_free(struct nodecert *c); /* always NULL */
bool nodecert_child_exited(struct noded *d, pid_t pid, int status);
/* Is config, of conf_tls(), to be about that certificate?  Then it is.  -ENOMEM. */
int nodecert_fill(const struct noded *d, struct tls_config *config);
