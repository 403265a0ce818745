/* rows.c - queries: selecting runs, and reading them one by one
 *
 * Opening runs the condition and keeps the row ids in order; the records are read when their turn
 * comes, in read transactions that end whenever the reader waits.  So a client that reads slowly
 * pins neither the write-ahead log nor more memory than 8 bytes a row.  A record goes out as the
 * bytes it was stored as: an AcctJob is put together without decoding anything. */
#include "acct/acct.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "acct/db.h"
#include "acct/filter.h"

#define PROGRESS_OPS 100000  /* virtual machine steps between looks at `cancel` */
#define TX_ROWS 256u         /* records read in one transaction */
#define FIELD_HEADER_MAX 11u /* tag and length */
#define ACCT_JOB_TAG 0x0a    /* AcctJob.job and .steps, length-delimited */
#define ACCT_STEPS_TAG 0x12

struct acct_rows {
    sqlite3 *db;
    sqlite3_stmt *job, *steps;
    bool allocations_only;
    bool in_tx;
    unsigned in_tx_rows;
    int64_t *runs;
    size_t n, cap, next;
    uint8_t *buf;
    size_t len, buf_cap;
};

/* ---- selecting ----------------------------------------------------------------------------------
 */

static int on_progress(void *ctx)
{
    return atomic_load_explicit((const atomic_bool *)ctx, memory_order_relaxed);
}

static int add_run(struct acct_rows *rows, int64_t run)
{
    if (rows->n == rows->cap) {
        size_t cap = rows->cap ? rows->cap * 2 : 64;
        int64_t *bigger = reallocarray(rows->runs, cap, sizeof(*bigger));

        if (!bigger)
            return -ENOMEM;
        rows->runs = bigger;
        rows->cap = cap;
    }
    rows->runs[rows->n++] = run;
    return 0;
}

static int build_sql(const struct filter *f, char **ret)
{
    struct strbuf sb = STRBUF_INIT;

    strbuf_add(&sb, "SELECT j.run FROM jobs j WHERE ");
    filter_sql(f, "j", &sb);
    if (!(f->want->has_duplicates && f->want->duplicates)) {
        strbuf_add(&sb, " AND NOT EXISTS (SELECT 1 FROM jobs k WHERE k.job_id=j.job_id AND"
                        " k.run>j.run AND ");
        filter_sql(f, "k", &sb);
        strbuf_add(&sb, ")");
    }
    strbuf_addf(&sb,
                " ORDER BY j.begun_us, ifnull(j.array_job_id, j.job_id),"
                " ifnull(j.array_task_id, %lld), j.run",
                (long long)INT64_MAX); /* the tasks left in the record come last */
    return strbuf_detach(&sb, ret);
}

static int select_runs(struct acct_rows *rows, const struct filter *f)
{
    _cleanup_free_ char *sql = NULL;
    sqlite3_stmt *stmt = NULL;
    int rc, r = build_sql(f, &sql);

    if (r == 0)
        r = acct_db_prepare(rows->db, sql, &stmt);
    if (r == 0)
        r = filter_bind(f, stmt);
    while (r == 0 && (rc = sqlite3_step(stmt)) != SQLITE_DONE)
        r = rc == SQLITE_ROW ? add_run(rows, sqlite3_column_int64(stmt, 0))
                             : acct_db_errno(rows->db);
    (void)sqlite3_finalize(stmt); /* repeats the error just taken */
    return r;
}

static int query_failed(const struct acct_rows *rows, int r, struct err *err)
{
    return err_set(err, r, "accounting: the query failed: %s",
                   r == -ENOMEM || r == -ECANCELED ? strerrordesc_np(-r)
                                                   : sqlite3_errmsg(rows->db));
}

struct acct_rows *acct_rows_close(struct acct_rows *rows)
{
    int saved = errno;

    if (!rows)
        return NULL;
    (void)sqlite3_finalize(rows->job); /* repeats an error already reported */
    (void)sqlite3_finalize(rows->steps);
    (void)sqlite3_close(rows->db); /* nothing is prepared; ends its transaction */
    free(rows->runs);
    free(rows->buf);
    free(rows);
    errno = saved;
    return NULL;
}

int acct_rows_open(const char *path, const Pst__AcctFilter *filter, int64_t now_us,
                   const atomic_bool *cancel, struct acct_rows **ret_rows, struct err *err)
{
    _cleanup_(acct_rows_close) struct acct_rows *rows = calloc(1, sizeof(*rows));
    _cleanup_val_(filter_done) struct filter f = { 0 };
    struct err why = { .text = "" };
    int r;

    if (!rows)
        return -ENOMEM;
    rows->allocations_only = filter->has_allocations_only && filter->allocations_only;
    r = filter_init(&f, filter, now_us, &why);
    if (r < 0)
        return err_set(err, r, "%s", why.text[0] ? why.text : strerrordesc_np(-r));
    r = acct_db_open_reader(path, &rows->db, err);
    if (r < 0)
        return r;
    if (cancel)
        sqlite3_progress_handler(rows->db, PROGRESS_OPS, on_progress, (void *)(uintptr_t)cancel);
    r = filter_register(&f, rows->db);
    if (r == 0)
        r = select_runs(rows, &f);
    sqlite3_progress_handler(rows->db, 0, NULL, NULL); /* reading a record is quick */
    if (r == 0)
        r = acct_db_prepare(rows->db, "SELECT record FROM jobs WHERE run=?1", &rows->job);
    if (r == 0)
        r = acct_db_prepare(rows->db, "SELECT record FROM steps WHERE run=?1 ORDER BY step",
                            &rows->steps);
    if (r < 0)
        return query_failed(rows, r, err);
    *ret_rows = TAKE_PTR(rows);
    return 0;
}

/* ---- reading ------------------------------------------------------------------------------------
 */

/* Append a length-delimited field.  -EMSGSIZE: beyond ACCT_JOB_MAX_BYTES. */
static int add_field(struct acct_rows *rows, uint8_t tag, const void *data, size_t len)
{
    size_t need = rows->len + len + FIELD_HEADER_MAX;

    if (need > ACCT_JOB_MAX_BYTES)
        return -EMSGSIZE;
    if (need > rows->buf_cap) {
        uint8_t *bigger = realloc(rows->buf, need * 2);

        if (!bigger)
            return -ENOMEM;
        rows->buf = bigger;
        rows->buf_cap = need * 2;
    }
    rows->buf[rows->len++] = tag;
    for (size_t v = len;; v >>= 7) {
        rows->buf[rows->len++] = (uint8_t)((v & 0x7f) | (v > 0x7f ? 0x80 : 0));
        if (v <= 0x7f)
            break;
    }
    if (len)
        memcpy(rows->buf + rows->len, data, len);
    rows->len += len;
    return 0;
}

/* Append the records a statement finds for a run. */
static int add_records(struct acct_rows *rows, sqlite3_stmt *stmt, uint8_t tag, int64_t run,
                       size_t *ret_n)
{
    int rc, r = 0;

    *ret_n = 0;
    (void)sqlite3_bind_int64(stmt, 1, run); /* fails on no valid statement */
    while (r == 0 && (rc = sqlite3_step(stmt)) != SQLITE_DONE) {
        const void *data;

        if (rc != SQLITE_ROW) {
            r = acct_db_errno(rows->db);
            break;
        }
        data = sqlite3_column_blob(stmt, 0);
        r = add_field(rows, tag, data, (size_t)sqlite3_column_bytes(stmt, 0));
        *ret_n += r == 0;
    }
    (void)sqlite3_reset(stmt); /* repeats the error just taken */
    return r;
}

void acct_rows_pause(struct acct_rows *rows)
{
    if (rows->in_tx)
        (void)acct_db_exec(rows->db, "COMMIT"); /* nothing was written: nothing can fail */
    rows->in_tx = false;
}

static int begin_read(struct acct_rows *rows)
{
    int r;

    if (rows->in_tx && ++rows->in_tx_rows >= TX_ROWS)
        acct_rows_pause(rows);
    if (rows->in_tx)
        return 0;
    r = acct_db_exec(rows->db, "BEGIN");
    rows->in_tx = r == 0;
    rows->in_tx_rows = 0;
    return r;
}

int acct_rows_next(struct acct_rows *rows, const uint8_t **ret_data, size_t *ret_len,
                   struct err *err)
{
    size_t found = 0, steps;
    int r = 0;

    while (!found) {
        int64_t run;

        if (rows->next == rows->n) {
            acct_rows_pause(rows);
            return 0;
        }
        run = rows->runs[rows->next++];
        rows->len = 0;
        r = begin_read(rows);
        if (r == 0)
            r = add_records(rows, rows->job, ACCT_JOB_TAG, run, &found);
        if (r == 0 && !rows->allocations_only)
            r = add_records(rows, rows->steps, ACCT_STEPS_TAG, run, &steps);
        if (r < 0 && r != -EMSGSIZE)
            return query_failed(rows, r, err);
    }
    *ret_data = rows->buf;
    *ret_len = rows->len;
    return 1;
}

int acct_query(const char *path, const Pst__AcctFilter *filter, int64_t now_us, acct_row_fn *fn,
               void *ctx, struct err *err)
{
    _cleanup_(acct_rows_close) struct acct_rows *rows = NULL;
    int r = acct_rows_open(path, filter, now_us, NULL, &rows, err);

    while (r >= 0) {
        const uint8_t *data;
        Pst__AcctJob *job;
        size_t len;

        r = acct_rows_next(rows, &data, &len, err);
        if (r <= 0)
            return r;
        job = pst__acct_job__unpack(NULL, len, data);
        if (!job)
            return err_set(err, -EUCLEAN, "accounting: a record in %s cannot be decoded", path);
        r = fn(ctx, job);
        pst__acct_job__free_unpacked(job, NULL);
    }
    return r;
}
