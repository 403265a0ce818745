/* past.c - slurmctld --past: the cluster as it was at a record of a log; see past.h */
#include "ctld/ha/past.h"

#include <errno.h>
#include <unistd.h>

#include "base/pb/pbutil.h"
#include "base/timefmt.h"
#include "ctld/ha/follow.h"
#include "ctld/ha/reading.h"

#define LOOK_US USEC_PER_SEC

int past_load(struct ctld *ctld, const char *state, uint64_t lsn, struct err *err)
{
    struct follow *f = NULL;
    int r = follow_new(state, &f);

    if (r < 0)
        return err_nomem(err);
    r = follow_read(f, &ctld->cluster, lsn, err);
    if (r == 0 && follow_applied(f) != lsn)
        r = err_set(err, -ENOENT, "%s: the log ends at record %llu, not at %llu", state,
                    (unsigned long long)follow_applied(f), (unsigned long long)lsn);
    (void)follow_free(f); /* always NULL */
    if (r < 0)
        return r;
    ctld->boot_us = ctld->past_us;
    atomic_store(&ctld->standby, true);
    reading_show(ctld);
    reading_moved(ctld, lsn);
    return 0;
}

void past_serve(struct ctld *ctld)
{
    pid_t parent = getppid(); /* whose end is ours: it may be killed */

    while (reading_serve(ctld, now_mono_us() + LOOK_US) && getppid() == parent)
        ;
    reading_end(ctld);
}

void past_answer(struct ctld *ctld, struct conn *c, const struct frame *frame)
{
    Pst__PingReply r = PST__PING_REPLY__INIT;

    if (frame->op != OP_PING) {
        (void)conn_error(c, frame->op, frame->id, ESLURM_NOT_SUPPORTED,
                         "this shows the cluster as it was: nothing can be changed or computed");
        return;
    }
    r.host = ctld->host;
    r.mode = (char *)"primary"; /* not changed by packing */
    SET(&r, now_us, ctld->past_us);
    SET(&r, boot_us, ctld->boot_us);
    SET(&r, pid, (uint32_t)getpid());
    SET(&r, lsn, ctld->applied_lsn);
    (void)conn_reply(c, frame->op, frame->id, 0, &r.base);
}
