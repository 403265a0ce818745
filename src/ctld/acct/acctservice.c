/* acctservice.c - the service that keeps the accounting records: the thread that follows the
 * journal, and what asks and changes the records.  They are in a store of our own, or
 * slurmdbd's. */
#include <string.h>

#include "base/strbuf.h"
#include "ctld/acct/acctadmin.h"
#include "ctld/acct/acctfollow.h"
#include "ctld/acct/acctsync.h"
#include "ctld/acct/acctthread.h"
#include "ctld/core/service.h"

static int open_acct(struct ctld *ctld, struct err *err)
{
    const char *dir = conf_str(ctld->conf, CONF_STATE_SAVE_LOCATION);
    const char *type = conf_str(ctld->conf, CONF_ACCOUNTING_STORAGE_TYPE);
    bool slurmdbd = type && strcmp(type, "accounting_storage/slurmdbd") == 0;
    struct strbuf db = STRBUF_INIT;
    int r;

    if (type && strcmp(type, "accounting_storage/none") == 0)
        return 0;
    strbuf_addf(&db, "%s/accounting.sqlite", dir);
    r = acctthread_start(ctld, slurmdbd ? NULL : strbuf_str(&db), dir, &ctld->acct, err);
    if (r >= 0 && !slurmdbd)
        r = acctadmin_start(ctld, strbuf_str(&db), &ctld->acct_admin, err);
    else if (r >= 0)
        r = acctfollow_start(ctld, &ctld->acct_follow, err);
    strbuf_done(&db);
    if (ctld->acct_admin)
        acctadmin_reconfigured(ctld->acct_admin);
    if (r >= 0)
        acctthread_durable(ctld->acct, journal_durable(ctld->journal));
    return r;
}

static void reconfigure_acct(struct ctld *ctld)
{
    acctthread_reconfigured(ctld->acct, ctld->conf);
    if (ctld->acct_admin)
        acctadmin_reconfigured(ctld->acct_admin);
}

static void stop_acct(struct ctld *ctld)
{
    ctld->acct_admin = acctadmin_stop(ctld->acct_admin);
    ctld->acct_follow = acctfollow_stop(ctld->acct_follow);
    acctsync_end(ctld);
    ctld->acct = acctthread_stop(ctld->acct);
}

static void tell_durable(struct ctld *ctld, uint64_t lsn)
{
    if (ctld->acct)
        acctthread_durable(ctld->acct, lsn);
}

static uint64_t first_kept(struct ctld *ctld)
{
    return ctld->acct ? acctthread_cursor(ctld->acct) + 1 : UINT64_MAX;
}

const struct ctld_service acct_service = {
    .name = "acct",
    .open = open_acct,
    .reconfigured = reconfigure_acct,
    .stop = stop_acct,
    .durable = tell_durable,
    .keeps = first_kept,
};
