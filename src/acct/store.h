/* store.h - job and step rows: loading and saving; acct/ only */
#pragma once

#include "acct/acct.h"
#include "acct/cache.h"
#include "acct/sql/db.h"

enum store_stmt {
    STORE_INSERT_JOB,
    STORE_UPDATE_JOB,  /* indexed columns too */
    STORE_REFRESH_JOB, /* no indexed column changed: four index updates saved */
    STORE_LOAD_JOB,
    STORE_OPEN_RUN,
    STORE_SAVE_STEP,
    STORE_LOAD_STEP,
    STORE_FIND_STEP,
    STORE_MOVE_STEPS,
    STORE_INSERT_JOBS, /* STORE_MANY rows at once: a server's answer costs a way there and back */
    STORE_SAVE_STEPS,
    STORE_STMTS_,
};

#define STORE_MANY 16

struct encoded {
    uint8_t *data;
    size_t len, cap;
};

struct store {
    struct sql *db;
    struct sql_stmt *stmts[STORE_STMTS_];
    struct cache cache;
    int64_t base; /* row id of a run = base + JobRecord.db_id, of a later part of it + part_id */
    int64_t end;  /* rows of this source are below */
    int64_t earliest_us; /* the earliest instant at which usage changed, of what was saved since it
                            was set */
    struct encoded slots[STORE_MANY]; /* records as their statement has them */
};

int store_init(struct store *s, struct sql *db); /* db is taken */
void store_done(struct store *s);
/* The current run of a job, or a step, from the cache or the database; *ret_entry NULL =
 * unknown. */
int store_job(struct store *s, uint32_t job_id, struct entry **ret_entry);
/* 1: the job has a run that is not over, as far as rows tell; 0: none. */
int store_has_open_run(struct store *s, uint32_t job_id);
int store_step(struct store *s, int64_t run, uint32_t step_id, struct entry **ret_entry);
/* The newest step of that number any run of the job has. */
int store_step_any_run(struct store *s, uint32_t job_id, uint32_t step_id,
                       struct entry **ret_entry);
/* Write a job's record to the row of e's run as it shall stay, whatever becomes of e. */
int store_save_job(struct store *s, struct entry *e, const Pst__JobRecord *rec);
/* Have the steps of one row belong to another row, where the job goes on.  Writes everything
 * dirty. */
int store_move_steps(struct store *s, int64_t from, int64_t to);
int store_flush(struct store *s); /* write everything dirty */
