/* jobsubmit.h - filters of the site that see a request before the controller checks it:
 * JobSubmitPlugins
 *
 * Filters run in the order of the list; each sees the changes of those before.  A filter can read
 * and change all that the user asked for.  Checks and limits come afterwards, so a filter cannot
 * get more for a job than the user could have asked for.  Core thread: a script has
 * JOBSUBMIT_LIMIT_US for one job. */
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
    const char *partition;     /* the default partition; NULL: there is none */
};

/* Check that every word of JobSubmitPlugins is known, and that the script loads.  0 or a negative
 * errno with a sentence. */
int jobsubmit_check(struct ctld *ctld, const struct conf *conf, struct err *err);
bool jobsubmit_any(const struct conf *conf);

/* 0, or an ESLURM code that refuses the request (its reason is in messages, or in the log). */
int jobsubmit_run(struct jobsubmit_request *r);

/* The filter `lua`: slurm_job_submit() and slurm_job_modify() of job_submit.lua beside
 * slurm.conf. */
int jobsubmit_lua(struct jobsubmit_request *r);
/* Load the script of a configuration that is not in force yet; jobsubmit_lua_load() brings it into
 * use. */
int jobsubmit_lua_check(struct ctld *ctld, const struct conf *conf, struct err *err);
/* The configuration was refused: forget its script. */
void jobsubmit_lua_drop(struct ctld *ctld);
/* Use the script that was checked from now on.  When its file changes later and the new file does
 * not load, this script stays in use. */
void jobsubmit_lua_load(struct ctld *ctld);
/* Forget the script (the configuration changed, the controller ends). */
void jobsubmit_lua_forget(struct ctld *ctld);
