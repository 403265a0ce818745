/* libpenstock.h - submit, query, watch and change jobs of a Slurm-compatible cluster; installed as
 * penstock.h
 *
 * Everything is a call: there are no structures whose layout a later release could change, and a
 * symbol that is here stays.  Link with `pkg-config --libs penstock`.
 *
 * Results: 0 (or what the call says) and negative errno values.  After an error of a call that was
 * given a handle, penstock_error() has one sentence for a person and penstock_code() Slurm's number
 * of the error, when the controller gave one (then the call gave -EREMOTEIO).
 *
 *   -ECONNREFUSED, -EHOSTUNREACH, -ETIMEDOUT   the controller cannot be reached
 *   -ECONNRESET   the connection was lost and it is not known whether the request was done
 *   -EACCES       who we are is not believed
 *   -EREMOTEIO    the controller refuses the request
 *   -EINVAL       an argument means nothing; -ENOENT: a name is unknown
 *   -ENOMEM
 *
 * Threads: a handle, and all that was made with it, belong to one thread at a time.  Different
 * handles may be used by different threads at the same time.  A child after fork() makes a handle
 * of its own.
 *
 * Texts are UTF-8 and NUL-terminated.  Those given to a call are copied; those that a call gives
 * are borrowed until the next call with the same object, unless it says otherwise.  Texts of jobs
 * are as their users wrote them: they may hold control characters. */
#ifndef PENSTOCK_H
#define PENSTOCK_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct penstock penstock;               /* a cluster, and who we are there */
typedef struct penstock_job penstock_job;       /* a job to be submitted */
typedef struct penstock_query penstock_query;   /* a list that is being read */
typedef struct penstock_row penstock_row;       /* one record of a list or change */
typedef struct penstock_watch penstock_watch;   /* a stream of changes */
typedef struct penstock_change penstock_change; /* one change */

/* "0.1.0" */
const char *penstock_version(void);
/* Slurm's text for one of its error numbers. */
const char *penstock_code_text(int code);

/* ---- the handle ------------------------------------------------------------------------------ */

/* Does not connect.  NULL: out of memory. */
penstock *penstock_new(void);
/* What was made with it is freed before.  NULL is nothing. */
void penstock_free(penstock *p);
/* Before the first other call:
 *   conf      path of slurm.conf; without it SLURM_CONF, then the built-in path
 *   token     a JSON Web Token; without it SLURM_JWT; "" = none
 *   user      act for this user (root and SlurmUser only)
 *   timeout   seconds that a call may take altogether, the controller's restart among them;
 *             without it MessageTimeout of slurm.conf
 *   program   name told to the controller
 * value NULL: as if it had not been set.  Errors: -ENOENT no such name, -EINVAL. */
int penstock_set(penstock *p, const char *name, const char *value);
/* Read slurm.conf and connect.  Optional: other calls do so by themselves, and again when the
 * controller was restarted meanwhile. */
int penstock_connect(penstock *p);
/* The last error's sentence, "" when there was none, and number, 0 when it was not the
 * controller's. */
const char *penstock_error(const penstock *p);
int penstock_code(const penstock *p);

/* ---- submitting ------------------------------------------------------------------------------ */

/* NULL: out of memory. */
penstock_job *penstock_job_new(penstock *p);
void penstock_job_free(penstock_job *job);
/* An option of sbatch by its long name without dashes ("time", "cpus-per-task"), checked as sbatch
 * checks it.  value NULL or "": an option without one.  Errors: -ENOENT no such option of a job
 * (those that say what the command does, such as wait, are none); -EINVAL. */
int penstock_job_set(penstock_job *job, const char *option, const char *value);
/* The batch script; `wrap` of penstock_job_set() makes one.  #SBATCH lines are not read.  Errors:
 * -EINVAL it is none: no interpreter line, line ends of DOS, too large. */
int penstock_job_script(penstock_job *job, const void *script, size_t size);
/* An argument of the script, behind those before. */
int penstock_job_argument(penstock_job *job, const char *argument);
/* A variable of the script's environment.  The first call empties the environment, which is that of
 * this process otherwise; the option `export` chooses from either. */
int penstock_job_environment(penstock_job *job, const char *name, const char *value);
/* The same key of the same user makes one job, however often it is submitted within 24 hours: 1 to
 * 255 printable characters. */
int penstock_job_key(penstock_job *job, const char *key);
/* Submit, wait until the controller has it on disk, and give its number.  When the connection is
 * lost meanwhile, the call asks again: without a key of yours the job gets one for this call, so
 * that no second one is made.  The job object can be changed and submitted again. */
int penstock_submit(penstock *p, penstock_job *job, uint32_t *ret_job_id);
/* Wait until a job has ended, at most timeout_ms (-1: for ever), also while the controller is
 * restarted.  1 with its wait(2) status, 0 not in time, -ENOENT the job is not known (any more).
 * The number of an array stands for all its tasks: the last one's end, the highest exit code. */
int penstock_wait(penstock *p, uint32_t job_id, int timeout_ms, int *ret_status);

/* ---- changing jobs --------------------------------------------------------------------------- */

/* ids: "12", "12_3", "12_[1-3]", "12.0", several with commas.  0 when all was done; else the error
 * of the first that was not, and penstock_result() has them all. */
int penstock_cancel(penstock *p, const char *ids);
/* signal: "USR1", "SIGUSR1" or "10".  To the steps of the jobs, not to the batch script. */
int penstock_signal(penstock *p, const char *ids, const char *signal);
int penstock_hold(penstock *p, const char *ids);
int penstock_release(penstock *p, const char *ids);
int penstock_requeue(penstock *p, const char *ids);
/* Change "job", "node" or "partition" ids as `scontrol update` does: words KEY=VALUE, NULL behind
 * the last. */
int penstock_update(penstock *p, const char *what, const char *ids, const char *const *words);
/* The i-th answer to the last change of jobs: number (0 = done), id and sentence.  -ENOENT: there
 * are no more.  Each ret_ may be NULL. */
int penstock_result(const penstock *p, size_t i, int *ret_code, const char **ret_id,
                    const char **ret_text);

/* ---- lists ----------------------------------------------------------------------------------- */

/* what: "jobs", "nodes" or "partitions".  -ENOENT, -ENOMEM. */
int penstock_query_new(penstock *p, const char *what, penstock_query **ret);
void penstock_query_free(penstock_query *q);
/* Only these fields: names with commas or blanks between.  -ENOENT: one is unknown. */
int penstock_query_fields(penstock_query *q, const char *names);
/* Only these records; values have commas between them, and all filters must hold.
 *   jobs         job (ids), user, state, partition, name, account, qos, node, reservation
 *   nodes        name (a host list)
 *   partitions   name
 * Errors: -ENOENT, -EINVAL. */
int penstock_query_filter(penstock_query *q, const char *name, const char *value);
/* The next record: 1, 0 behind the last, or an error.  The row and its texts live until the next
 * call.  Memory does not grow with the number of records. */
int penstock_query_next(penstock_query *q, penstock_row **ret);

/* The i-th field of records of a kind, for bindings; NULL behind the last.  type (may be NULL) is
 * "text", "number", "real", "bool", "time" (microseconds since 1970) or "list" (of texts). */
const char *penstock_field(const char *what, size_t i, const char **ret_type);

/* A field as text; NULL when the record has none.  Numbers are decimal, states are words, a list
 * has commas. */
const char *penstock_row_text(penstock_row *row, const char *field);
/* A number, a time, or a bool as 0 and 1.  1, 0 when the record has none, -EINVAL: it is no
 * number, or there is no such field. */
int penstock_row_number(penstock_row *row, const char *field, int64_t *ret);
/* All fields that the record has as a JSON object.  NULL: out of memory. */
const char *penstock_row_json(penstock_row *row);

/* ---- watching -------------------------------------------------------------------------------- */

int penstock_watch_new(penstock *p, penstock_watch **ret);
void penstock_watch_free(penstock_watch *w);
/* Before the first other call.  type: "job" (without it), "node", "partition", with commas; and
 * user, state, partition, name, job and node as for lists.  cursor: go on behind the change that
 * had it. */
int penstock_watch_set(penstock_watch *w, const char *name, const char *value);
/* Wait until it is agreed where the stream begins: what happens afterwards will be told.  1; 0 not
 * in timeout_ms (-1: for ever). */
int penstock_watch_start(penstock_watch *w, int timeout_ms);
/* The next change: 1; 0 none in timeout_ms.  The change lives until the next call.  Changes are
 * told once they are on the controller's disk, in their order, each once.  While the controller is
 * away this waits for it. */
int penstock_watch_next(penstock_watch *w, int timeout_ms, penstock_change **ret);
/* A descriptor that is readable when penstock_watch_next() should be called with timeout 0 until it
 * gives 0.  The same one for the life of w.  Making a connection may then take as long as `timeout`
 * when the controller is on another host. */
int penstock_watch_fd(const penstock_watch *w);
/* Behind the last change that penstock_watch_next() gave: what `cursor` takes.  "" before the
 * stream has begun. */
const char *penstock_watch_cursor(penstock_watch *w);

/* "job-submit", "job-start" ...; "reset": the log no longer reaches back to the cursor, ask for
 * lists anew, the stream goes on from now. */
const char *penstock_change_event(const penstock_change *c);
/* "job", "node", "partition"; "" of a reset. */
const char *penstock_change_type(const penstock_change *c);
/* Number of the job or node. */
uint32_t penstock_change_id(const penstock_change *c);
int64_t penstock_change_time_us(const penstock_change *c);
/* Fields that changed, as they were and as they are. */
penstock_row *penstock_change_before(penstock_change *c);
penstock_row *penstock_change_after(penstock_change *c);
/* The object that `scontrol watch --json` prints.  NULL: out of memory, or a reset. */
const char *penstock_change_json(penstock_change *c);

#ifdef __cplusplus
}
#endif

#endif
