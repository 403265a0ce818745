/* out_jobfilter.c - options that choose jobs, as a request and as a test of records; see
 * out_jobfilter.h. */
#include "cli/query/out_jobfilter.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/timefmt.h"
#include "base/wordlist.h"
#include "cli/base/cli.h"
#include "cli/query/out_users.h"
#include "model/words/names.h"

/* ---- options --------------------------------------------------------------------------------- */

int jobfilter_take_users(void *at, const struct opt *opt, const char *arg, struct err *err)
{
    struct jobfilter *f = at;

    (void)opt, (void)err;
    f->me = false;
    filter_add_users(&f->request.uids, &f->request.n_uids, arg, f->bad_user);
    return 0;
}

int jobfilter_take_me(void *at, const struct opt *opt, const char *arg, struct err *err)
{
    struct jobfilter *f = at;

    (void)opt, (void)arg, (void)err;
    f->me = true;
    f->request.n_uids = 0;
    return 0;
}

int jobfilter_take_range(void *at, const struct opt *opt, const char *arg, struct err *err)
{
    struct jobfilter_range *ret = at;
    const char *dash = strchr(arg, '-');
    _cleanup_free_ char *least =
        xasprintf_or_die("%.*s", (int)(dash ? dash - arg : (long)strlen(arg)), arg);
    int r;

    if (!*arg)
        return 0; /* no condition */
    r = parse_u64(least, 0, UINT32_MAX, &ret->least);
    ret->most = ret->least;
    if (r == 0 && dash)
        r = parse_u64(dash + 1, ret->least, UINT32_MAX, &ret->most);
    if (r < 0)
        return err_set(err, CLI_EXIT_FAILED,
                       "Invalid numeric value \"%.200s\" for requested %s range.", arg,
                       strcmp(opt->name, "ncpus") == 0 ? "cpu" : "node");
    ret->set = true;
    return 0;
}

static int take_time_limit(struct jobfilter_range *range, const char *arg, bool least)
{
    uint32_t minutes;

    if (time_limit_parse(arg, &minutes, NULL) < 0)
        cli_fatal("Invalid time limit specification");
    range->set = true;
    if (least) {
        range->least = minutes;
    } else {
        range->has_most = true;
        range->most = minutes;
    }
    if (!range->has_most)
        range->most = range->least;
    return 0;
}

int jobfilter_take_most_time(void *at, const struct opt *opt, const char *arg, struct err *err)
{
    (void)opt, (void)err;
    return take_time_limit(at, arg, false);
}

int jobfilter_take_least_time(void *at, const struct opt *opt, const char *arg, struct err *err)
{
    (void)opt, (void)err;
    return take_time_limit(at, arg, true);
}

int jobfilter_take_run_time(void *at, const struct opt *opt, const char *arg, struct err *err)
{
    uint32_t seconds;

    if (time_secs_parse(arg, &seconds, NULL) < 0)
        return err_set(err, CLI_EXIT_FAILED, "--%s=%s", opt->name, arg);
    if (arg[strspn(arg, "0123456789")] == '\0')
        seconds = seconds < UINT32_MAX / 60 ? seconds * 60 : UINT32_MAX;
    *(uint32_t *)at = seconds;
    return 0;
}

/* ---- the request ----------------------------------------------------------------------------- */

void jobfilter_init(struct jobfilter *f, void (*bad_user)(const char *word))
{
    *f = (struct jobfilter){ .request = PST__JOB_FILTER__INIT,
                             .uid = getuid(),
                             .bad_user = bad_user };
}

void jobfilter_done(struct jobfilter *f)
{
    filter_done(&f->request);
    filter_ids_done(&f->ids);
}

void jobfilter_ask_me(struct jobfilter *f)
{
    if (f->me)
        filter_add_number(&f->request.uids, &f->request.n_uids, f->uid);
}

void jobfilter_ask_ids(struct jobfilter *f)
{
    filter_ids_numbers(&f->ids, &f->request.job_ids, &f->request.n_job_ids);
}

void jobfilter_ask_states(struct jobfilter *f)
{
    for (uint32_t i = 0; i < NAMES_JOB_STATES; i++)
        if (f->states.base & (1u << i))
            filter_add_number(&f->request.states, &f->request.n_states, i);
}

bool jobfilter_wants_earlier(const struct jobfilter *f)
{
    return f->states.flags &
           (1u << PST__JOB_FLAG__JOB_FLAG_REQUEUED | 1u << PST__JOB_FLAG__JOB_FLAG_RESIZING);
}

/* The lists that both kinds of request have. */
#define COMMON_LISTS(X) X(job_ids) X(uids) X(states) X(partitions) X(names) X(accounts) X(qos)

void jobfilter_lend(const struct jobfilter *f, Pst__AcctFilter *ret)
{
#define LEND(list) ret->list = f->request.list, ret->n_##list = f->request.n_##list;
    COMMON_LISTS(LEND)
#undef LEND
    ret->nodes = f->request.nodes;
}

void jobfilter_return(Pst__AcctFilter *lent)
{
#define RETURN(list) lent->list = NULL, lent->n_##list = 0;
    COMMON_LISTS(RETURN)
#undef RETURN
    lent->nodes = NULL;
}

/* ---- records --------------------------------------------------------------------------------- */

static bool in_range(const struct jobfilter_range *r, uint64_t n)
{
    return !r->set || (n >= r->least && n <= r->most);
}

/* --licenses: one of the names that the job asks for, counts aside ("fluent:2|matlab"). */
static bool asks_license(const char *asked, const char *wanted)
{
    for (const char *p = asked; p && *p;) {
        size_t len = strcspn(p, ",|"), name = strcspn(p, ":@,|");

        if (wordlist_has_n(wanted, p, name))
            return true;
        p += len + (p[len] != '\0');
    }
    return false;
}

static bool group_wanted(const char *groups, uint32_t gid)
{
    char number[16];

    (void)snprintf(number, sizeof(number), "%u", gid); /* fits */
    return wordlist_has(groups, number) || wordlist_has(groups, group_name_of(gid));
}

static bool run_time_wanted(const struct jobfilter *f, const struct job_row *r)
{
    int64_t used = job_elapsed_s(r);

    return !job_is_pending(r) && (!f->have_over || used > f->over_s) &&
           (!f->have_under || used < f->under_s);
}

static bool texts_wanted(const struct jobfilter *f, const Pst__JobRecord *j)
{
    if (f->constraints && !(j->features && wordlist_has(f->constraints, j->features)))
        return false;
    if (f->wckeys && !(j->wckey && wordlist_has(f->wckeys, j->wckey)))
        return false;
    if (f->reasons && !wordlist_has(f->reasons, names_reason((unsigned)j->reason)))
        return false;
    if (f->licenses && !asks_license(j->licenses, f->licenses))
        return false;
    return !f->groups || group_wanted(f->groups, j->gid);
}

bool jobfilter_match(const struct jobfilter *f, const struct job_row *r)
{
    const Pst__JobRecord *j = r->job;

    if (f->notme && j->uid == f->uid)
        return false;
    if ((f->nodes.set && !in_range(&f->nodes, job_nodes(j))) ||
        (f->cpus.set && !in_range(&f->cpus, job_cpus(j))))
        return false;
    if (f->limit.set && !in_range(&f->limit, j->time_unlimited ? UINT32_MAX : j->time_limit_min))
        return false;
    if (!texts_wanted(f, j))
        return false;
    return !(f->have_over || f->have_under) || run_time_wanted(f, r);
}

bool jobfilter_match_state(const struct jobfilter *f, const Pst__JobRecord *j)
{
    /* Held by its exit or a command it is not what waits as pending. */
    static const uint32_t held =
        1u << PST__JOB_FLAG__JOB_FLAG_REQUEUE_HOLD | 1u << PST__JOB_FLAG__JOB_FLAG_SPECIAL_EXIT;

    if (f->have_states && !f->states.all && j->state == PST__JOB_STATE__JOB_PENDING &&
        (j->state_flags & held))
        return (f->states.flags & j->state_flags) != 0;
    return filter_state_match(&f->states, (unsigned)j->state, j->state_flags);
}
