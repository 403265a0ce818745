/* submit.h - what sbatch, salloc and srun put into a submission alike */
#pragma once

#include <stdbool.h>

#include "cli/base/cli.h"
#include "cli/job/jobenvlist.h"
#include "cli/job/hetopts.h"
#include "cli/job/jobopts.h"
#include "cli/base/clusters.h"

/* Fill job from options and from this process: directory, submit line, umask, limits, terminal
 * session. argc and argv are the command's whole line; `first` is the first word after the options,
 * from which argv of the job is copied.  Exits with Slurm's sentence when something is wrong. */
void submit_fill(struct cli *c, const struct jobopts *jo, int argc, char **argv, int first,
                 Pst__JobRecord *job);

/* The line as typed, blanks between words.  The caller frees. */
char *submit_line(int argc, char **argv);
/* Absolute form of --chdir, or the current directory.  The caller frees. */
char *submit_work_dir(const struct jobopts *jo);
/* Limits to propagate: PropagateResourceLimits(Except) and --propagate; *ret_n of them, the caller
 * frees with submit_free_rlimits(). */
Pst__Rlimit **submit_rlimits(struct cli *c, const struct jobopts *jo, size_t *ret_n);
/* At -vv: which limits go along, and the rest that a job takes over. */
void submit_tell_limits(struct cli *c, const struct jobopts *jo);
void submit_free_rlimits(Pst__Rlimit **limits, size_t n);

/* One HetComponent for each component behind the first, its job still empty, `hold` as its
 * options say; kept until the process ends. */
Pst__HetComponent **submit_components(const struct hetopts *h, size_t *ret_n);

/* SLURM_SUBMIT_DIR, SLURM_SUBMIT_HOST, SLURM_CLUSTER_NAME, SLURM_CONF. */
void submit_env(struct cli *c, struct envlist *env);

/* --gres=help: print the names there are and end the command. */
void submit_gres_help(struct cli *c, const struct jobopts *jo);
/* Flags of --gres-flags that need a setting of the cluster: exits where it is not set. */
void submit_check_sharing(struct cli *c, const struct jobopts *jo);
/* Options that name clusters: finds them, exits when one of them cannot be asked.  The first is
 * asked from now on.  True when -M was given. */
bool submit_find_clusters(struct cli *c, const struct jobopts *jo, struct clusters *ret);
/* Of several clusters ask each when the job would start, and go on with the one where that is
 * first; exits when the job can run in none of them. */
void submit_choose_cluster(struct cli *c, const struct clusters *cl, const Pst__SubmitRequest *req);

/* Print an answer of the controller to a failed request, `WHAT: text` last. */
void submit_print_error(const char *what, struct client *client, int r);

/* What the site's filters have to say (SubmitReply.message, JobStatus.message), line by line;
 * NULL = nothing. */
void submit_print_messages(const char *lines);

/* What the text of an Error says beyond the standard text of its code, line by line. */
void submit_print_detail(int code, const char *text);
/* The same for a code and text that came in a frame. */
void submit_print_code(const char *what, int code, const char *text);

/* Copies of argv[first..] for a message. */
char **submit_argv(char **argv, int first, int argc, size_t *ret_n);

/* --uid and --gid as numbers; exits for unknown names. */
void submit_identity(const struct jobopts *jo, Pst__SubmitRequest *req);
