/* jobsubmit.h - what the site says to a request before the controller looks at it: JobSubmitPlugins
 *
 * Filters run in the order of the list, each on what the one before left.  They see and change the
 * job as it was asked for; checks and limits come afterwards, so that a filter can do nothing that
 * the user could not have asked for himself.  Core thread: a script has JOBSUBMIT_LIMIT_US for one
 * job. */
#pragma once

#include "base/timefmt.h"
#include "ctld/ctld.h"

#define JOBSUBMIT_LIMIT_US (2 * USEC_PER_SEC)

/* A request while filters look at it. */
struct jobsubmit_request {
    struct ctld *ctld;
    const struct cmd *cmd;
    Pst__SubmitRequest *req;   /* NULL: a change of `job` */
    Pst__JobRecord *desc;      /* what is asked for */
    const Pst__JobRecord *job; /* the job that is changed, or NULL */
    bool *hold;                /* submissions */
    struct strbuf *messages;   /* for the user, lines */
    const char *partition;     /* that a job without one goes to; NULL = none */
};

/* Is every word of JobSubmitPlugins one that is known here, and does the script load?  A negative
 * errno with the sentence when not. */
int jobsubmit_check(struct ctld *ctld, const struct conf *conf, struct err *err);
bool jobsubmit_any(const struct conf *conf);

/* 0, or an ESLURM code that refuses the request (its reason is in messages, or in the log). */
int jobsubmit_run(struct jobsubmit_request *r);

/* The filter `lua`: slurm_job_submit() and slurm_job_modify() of job_submit.lua beside
 * slurm.conf. */
int jobsubmit_lua(struct jobsubmit_request *r);
/* Load the script of a configuration that may come; jobsubmit_lua_load() takes it into use. */
int jobsubmit_lua_check(struct ctld *ctld, const struct conf *conf, struct err *err);
/* Forget a script that was checked: its configuration was refused. */
void jobsubmit_lua_drop(struct ctld *ctld);
/* The script that was checked is in use from now on.  It goes on when a later change of its file
 * does not load. */
void jobsubmit_lua_load(struct ctld *ctld);
/* Forget the script (the configuration changed, the controller ends). */
void jobsubmit_lua_forget(struct ctld *ctld);
