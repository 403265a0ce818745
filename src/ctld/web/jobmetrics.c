/* jobmetrics.c - the pages of jobs: of the cluster, of users and accounts; from a view */
#include "ctld/web/jobmetrics.h"

#include "ctld/front/view.h"
#include "ctld/web/tallies.h"

void jobmetrics_each(const struct view *view, jobmetrics_fn *fn, void *ctx)
{
    const struct vrec *r;
    size_t pos = 0;

    while ((r = view_next(&view->tables[VIEW_JOBS], &pos))) {
        Pst__JobRecord *job = pst__job_record__unpack(NULL, r->len, r->data);
        struct job_tally one;

        if (!job)
            continue; /* out of memory: the page misses a job */
        metrictally_job(job, &one);
        fn(ctx, job, &one);
        pst__job_record__free_unpacked(job, NULL);
    }
}

static void add_to(struct tallies *t, const char *name, const struct job_tally *one)
{
    struct tally_row *row = name && name[0] ? tallies_row(t, name) : NULL;

    if (row)
        metrictally_add(&row->jobs, one);
}

static void count_job(void *ctx, const Pst__JobRecord *job, const struct job_tally *one)
{
    (void)job;
    add_to(ctx, "all", one);
}

void jobmetrics_cluster(const struct view *view, struct strbuf *sb)
{
    struct tallies all = { 0 };

    (void)tallies_row(&all, "all"); /* without a job every count is 0 */
    jobmetrics_each(view, count_job, &all);
    tallies_write_jobs(&all, TALLY_TOTAL, "slurm_jobs", NULL, sb);
    tallies_done(&all);
}

struct who {
    struct tallies users, accounts;
};

static void count_who(void *ctx, const Pst__JobRecord *job, const struct job_tally *one)
{
    struct who *who = ctx;

    add_to(&who->users, job->user_name, one);
    add_to(&who->accounts, job->account, one);
}

void jobmetrics_who(const struct view *view, struct strbuf *sb)
{
    struct who who = { 0 };

    jobmetrics_each(view, count_who, &who);
    tallies_write_jobs(&who.users, TALLY_TOTAL, "slurm_user_jobs", "username", sb);
    tallies_write_jobs(&who.accounts, TALLY_TOTAL, "slurm_account_jobs", "account", sb);
    tallies_done(&who.users);
    tallies_done(&who.accounts);
}
