/* acctadmin.h - accounting entities in a controller that keeps the store itself
 *
 * Requests are carried out by a thread of their own (acct/admin/adminserve.h); what they changed
 * comes to the core, is put into the log, and the answer leaves when that is durable. */
#pragma once

#include <stdint.h>

#include "base/err.h"
#include "wire/frame.h"

#include "assoc.pb-c.h"

struct acctadmin;
struct conn;
struct ctld;

/* What this cluster tells the store of itself; names are borrowed from the configuration. */
struct acctadmin_self {
    Pst__AcctClusterRecord cluster;
    char *host, *addrs, **tres;
    size_t n_tres;
};
int acctadmin_describe(struct ctld *ctld,
                       struct acctadmin_self *ret); /* -ENOMEM; done() either way */
void acctadmin_self_done(struct acctadmin_self *self);

/* Uses ctld's cluster and conf in this call only. */
int acctadmin_start(struct ctld *ctld, const char *location, struct acctadmin **ret,
                    struct err *err);
void acctadmin_reconfigured(struct acctadmin *a); /* PrivateData is another */
/* OP_ACCT_ADMIN and OP_ACCT_LIST.  Any thread. */
void acctadmin_request(struct acctadmin *a, struct conn *conn, const struct frame *frame);
struct acctadmin *acctadmin_stop(struct acctadmin *a); /* the core runs no more; always NULL */
