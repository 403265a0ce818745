/* rows.c - queries: selecting runs, and reading them some at a time
 *
 * Opening runs the condition and keeps the row ids in order; the records are read when their
 * turn comes, in read transactions that end with the chunk.  So a client that reads slowly pins
 * neither the write-ahead log nor more memory than 8 bytes a row.  A record goes out as the
 * bytes it was stored as, less what nobody is told: an AcctJob is put together without decoding
 * anything.
 *
 * Records are read CHUNK runs at a time, since a server's answer costs a way there and back.  A
 * chunk with too much in it is read again run by run. */
#include "acct/acct.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "acct/sql/db.h"
#include "acct/filter.h"
#include "base/pb/pbvarint.h"
#include "model/secrets.h"
#include "fields.h"

#define CHUNK 64u
#define CHUNK_MAX_BYTES (4u << 20)
#define FIELD_HEADER_MAX 12u /* tag and length */
#define TIMES_MAX (2 * PB_VARINT_MAX)
#define SELECT_COLUMNS 5u

/* A run while the selection is made. */
struct pick {
    int64_t run, begun_us, first_id, task;
    uint32_t job_id;
};

/* What a run consists of, in the order in which a chunk is read. */
enum kind { KIND_JOB, KIND_STEP, KIND_SUSPENSION };

static const unsigned field_of[] = { [KIND_JOB] = ACCT_JOB_F_JOB,
                                     [KIND_STEP] = ACCT_JOB_F_STEPS,
                                     [KIND_SUSPENSION] = ACCT_JOB_F_SUSPENSIONS };

struct piece {
    int64_t run;
    size_t at, len;
    enum kind kind;
};

struct source_name {
    int64_t id;
    char *name;
};

struct acct_rows {
    struct sql *db;
    struct sql_stmt *job, *steps, *suspensions;
    bool allocations_only;
    struct pb_fieldset job_fields, step_fields; /* what of the records is told */
    struct source_name *sources;
    size_t nsources;
    int64_t *runs;
    size_t n, next;
    /* the chunk read: runs [next, chunk_end), pieces in the order of (run, step) of each
     * statement */
    size_t chunk_end;
    struct piece *pieces;
    size_t npieces, pieces_cap;
    uint8_t *data;
    size_t data_len, data_cap;
    size_t alone; /* so many runs are read one by one */
    uint8_t *buf; /* the record being put together */
    size_t len, buf_cap;
};

/* ---- selecting ------------------------------------------------------------------------------- */

static int grow_array(void *array, size_t n, size_t *cap, size_t size)
{
    void **p = array;
    size_t more = *cap ? *cap * 2 : 256;
    void *bigger;

    if (n < *cap)
        return 0;
    bigger = reallocarray(*p, more, size);
    if (!bigger)
        return -ENOMEM;
    *p = bigger;
    *cap = more;
    return 0;
}

static int by_order(const void *a, const void *b)
{
    const struct pick *x = a, *y = b;

    if (x->begun_us != y->begun_us)
        return x->begun_us < y->begun_us ? -1 : 1;
    if (x->first_id != y->first_id)
        return x->first_id < y->first_id ? -1 : 1;
    if (x->task != y->task)
        return x->task < y->task ? -1 : 1;
    return x->run < y->run ? -1 : x->run > y->run;
}

static int by_job(const void *a, const void *b)
{
    const struct pick *x = a, *y = b;
    int64_t sx = x->run >> ACCT_SOURCE_SHIFT, sy = y->run >> ACCT_SOURCE_SHIFT;

    if (sx != sy)
        return sx < sy ? -1 : 1;
    if (x->job_id != y->job_id)
        return x->job_id < y->job_id ? -1 : 1;
    return x->run < y->run ? -1 : x->run > y->run;
}

/* Keep the newest run of each job. */
static size_t drop_older(struct pick *picks, size_t n)
{
    size_t kept = 0;

    qsort(picks, n, sizeof(*picks), by_job);
    for (size_t i = 0; i < n; i++) {
        bool newest = i + 1 == n || picks[i].job_id != picks[i + 1].job_id ||
                      picks[i].run >> ACCT_SOURCE_SHIFT != picks[i + 1].run >> ACCT_SOURCE_SHIFT;

        if (newest)
            picks[kept++] = picks[i];
    }
    return kept;
}

static int load_sources(struct acct_rows *rows)
{
    _cleanup_(sql_free) struct sql_stmt *stmt = NULL;
    int r = sql_prepare(rows->db, "SELECT id, name FROM sources", &stmt);
    size_t cap = 0;

    while (r == 0 && (r = sql_step(stmt)) == 1) {
        r = grow_array(&rows->sources, rows->nsources, &cap, sizeof(*rows->sources));
        if (r < 0)
            return r;
        rows->sources[rows->nsources].id = sql_int(stmt, 0);
        rows->sources[rows->nsources].name = strdup(sql_text(stmt, 1));
        if (!rows->sources[rows->nsources++].name)
            return -ENOMEM;
    }
    return r;
}

/* Of the clusters asked for. */
static void add_sources(const struct acct_rows *rows, const Pst__AcctFilter *want,
                        struct strbuf *sb)
{
    bool any = false;

    if (!want->n_clusters)
        return;
    strbuf_add(sb, " AND (");
    for (size_t i = 0; i < rows->nsources; i++) {
        for (size_t k = 0; k < want->n_clusters; k++) {
            if (strcasecmp(rows->sources[i].name, want->clusters[k]) != 0)
                continue;
            strbuf_addf(sb, "%srun BETWEEN %lld AND %lld", any ? " OR " : "",
                        (long long)ACCT_RUNS_OF(rows->sources[i].id),
                        (long long)ACCT_RUNS_OF(rows->sources[i].id + 1) - 1);
            any = true;
            break;
        }
    }
    strbuf_add(sb, any ? ")" : "1=0)");
}

static int prepare_select(struct acct_rows *rows, const struct filter *f, struct sql_stmt **ret)
{
    _cleanup_free_ char *text = NULL;
    struct strbuf sb = STRBUF_INIT;
    int r;

    strbuf_add(&sb, "SELECT run, job_id, begun_us, ifnull(array_job_id, job_id), array_task_id");
    filter_columns(f, &sb);
    strbuf_add(&sb, " FROM jobs WHERE ");
    filter_sql(f, &sb);
    add_sources(rows, f->want, &sb);
    r = strbuf_detach(&sb, &text);
    return r < 0 ? r : sql_prepare(rows->db, text, ret);
}

static int pick_runs(struct acct_rows *rows, const struct filter *f, struct pick **picks, size_t *n)
{
    _cleanup_(sql_free) struct sql_stmt *stmt = NULL;
    size_t cap = 0;
    int r = prepare_select(rows, f, &stmt);

    if (r < 0)
        return r;
    filter_bind(f, stmt);
    while ((r = sql_step(stmt)) == 1) {
        if (!filter_match(f, stmt, SELECT_COLUMNS))
            continue;
        r = grow_array(picks, *n, &cap, sizeof(**picks));
        if (r < 0)
            return r;
        (*picks)[(*n)++] = (struct pick){
            .run = sql_int(stmt, 0),
            .job_id = (uint32_t)sql_int(stmt, 1),
            .begun_us = sql_int(stmt, 2),
            .first_id = sql_int(stmt, 3),
            .task =
                sql_is_null(stmt, 4) ? INT64_MAX : sql_int(stmt, 4), /* what is left comes last */
        };
    }
    return r;
}

static int select_runs(struct acct_rows *rows, const struct filter *f)
{
    _cleanup_free_ struct pick *picks = NULL;
    size_t n = 0;
    int r = pick_runs(rows, f, &picks, &n);

    if (r < 0)
        return r;
    if (n && !(f->want->has_duplicates && f->want->duplicates))
        n = drop_older(picks, n);
    if (n)
        qsort(picks, n, sizeof(*picks), by_order);
    rows->runs = calloc(n + 1, sizeof(*rows->runs));
    if (!rows->runs)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++)
        rows->runs[i] = picks[i].run;
    rows->n = n;
    return 0;
}

static int query_failed(const struct acct_rows *rows, int r, struct err *err)
{
    return err_set(err, r, "accounting: the query failed: %s",
                   r == -ENOMEM || r == -ECANCELED ? strerrordesc_np(-r) : sql_error(rows->db));
}

struct acct_rows *acct_rows_close(struct acct_rows *rows)
{
    int saved = errno;

    if (!rows)
        return NULL;
    (void)sql_close(rows->db); /* always NULL */
    for (size_t i = 0; i < rows->nsources; i++)
        free(rows->sources[i].name);
    free(rows->sources);
    free(rows->runs);
    free(rows->pieces);
    free(rows->data);
    free(rows->buf);
    free(rows);
    errno = saved;
    return NULL;
}

static int prepare_chunk(struct acct_rows *rows, const char *select, const char *order,
                         struct sql_stmt **ret)
{
    _cleanup_free_ char *text = NULL;
    struct strbuf sb = STRBUF_INIT;
    int r;

    strbuf_addf(&sb, "%s WHERE run IN (", select);
    for (size_t i = 0; i < CHUNK; i++)
        strbuf_add(&sb, i ? ",?" : "?");
    strbuf_addf(&sb, ") ORDER BY %s", order);
    r = strbuf_detach(&sb, &text);
    return r < 0 ? r : sql_prepare(rows->db, text, ret);
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
    secrets_all_others(&pst__job_record__descriptor, &rows->job_fields);
    secrets_all_others(&pst__step_record__descriptor, &rows->step_fields);
    rows->allocations_only = filter->has_allocations_only && filter->allocations_only;
    r = filter_init(&f, filter, now_us, &why);
    if (r < 0)
        return err_set(err, r, "%s", why.text[0] ? why.text : strerrordesc_np(-r));
    r = acct_db_open_reader(path, &rows->db, err);
    if (r < 0)
        return r;
    sql_set_cancel(rows->db, cancel);
    r = load_sources(rows);
    if (r == 0)
        r = select_runs(rows, &f);
    sql_set_cancel(rows->db, NULL); /* reading a record is quick */
    if (r == 0)
        r = prepare_chunk(rows, "SELECT run, record FROM jobs", "run", &rows->job);
    if (r == 0)
        r = prepare_chunk(rows, "SELECT run, record FROM steps", "run, step", &rows->steps);
    if (r == 0)
        r = prepare_chunk(rows, "SELECT run, start_us, end_us FROM suspensions", "run, start_us",
                          &rows->suspensions);
    if (r < 0)
        return query_failed(rows, r, err);
    *ret_rows = TAKE_PTR(rows);
    return 0;
}

/* ---- reading --------------------------------------------------------------------------------- */

static int add_piece(struct acct_rows *rows, int64_t run, enum kind kind, const void *data,
                     size_t len)
{
    const struct pb_fieldset *fields = kind == KIND_JOB ? &rows->job_fields : &rows->step_fields;
    int r = grow_array(&rows->pieces, rows->npieces, &rows->pieces_cap, sizeof(*rows->pieces));
    long shown;

    if (r < 0)
        return r;
    if (rows->data_len + len > rows->data_cap) {
        size_t cap = (rows->data_len + len) * 2;
        uint8_t *bigger = realloc(rows->data, cap);

        if (!bigger)
            return -ENOMEM;
        rows->data = bigger;
        rows->data_cap = cap;
    }
    if (kind == KIND_SUSPENSION) {
        memcpy(rows->data + rows->data_len, data, len);
    } else {
        shown = pb_project(data, len, fields, rows->data + rows->data_len);
        len = shown > 0 ? (size_t)shown : 0; /* < 0: not what we wrote */
    }
    rows->pieces[rows->npieces++] =
        (struct piece){ .run = run, .at = rows->data_len, .len = len, .kind = kind };
    rows->data_len += len;
    return 0;
}

/* A row's record; of a suspension, its times as a packed field has them. */
static const void *row_data(struct sql_stmt *stmt, enum kind kind, uint8_t times[TIMES_MAX],
                            size_t *ret_len)
{
    if (kind != KIND_SUSPENSION)
        return sql_blob(stmt, 1, ret_len);
    *ret_len = pb_put_varint(times, (uint64_t)sql_int(stmt, 1));
    *ret_len += pb_put_varint(times + *ret_len, (uint64_t)sql_int(stmt, 2));
    return times;
}

/* What a statement finds for the chunk.  -EMSGSIZE: too much to hold. */
static int read_pieces(struct acct_rows *rows, struct sql_stmt *stmt, enum kind kind)
{
    uint8_t times[TIMES_MAX];
    size_t limit = rows->chunk_end - rows->next > 1 ? CHUNK_MAX_BYTES : ACCT_JOB_MAX_BYTES;
    int r;

    for (unsigned i = 0; i < CHUNK; i++)
        sql_bind(stmt, i, rows->runs[MIN(rows->next + i, rows->chunk_end - 1)]);
    while ((r = sql_step(stmt)) == 1) {
        size_t len;
        const void *data = row_data(stmt, kind, times, &len);

        if (rows->data_len + len > limit) {
            sql_reset(stmt);
            return -EMSGSIZE;
        }
        r = add_piece(rows, sql_int(stmt, 0), kind, data, len);
        if (r < 0) {
            sql_reset(stmt);
            return r;
        }
    }
    return r;
}

static int read_chunk(struct acct_rows *rows)
{
    size_t n = rows->alone ? 1 : CHUNK;
    int r;

    rows->chunk_end = MIN(rows->n, rows->next + n);
    rows->npieces = rows->data_len = 0;
    r = sql_begin_read(rows->db);
    if (r < 0)
        return r;
    r = read_pieces(rows, rows->job, KIND_JOB);
    if (r == 0 && !rows->allocations_only)
        r = read_pieces(rows, rows->steps, KIND_STEP);
    if (r == 0 && !rows->allocations_only)
        r = read_pieces(rows, rows->suspensions, KIND_SUSPENSION);
    if (r == 0 || r == -EMSGSIZE) {
        int ended = sql_commit(rows->db);

        if (ended < 0)
            r = ended;
    }
    if (r < 0)
        sql_rollback(rows->db); /* when it is still open */
    if (r == -EMSGSIZE && n > 1) {
        rows->alone = CHUNK;
        return read_chunk(rows);
    }
    if (rows->alone)
        rows->alone--;
    return r == -EMSGSIZE ? 0 : r; /* the steps beyond are left out */
}

/* Append a length-delimited field; there is room. */
static void add_field(struct acct_rows *rows, unsigned number, const void *data, size_t len)
{
    rows->len += pb_put_varint(rows->buf + rows->len, number << 3 | 2);
    rows->len += pb_put_varint(rows->buf + rows->len, len);
    if (len)
        memcpy(rows->buf + rows->len, data, len);
    rows->len += len;
}

/* The first piece of a run of that kind: each statement's are in order. */
static const struct piece *find_pieces(const struct acct_rows *rows, int64_t run, enum kind kind)
{
    size_t lo = 0, hi = rows->npieces;

    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        const struct piece *p = &rows->pieces[mid];

        if (p->kind < kind || (p->kind == kind && p->run < run))
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < rows->npieces && rows->pieces[lo].run == run && rows->pieces[lo].kind == kind
               ? &rows->pieces[lo]
               : NULL;
}

static const char *source_of(const struct acct_rows *rows, int64_t run)
{
    for (size_t i = 0; i < rows->nsources; i++)
        if (rows->sources[i].id == run >> ACCT_SOURCE_SHIFT)
            return rows->sources[i].name;
    return "";
}

static bool is_of(const struct acct_rows *rows, const struct piece *p, int64_t run, enum kind kind)
{
    return p && p < rows->pieces + rows->npieces && p->run == run && p->kind == kind;
}

/* 1 when the run is there; its AcctJob is in buf. */
static int put_together(struct acct_rows *rows, int64_t run)
{
    const char *cluster = source_of(rows, run);
    size_t need = strlen(cluster) + FIELD_HEADER_MAX;

    if (!find_pieces(rows, run, KIND_JOB))
        return 0;
    for (enum kind kind = KIND_JOB; kind <= KIND_SUSPENSION; kind++)
        for (const struct piece *p = find_pieces(rows, run, kind); is_of(rows, p, run, kind); p++)
            need += p->len + FIELD_HEADER_MAX;
    if (need > rows->buf_cap) {
        uint8_t *bigger = realloc(rows->buf, need * 2);

        if (!bigger)
            return -ENOMEM;
        rows->buf = bigger;
        rows->buf_cap = need * 2;
    }
    rows->len = 0;
    for (enum kind kind = KIND_JOB; kind <= KIND_SUSPENSION; kind++)
        for (const struct piece *p = find_pieces(rows, run, kind); is_of(rows, p, run, kind); p++)
            if (kind == KIND_JOB || rows->len + p->len + FIELD_HEADER_MAX <
                                        ACCT_JOB_MAX_BYTES - strlen(cluster) - FIELD_HEADER_MAX)
                add_field(rows, field_of[kind], rows->data + p->at, p->len);
    if (cluster[0])
        add_field(rows, ACCT_JOB_F_CLUSTER, cluster, strlen(cluster));
    return 1;
}

int acct_rows_next(struct acct_rows *rows, const uint8_t **ret_data, size_t *ret_len,
                   struct err *err)
{
    int found = 0;

    while (!found) {
        int r = 0;

        if (rows->next == rows->n)
            return 0;
        if (rows->next >= rows->chunk_end)
            r = read_chunk(rows);
        if (r == 0)
            r = found = put_together(rows, rows->runs[rows->next]);
        if (r < 0)
            return query_failed(rows, r, err);
        rows->next++;
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
