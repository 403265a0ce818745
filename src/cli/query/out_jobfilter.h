/* out_jobfilter.h - which jobs are meant: the filter of sacct, scancel and squeue
 *
 * The options of these commands go into one struct jobfilter.  The part that the controller or the
 * accounting store applies is a request; jobfilter_match() applies the rest to each record that
 * comes back.  For commands only: out of memory exits. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api.pb-c.h"
#include "cli/base/opts.h"
#include "cli/query/out_filter.h"
#include "cli/query/out_job.h"

struct jobfilter_range {
    bool set;
    bool has_most; /* of limits: without it there is one value, `least` */
    uint64_t least, most;
};

struct jobfilter {
    Pst__JobFilter request; /* what the controller applies; the lists are owned */
    struct filter_ids ids;  /* jobs, tasks and steps */
    struct filter_states states;
    bool have_states;
    bool given; /* an option that narrows the list down was there, even an empty one */
    bool me, notme;
    uint32_t uid; /* of the caller: see jobfilter_init() */
    const char *licenses, *wckeys, *constraints, *reasons, *groups; /* lists; NULL = any */
    struct jobfilter_range nodes, cpus, limit;                      /* limit: minutes */
    bool have_over, have_under;                                     /* run time in seconds */
    uint32_t over_s, under_s;
    void (*bad_user)(const char *word); /* says that a user is unknown; may end the process */
};

/* Option rows of a member `f` of the settings. */
#define JOBFILTER_ACCOUNTS(f)                                                                      \
    OPT_WORDS(f.request.accounts, f.request.n_accounts), OPT_GIVEN(f.given)
#define JOBFILTER_NAMES(f) OPT_WORDS(f.request.names, f.request.n_names), OPT_GIVEN(f.given)
#define JOBFILTER_PARTITIONS(f)                                                                    \
    OPT_WORDS(f.request.partitions, f.request.n_partitions), OPT_GIVEN(f.given)
#define JOBFILTER_QOS(f) OPT_WORDS(f.request.qos, f.request.n_qos), OPT_GIVEN(f.given)
#define JOBFILTER_RESERVATIONS(f)                                                                  \
    OPT_WORDS(f.request.reservations, f.request.n_reservations), OPT_GIVEN(f.given)
#define JOBFILTER_NODES(f) OPT_COPY(f.request.nodes), OPT_GIVEN(f.given)
#define JOBFILTER_USERS(f) OPT_TAKE(f, jobfilter_take_users), OPT_GIVEN(f.given)
#define JOBFILTER_ME(f) OPT_TAKE(f, jobfilter_take_me), OPT_GIVEN(f.given)
#define JOBFILTER_NOTME(f) OPT_FLAG(f.notme), OPT_GIVEN(f.given)
#define JOBFILTER_WCKEYS(f) OPT_TEXT(f.wckeys), OPT_GIVEN(f.given)
#define JOBFILTER_LICENSES(f) OPT_TEXT(f.licenses), OPT_GIVEN(f.given)

/* Names or numbers, added to those there are.  Of --user and --me the last counts. */
opt_take_fn jobfilter_take_users, jobfilter_take_me;
/* A struct jobfilter_range: --nnodes=2-4. */
opt_take_fn jobfilter_take_range;
/* The same: a time as its greatest or least value in minutes. */
opt_take_fn jobfilter_take_most_time, jobfilter_take_least_time;
/* Seconds; a number on its own counts minutes. */
opt_take_fn jobfilter_take_run_time;

void jobfilter_init(struct jobfilter *f, void (*bad_user)(const char *word));
void jobfilter_done(struct jobfilter *f);

/* Complete the request, each once, when the options are read: from me, from the ids, from the base
 * states (the caller knows whether these can be asked for). */
void jobfilter_ask_me(struct jobfilter *f);
void jobfilter_ask_ids(struct jobfilter *f);
void jobfilter_ask_states(struct jobfilter *f);
/* Of accounting: does it ask for records that are not the last of their job? */
bool jobfilter_wants_earlier(const struct jobfilter *f);
/* The same request for the accounting store.  The lists stay f's: jobfilter_return() before
 * ret is freed. */
void jobfilter_lend(const struct jobfilter *f, Pst__AcctFilter *ret);
void jobfilter_return(Pst__AcctFilter *lent);

/* Does what the request cannot say let the job through?  Ids and states are not looked at. */
bool jobfilter_match(const struct jobfilter *f, const struct job_row *r);
bool jobfilter_match_state(const struct jobfilter *f, const Pst__JobRecord *j);
