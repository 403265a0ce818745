/* fedleave.c - leaving the federation by itself; see fedleave.h
 *
 * What was asked is not kept: state and jobs say anew each second whether to ask.  A job that comes
 * while slurmdbd is being asked becomes an ordinary one, since nobody else was let start it. */
#include "ctld/fed/fedleave.h"

#include "ctld/acct/acctfollow.h"
#include "ctld/core/service.h"

#define ASK_US (10 * USEC_PER_SEC)  /* between two requests */
#define NEAR_US (20 * USEC_PER_SEC) /* so long a request may be on its way */

static bool is_over(const struct job *j)
{
    return !j || !fed_is_job(j->rec) || job_is_ended(j->rec);
}

static bool has_told(const struct fed *f, const struct fedset *all)
{
    if (f->changed.count || f->orphans.count || f->later.count)
        return false;
    for (uint32_t i = 1; i <= FED_CLUSTERS_MAX; i++)
        if (all->of[i] && i != all->self && (f->peers[i].todo.count || f->peers[i].asked.count))
            return false;
    return true;
}

/* The walk is done once for each job that is in the way, not each second. */
bool fedleave_is_empty(struct fed *f, const struct fedset *all)
{
    const struct job *j;

    if (!has_told(f, all) || !is_over(cluster_job(f->ctld->cluster, f->leave_waits)))
        return false;
    for (size_t pos = 0; (j = cluster_next_job(f->ctld->cluster, &pos));)
        if (!is_over(j)) {
            f->leave_waits = j->rec->job_id;
            return false;
        }
    return true;
}

void fedleave_tick(struct fed *f, int64_t now_us)
{
    const struct fedset *all = fed_members(f);
    const struct ctld *ctld = f->ctld;
    bool leaves = all && all->of[all->self]->fed_state & FED_STATE_REMOVE;

    if (!ctld->acct_follow)
        return; /* without slurmdbd it is alone */
    if (!leaves || !fedleave_is_empty(f, all)) {
        acctfollow_stay(ctld->acct_follow);
    } else if (!f->leave_us || now_us - f->leave_us >= ASK_US) {
        f->leave_us = now_us;
        acctfollow_leave(ctld->acct_follow, all->name);
    }
}

bool fedleave_is_near(const struct fed *f)
{
    return f->leave_us && core_now() - f->leave_us < NEAR_US;
}
