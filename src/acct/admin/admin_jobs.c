/* admin_jobs.c - records of jobs changed afterwards: what people note about them, and runs that
 * never ended
 *
 * Only runs that are over are changed (a live job's record is its controller's), or runs that no
 * controller knows, which are closed here.  The rows are written with the rest of the request. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "acct/admin/admin_impl.h"
#include "acct/sql/db.h"
#include "base/pb/pbutil.h"
#include "base/timefmt.h"
#include "model/job.h"

#define HOUR_US (3600 * USEC_PER_SEC)
#define ROWS_BYTES (64u << 20) /* of records that one request changes: they are held */
#define JOBS_MAX 10000u /* that one request changes without naming them: their records are held */

struct found {
    int64_t run;
    int64_t end_us;
    Pst__JobRecord *rec;
};

/* The newest run of a job, in the clusters chosen; 1, 0 none, < 0. */
static int find_run(struct admin_run *run, const Pst__AcctCond *where, uint32_t job_id,
                    struct found *ret)
{
    _cleanup_(sql_free) struct sql_stmt *stmt = NULL;
    int r = sql_prepare(
        run->a->db,
        "SELECT j.run, j.end_us, j.record, s.id, s.name FROM jobs j, sources s WHERE j.job_id=?"
        " ORDER BY j.run DESC",
        &stmt);

    if (r < 0)
        return r;
    sql_bind(stmt, 0, job_id);
    while ((r = sql_step(stmt)) > 0) {
        size_t len;
        const void *data = sql_blob(stmt, 2, &len);

        if (sql_int(stmt, 0) >> ACCT_SOURCE_SHIFT != sql_int(stmt, 3) ||
            !cond_has(where->clusters, where->n_clusters, sql_text(stmt, 4)))
            continue;
        ret->run = sql_int(stmt, 0);
        ret->end_us = sql_int(stmt, 1);
        ret->rec = pst__job_record__unpack(NULL, len, data);
        sql_reset(stmt);
        return ret->rec ? 1 : -EUCLEAN;
    }
    return r;
}

static int keep_row(struct admin_run *run, const struct found *f, int64_t reroll_us)
{
    struct admin_job_row *more = reallocarray(run->rows, run->n_rows + 1, sizeof(*more));
    size_t len = pst__job_record__get_packed_size(f->rec);
    uint8_t *data = malloc(len + 1);

    if (more)
        run->rows = more;
    if (!more || !data) {
        free(data);
        return -ENOMEM;
    }
    run->rows_bytes += len;
    more[run->n_rows++] = (struct admin_job_row){ .run = f->run,
                                                  .end_us = f->end_us,
                                                  .state = f->rec->state,
                                                  .reroll_us = reroll_us,
                                                  .data = data,
                                                  .len = pst__job_record__pack(f->rec, data) };
    return 0;
}

/* ---- notes ----------------------------------------------------------------------------------- */

static bool matches_job(const Pst__AcctCond *where, const Pst__JobRecord *j)
{
    return cond_has(where->users, where->n_users, j->user_name) &&
           cond_has(where->wckeys, where->n_wckeys, j->wckey) &&
           (!where->has_start_us || j->start_us >= where->start_us) &&
           (!where->has_end_us || j->end_us <= where->end_us);
}

/* "cpu=4,mem=1G" with the counts of `set` in place of those it names. */
static int merge_tres(char **tres, const char *set)
{
    _cleanup_val_(strbuf_done) struct strbuf sb = STRBUF_INIT;
    const char *lists[] = { set, *tres ? *tres : "" };
    char *text;

    for (size_t k = 0; k < ARRAY_SIZE(lists); k++)
        for (const char *p = lists[1 - k]; *p;) { /* the old ones first, then what is new */
            size_t len = strcspn(p, ","), name = strcspn(p, "=");
            const char *other = k == 0 ? set : strbuf_str(&sb);
            const char *value = p;
            size_t value_len = len;

            for (const char *o = other; *o; o += strcspn(o, ","), o += *o == ',')
                if (strncasecmp(o, p, name + 1) == 0) {
                    value = k == 0 ? o : NULL;
                    value_len = strcspn(o, ",");
                    break;
                }
            if (value) {
                if (sb.len)
                    strbuf_addc(&sb, ',');
                strbuf_addn(&sb, value, value_len);
            }
            p += len;
            p += *p == ',';
        }
    if (strbuf_detach(&sb, &text) < 0)
        return -ENOMEM;
    free(*tres);
    *tres = text;
    return 0;
}

static int set_job(Pst__JobRecord *j, const Pst__AcctJobSet *set)
{
    int r = 0;

    if (set->comment)
        r = pb_set_str(&j->comment, set->comment);
    if (r == 0 && set->admin_comment)
        r = pb_set_str(&j->admin_comment, set->admin_comment);
    if (r == 0 && set->system_comment)
        r = pb_set_str(&j->system_comment, set->system_comment);
    if (r == 0 && set->extra)
        r = pb_set_str(&j->extra, set->extra);
    if (r == 0 && set->wckey)
        r = pb_set_str(&j->wckey, set->wckey);
    if (r == 0 && set->tres)
        r = merge_tres(&j->alloc_tres, set->tres);
    if (set->has_derived_exit_code) {
        j->has_derived_exit_status = 1;
        j->derived_exit_status = (uint32_t)set->derived_exit_code;
    }
    return r;
}

static void modify_one(struct admin_run *run, struct found *f, const Pst__AcctJobSet *set)
{
    char stamp[64], where[64];

    if (!run_is_operator(run) &&
        (set->admin_comment || set->system_comment || set->tres || !f->rec->user_name ||
         strcmp(f->rec->user_name, run->who->user) != 0)) {
        run_deny(run);
        return;
    }
    if (run->rows_bytes > ROWS_BYTES) {
        run_fail(run, ESLURM_RESULT_TOO_LARGE, "these jobs are too many for one request");
        return;
    }
    if (f->end_us == ACCT_OPEN_END) {
        run_fail(run, ESLURM_JOB_PENDING, "job %u is not over: scontrol update changes it",
                 f->rec->job_id);
        return;
    }
    run->r = set_job(f->rec, set);
    if (run->r == 0)
        run->r = keep_row(run, f, set->tres || set->wckey ? f->rec->start_us : 0);
    time_fmt_stamp(f->rec->submit_us, "Unknown", run->now_us, stamp, sizeof(stamp));
    run_line(run, "%u submitted at %s", f->rec->job_id, stamp);
    (void)snprintf(where, sizeof(where), "(id_job=%u)", f->rec->job_id);
    run_txn(run, "Modify Job", NULL, f->rec->account, f->rec->user_name, where, "");
}

/* The ids of all jobs, or -E2BIG where there are more than one request may change.  The caller
 * frees them. */
static int all_ids(struct admin_run *run, uint32_t **ret_ids, size_t *ret_n)
{
    _cleanup_(sql_free) struct sql_stmt *stmt = NULL;
    _cleanup_free_ uint32_t *ids = malloc(JOBS_MAX * sizeof(*ids));
    size_t n = 0;
    int r = ids ? sql_prepare(run->a->db, "SELECT DISTINCT job_id FROM jobs ORDER BY job_id", &stmt)
                : -ENOMEM;

    while (r >= 0 && (r = sql_step(stmt)) > 0) {
        if (n == JOBS_MAX)
            r = -E2BIG;
        else
            ids[n++] = (uint32_t)sql_int(stmt, 0);
    }
    if (r < 0)
        return r;
    *ret_ids = TAKE_PTR(ids);
    *ret_n = n;
    return 0;
}

static void modify_jobs(struct admin_run *run, const uint32_t *ids, size_t n,
                        const Pst__AcctCond *where, const Pst__AcctSet *set)
{
    for (size_t i = 0; i < n && run_ok(run); i++) {
        struct found f = { 0 };
        int r = find_run(run, where, ids[i], &f);
        /* who names no job means those that are over */
        bool skip = r > 0 && !where->n_ids && f.end_us == ACCT_OPEN_END;

        if (r < 0)
            run->r = r;
        else if (r > 0 && !skip && matches_job(where, f.rec))
            modify_one(run, &f, set->job);
        if (f.rec)
            pst__job_record__free_unpacked(f.rec, NULL);
    }
}

void job_modify(struct admin_run *run, const Pst__AcctCond *where, const Pst__AcctSet *set)
{
    _cleanup_free_ uint32_t *all = NULL;
    size_t n = 0;
    int r = where->n_ids ? 0 : all_ids(run, &all, &n);

    if (r == -E2BIG)
        run_fail(run, ESLURM_RESULT_TOO_LARGE,
                 "more than %u jobs: say which ones with jobid=, at most that many", JOBS_MAX);
    else if (r < 0)
        run->r = r;
    else if (set->job)
        modify_jobs(run, where->n_ids ? where->ids : all, where->n_ids ? where->n_ids : n, where,
                    set);
    if (run_ok(run) && !run->res->n_lines)
        run_fail(run, SLURM_NO_CHANGE_IN_DATA, NULL);
}

/* ---- runs that never ended ------------------------------------------------------------------- */

void runaway_modify(struct admin_run *run, const Pst__AcctCond *where, const Pst__AcctSet *set)
{
    bool failed =
        set->job && set->job->has_end_state && set->job->end_state == PST__JOB_STATE__JOB_FAILED;

    if (!run_is_operator(run)) {
        run_deny(run);
        return;
    }
    for (size_t i = 0; i < where->n_ids && run_ok(run); i++) {
        struct found f = { 0 };
        int r = find_run(run, where, where->ids[i], &f);

        if (r < 0)
            run->r = r;
        if (r > 0 && f.end_us == ACCT_OPEN_END) {
            char text[64];

            f.rec->has_state = f.rec->has_end_us = 1;
            f.rec->state = failed ? PST__JOB_STATE__JOB_FAILED : PST__JOB_STATE__JOB_COMPLETED;
            f.rec->state_flags = 0;
            f.rec->end_us = MAX(f.rec->submit_us, f.rec->has_eligible_us ? f.rec->eligible_us : 0);
            f.rec->end_us = MAX(f.rec->end_us, f.rec->has_start_us ? f.rec->start_us : 0);
            f.end_us = f.rec->end_us;
            run->r = keep_row(run, &f, f.rec->submit_us);
            (void)snprintf(text, sizeof(text), "%u", f.rec->job_id);
            run_name(run, text);
            run_txn(run, "Fix Runaway Job", NULL, f.rec->account, f.rec->user_name, text, "");
        }
        if (f.rec)
            pst__job_record__free_unpacked(f.rec, NULL);
    }
    if (run_ok(run) && !run->res->n_names)
        run_fail(run, SLURM_NO_CHANGE_IN_DATA, NULL);
}

int rows_save_jobs(struct admin_run *run)
{
    _cleanup_(sql_free) struct sql_stmt *stmt = NULL, *reroll = NULL;
    int r;

    if (!run->n_rows)
        return 0;
    r = sql_prepare(run->a->db, "UPDATE jobs SET record=?, state=?, end_us=? WHERE run=?", &stmt);
    if (r == 0)
        r = sql_prepare(run->a->db, "UPDATE sources SET rolled_us=? WHERE id=? AND rolled_us>?",
                        &reroll);
    for (size_t i = 0; r == 0 && i < run->n_rows; i++) {
        const struct admin_job_row *row = &run->rows[i];
        int64_t hour = row->reroll_us / HOUR_US * HOUR_US;

        sql_bind_blob(stmt, 0, row->data, row->len);
        sql_bind(stmt, 1, row->state);
        sql_bind(stmt, 2, row->end_us);
        sql_bind(stmt, 3, row->run);
        r = sql_run(stmt);
        if (r < 0 || !row->reroll_us)
            continue;
        sql_bind(reroll, 0, hour); /* its hours are summed up again */
        sql_bind(reroll, 1, row->run >> ACCT_SOURCE_SHIFT);
        sql_bind(reroll, 2, hour);
        r = sql_run(reroll);
    }
    return r;
}
