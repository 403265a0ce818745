/* out_job.h - what a job record says, in the words of squeue, scontrol, sacct and JSON
 *
 * Pure functions of a row: a job record (unpacked, borrowed), the controller's clock, and for one
 * task of an array record that task.  Texts are appended to sb. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "job.pb-c.h"

#define JOB_ID_MAX 31 /* of squeue, where SLURM_BITSTR_LEN says nothing */

struct job_row {
    const Pst__JobRecord *job;
    int64_t now_us;
    const char *cluster;     /* may be NULL */
    const char *select_type; /* SelectTypeParameters of slurm.conf; may be NULL */
    const char *partition;   /* instead of the record's: one of a list; may be NULL */
    bool has_task;           /* this task of an array record stands for itself */
    uint32_t task;
    bool noconvert;             /* sizes as they are */
    bool expand;                /* resolve patterns in file names */
    bool no_throttle;           /* array tasks without the limit on running ones */
    unsigned bitstr_len;        /* longest list of array tasks, 0 = any */
    const struct step_use *use; /* what steps use of its nodes, for JSON; may be NULL: nothing */
    const char *more_reasons;   /* ",X,Y": of other records in its line; may be NULL */
    bool cut_id;                /* an id that names a set ends after JOB_ID_MAX bytes */
};

/* SLURM_BITSTR_LEN; 64 when unset. */
unsigned job_bitstr_len(void);

void job_put_id(struct strbuf *sb, const struct job_row *r);    /* 12, 12_3, 12_[4-9%2] */
void job_put_tasks(struct strbuf *sb, const struct job_row *r); /* 3, 4-9%2, N/A */
uint32_t job_group_id(const Pst__JobRecord *j); /* array, or leader of components; 0 = neither */
uint32_t job_array_id(const struct job_row *r); /* array_job_id or job_id */
bool job_is_array(const struct job_row *r);

const char *job_state_word(const struct job_row *r, bool compact);
bool job_is_pending(const struct job_row *r);
/* Does another cluster's record tell of this job of a federation?  Of a job that waits that is the
 * origin's, of one that runs elsewhere that cluster's.  r->cluster: where the record is from. */
bool job_is_copy(const struct job_row *r);
bool job_is_terminal(const struct job_row *r);
/* The reason's sentence: free text before word. */
const char *job_reason(const struct job_row *r);
/* Its reason without what it waits for in the queue; that of a job whose nodes still run prologs is
 * Prolog. */
unsigned job_reason_number(const Pst__JobRecord *j);
/* Why it waits, or, once it has started, last waited for more than nodes and its turn.  A deadline
 * is why a job ended. */
const char *job_waited_for(const struct job_row *r);
/* What is said beside or instead of the reason why a job waits; NULL when nothing is. */
const char *job_pend_text(const Pst__JobRecord *j);
uint32_t job_priority(const struct job_row *r);
const char *job_user(const Pst__JobRecord *j);
const char *job_group(const Pst__JobRecord *j);
const char *job_partition(const struct job_row *r);

int64_t job_start_us(const struct job_row *r);    /* pending: when expected; 0 = unknown */
int64_t job_eligible_us(const struct job_row *r); /* a held job tells the time it begins */
int64_t job_accrue_us(const struct job_row *r);   /* since when age counts; 0 = not yet */
int64_t job_end_us(const struct job_row *r);      /* 0 = unknown or never */
int64_t job_elapsed_s(const struct job_row *r);
/* Limit in minutes.  False: none is known; *ret_unlimited tells the one without end. */
bool job_limit(const Pst__JobRecord *j, uint32_t *ret_minutes, bool *ret_unlimited);

uint32_t job_nodes(const Pst__JobRecord *j); /* held, or asked for */
/* Of a job that waits: as many as it may get, without a number of its own a node a task. */
uint32_t job_max_nodes(const Pst__JobRecord *j);
/* What its nodes have: what it prefers, where it got that, else what it asks for; or NULL. */
const char *job_features(const Pst__JobRecord *j);
uint32_t job_cpus(const Pst__JobRecord *j);
uint32_t job_asked_cpus(const Pst__JobRecord *j); /* without those that whole cores add */
bool job_holds_nodes(const Pst__JobRecord *j);
uint32_t job_tasks(const Pst__JobRecord *j);
const char *job_nodelist(const Pst__JobRecord *j); /* "" when none */
/* First node of the allocation or the batch host; false when none. */
bool job_put_batch_host(struct strbuf *sb, const Pst__JobRecord *j);
void job_put_min_memory(struct strbuf *sb, const struct job_row *r);
/* "gres/gpu:4": --cpus-per-gpu, --mem-per-gpu in MiB; false: the job did not ask for it. */
bool job_put_cpus_per_tres(struct strbuf *sb, const Pst__JobRecord *j);
bool job_put_mem_per_tres(struct strbuf *sb, const Pst__JobRecord *j);
/* What was asked for as TRES when the record does not say. */
void job_put_req_tres(struct strbuf *sb, const struct job_row *r);
uint32_t job_min_cpus(const Pst__JobRecord *j); /* of each node */
/* "YES", "NO"; "OK" of a job that waits and will share where its partition says so */
const char *job_oversubscribe(const Pst__JobRecord *j);
const char *job_exclusive(const Pst__JobRecord *j); /* "NO", "NODE", "USER", "MCS", "TOPO" */

/* "code:signal" of a wait(2) status. */
void put_exit_code(struct strbuf *sb, uint32_t status);
uint32_t exit_code_of(uint32_t status);
uint32_t exit_signal_of(uint32_t status);

enum job_file {
    JOB_STDIN,
    JOB_STDOUT,
    JOB_STDERR,
};
/* The name as given or by default ("slurm-%j.out"); NULL when there is none. */
const char *job_file_pattern(const Pst__JobRecord *j, enum job_file which);
/* The same with its patterns resolved and made absolute.  Nothing appended when there is none. */
void job_put_file(struct strbuf *sb, const struct job_row *r, enum job_file which);

/* The events of mail_type, in order; NULL past the end. */
const char *job_mail_word(const Pst__JobRecord *j, unsigned *at);

/* A size in MiB as squeue prints it. */
void put_mib(struct strbuf *sb, uint64_t mib, bool noconvert);
void put_u64(struct strbuf *sb, uint64_t n);
void put_stamp(struct strbuf *sb, int64_t us, const char *none, int64_t now_us);
void put_short_time(struct strbuf *sb, int64_t seconds);
void put_hms(struct strbuf *sb, int64_t seconds);
