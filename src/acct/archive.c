/* archive.c - old rows into files and back; see archive.h.
 *
 * A file begins with a line `penstock archive 1 TABLE COLUMNS SOURCE CLUSTER`; each value follows
 * as `n` (null), `i` number `;`, or `b` length `:` bytes.  Rows are selected, written, synced and
 * deleted in one transaction, so whatever dies, a row is in the database or in a file. */
#include "acct/archive.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "acct/sql/db.h"
#include "acctop.pb-c.h"
#include "base/cleanup.h"
#include "base/digest.h"
#include "base/log.h"
#include "base/text/hextext.h"
#include "base/timefmt.h"
#include "job.pb-c.h"
#include "resv.pb-c.h"

#define HEAD "penstock archive 1 "
#define NAMES_MAX 10000u
#define COLUMNS_MAX 16u
#define VALUE_MAX (64u << 20)
#define SOURCE_NAME_MAX 256u
#define HOUR_US (3600 * USEC_PER_SEC)

static const struct kind {
    const char *name, *table;
    unsigned columns;
    const char *types; /* i number, b bytes, t text that is looked for */
    char owner;        /* the first column: s the source, r a run of it; else nobody's */
    const ProtobufCMessageDescriptor *record; /* the last column; NULL: none */
    const char *into; /* of an older release: the table it is read into; NULL = its own */
} kinds[] = {
    { "event", "events", 9, "ibiiibibb", 's' },
    { "job", "jobs", 16, "iiiiiiiiiibbbbbb", 'r', &pst__job_record__descriptor },
    { "step", "steps", 3, "iib", 'r', &pst__step_record__descriptor },
    { "usage", "usage_sums", 6, "iiiiii", 's' },
    { "cluster_usage", "usage_cluster", 11, "iiiiiiiiiii", 's' },
    { "suspend", "suspensions", 3, "iii", 'r' },
    { "resv", "reservations", 7, "iiiiibb", 's', &pst__reservation_record__descriptor },
    { "resv_usage", "usage_resv", 6, "iiiiii", 's' },
    { "txn", "txns", 3, "iib", 0, &pst__acct_txn_record__descriptor },
    { "job_script", "contents", 4, "itib" },
    { "job_env", "contents", 4, "itib" },
    { "job_script", "blobs", 4, "iiib", .into = "contents" }, /* its hashes become names */
};
enum {
    KIND_EVENT,
    KIND_JOB,
    KIND_STEP,
    KIND_USAGE,
    KIND_CLUSTER_USAGE,
    KIND_SUSPEND,
    KIND_RESV,
    KIND_RESV_USAGE,
    KIND_TXN,
    KIND_SCRIPT,
    KIND_ENV,
    KIND_OLD_BLOB
};

struct source {
    int64_t id;
    char name[SOURCE_NAME_MAX];
};

struct out {
    FILE *f;
    char *path;
    off_t kept; /* so much of it holds rows that are gone, or may be */
};

struct work {
    struct sql *db;
    const struct archive_what *what;
    const struct source *source;
    bool first; /* source: what belongs to none goes with it */
    int64_t now_us;
    struct out outs[ARRAY_SIZE(kinds)];
    uint64_t rows;
    struct err *err;
};

/* ---- writing --------------------------------------------------------------------------------- */

static int file_failed(struct work *w, const char *path)
{
    int r = errno ? -errno : -EIO;

    return err_set(w->err, r, "archive %s: %s", path, strerrordesc_np(-r));
}

/* The name of a file that is there already, of the same hour for one, gets a number behind it:
 * nothing is written into what others may have made.  The name is on disk before rows are gone. */
static int create_out(const struct work *w, struct out *o)
{
    _cleanup_free_ char *name = o->path;
    _cleanup_close_ int dir = -1;
    int fd = -1;

    o->path = NULL;
    for (unsigned i = 0; fd < 0 && i < NAMES_MAX; i++) {
        free(o->path);
        if ((i ? asprintf(&o->path, "%s.%u", name, i) : asprintf(&o->path, "%s", name)) < 0) {
            o->path = NULL;
            errno = ENOMEM;
            return -1;
        }
        fd = open(o->path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (fd < 0 && errno != EEXIST)
            return -1;
    }
    dir = fd < 0 ? -1 : open(w->what->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0 && (dir < 0 || (fsync(dir) < 0 && errno != EINVAL))) {
        (void)close(fd); /* nothing was written */
        (void)unlink(o->path);
        return -1;
    }
    return fd;
}

static int open_out(struct work *w, size_t kind, int64_t from_us, int64_t to_us)
{
    struct out *o = &w->outs[kind];
    char from[32], to[32];
    int fd;

    if (o->f)
        return 0;
    time_fmt_stamp(from_us, "", 0, from, sizeof(from));
    time_fmt_stamp(to_us, "", 0, to, sizeof(to));
    if (asprintf(&o->path, "%s/%s_%s_archive_%s_%s", w->what->dir, w->source->name,
                 kinds[kind].name, from, to) < 0) {
        o->path = NULL;
        return -ENOMEM;
    }
    fd = create_out(w, o);
    o->f = fd < 0 ? NULL : fdopen(fd, "a");
    if (!o->f) {
        if (fd >= 0)
            (void)close(fd); /* nothing was written */
        return file_failed(w, o->path);
    }
    (void)fprintf(o->f, HEAD "%s %u %lld %s\n", kinds[kind].table, kinds[kind].columns,
                  (long long)w->source->id, w->source->name); /* failures show at the flush */
    return 0;
}

static void put_value(FILE *f, struct sql_stmt *stmt, unsigned col, char type)
{
    size_t len;
    const void *data;

    if (sql_is_null(stmt, col)) {
        (void)fputc('n', f);
    } else if (type == 'i') {
        (void)fprintf(f, "i%lld;", (long long)sql_int(stmt, col));
    } else {
        data = sql_blob(stmt, col, &len);
        (void)fprintf(f, "b%zu:", len);
        if (len)
            (void)fwrite(data, 1, len, f);
    }
}

/* What has been written is on disk, and its rows go now. */
static void keep_outs(struct work *w)
{
    for (size_t i = 0; i < ARRAY_SIZE(w->outs); i++) {
        struct stat st;

        if (w->outs[i].f && fstat(fileno(w->outs[i].f), &st) == 0)
            w->outs[i].kept = st.st_size;
    }
}

/* Takes back what was written of rows that stay: half a row at its end made a file unreadable. */
static void cut_out(struct out *o)
{
    int fd = dup(fileno(o->f));

    (void)fclose(o->f); /* what it still holds is cut off */
    o->f = NULL;
    if (o->kept == 0)
        (void)unlink(o->path); /* a failure leaves rows that are there too */
    else if (fd >= 0 && ftruncate(fd, o->kept) < 0)
        log_error("archive %s cannot be cut at %lld: %s", o->path, (long long)o->kept,
                  strerrordesc_np(errno));
    if (fd >= 0)
        (void)close(fd);
}

/* Write what a select finds to the kind's file, and see it on disk. */
static int dump_rows(struct work *w, size_t kind, const char *select, int64_t from_us,
                     int64_t to_us)
{
    _cleanup_(sql_free) struct sql_stmt *stmt = NULL;
    struct out *o = &w->outs[kind];
    int r = sql_prepare(w->db, select, &stmt);

    while (r == 0 && (r = sql_step(stmt)) == 1) {
        r = open_out(w, kind, from_us, to_us);
        for (unsigned i = 0; r == 0 && i < kinds[kind].columns; i++)
            put_value(o->f, stmt, i, kinds[kind].types[i]);
        w->rows++;
    }
    if (r < 0 || !o->f)
        return r;
    errno = 0;
    if (fflush(o->f) != 0 || fsync(fileno(o->f)) < 0)
        return file_failed(w, o->path);
    return 0;
}

/* ---- jobs and steps -------------------------------------------------------------------------- */

/* Runs behind `after` that ended before end_us, at most `limit`: the last one's number; 0: none. */
static int last_run(struct work *w, int64_t after, int64_t end_us, int64_t *ret)
{
    char text[256];

    (void)snprintf(
        text, sizeof(text),
        "SELECT max(run) FROM (SELECT run FROM jobs WHERE run>%lld AND run<%lld AND end_us<%lld"
        " ORDER BY run LIMIT %llu) x",
        (long long)after, (long long)ACCT_RUNS_OF(w->source->id + 1), (long long)end_us,
        (unsigned long long)w->what->limit);
    return sql_get(w->db, text, 0, ret);
}

static int purge_some(struct work *w, int64_t after, int64_t last, int64_t step_us, int64_t job_us,
                      int64_t first_us)
{
    char range[160], text[512];
    int64_t cut = MAX(step_us, job_us);
    int r = 0;

    (void)snprintf(range, sizeof(range), "j.run>%lld AND j.run<=%lld AND j.end_us<%lld",
                   (long long)after, (long long)last, (long long)cut);
    if (w->what->steps || (w->what->jobs && job_us)) {
        (void)snprintf(text, sizeof(text),
                       "SELECT s.* FROM jobs j JOIN steps s ON s.run=j.run WHERE %s", range);
        r = dump_rows(w, KIND_STEP, text, first_us, cut);
    }
    if (r == 0 && w->what->jobs && job_us) {
        (void)snprintf(text, sizeof(text),
                       "SELECT j.* FROM jobs j WHERE j.run>%lld AND j.run<=%lld AND j.end_us<%lld",
                       (long long)after, (long long)last, (long long)job_us);
        r = dump_rows(w, KIND_JOB, text, first_us, job_us);
    }
    if (r == 0 && w->what->suspends && job_us) {
        (void)snprintf(
            text, sizeof(text),
            "SELECT s.* FROM jobs j JOIN suspensions s ON s.run=j.run WHERE %s AND j.end_us<%lld",
            range, (long long)job_us);
        r = dump_rows(w, KIND_SUSPEND, text, first_us, job_us);
    }
    if (r < 0)
        return r;
    (void)snprintf(
        text, sizeof(text),
        "DELETE FROM steps WHERE run IN (SELECT run FROM jobs j WHERE %s);"
        "DELETE FROM suspensions WHERE run IN (SELECT run FROM jobs j WHERE %s AND j.end_us<%lld);",
        range, range, (long long)job_us);
    r = sql_exec(w->db, text);
    if (r < 0 || !job_us)
        return r;
    (void)snprintf(text, sizeof(text),
                   "DELETE FROM jobs WHERE run>%lld AND run<=%lld AND end_us<%lld",
                   (long long)after, (long long)last, (long long)job_us);
    return sql_exec(w->db, text);
}

/* 0 also when nothing is older than time itself. */
int64_t acct_archive_cut(int64_t now_us, uint64_t hours)
{
    uint64_t now_h = (uint64_t)(now_us / HOUR_US);

    return hours && hours < now_h ? (int64_t)(now_h - hours) * HOUR_US : 0;
}

static int64_t cut_of(const struct work *w, uint64_t hours)
{
    return acct_archive_cut(w->now_us, hours);
}

static int purge_jobs(struct work *w)
{
    int64_t job_us = cut_of(w, w->what->job_h), step_us = cut_of(w, w->what->step_h);
    int64_t after = ACCT_RUNS_OF(w->source->id) - 1, last = 0, first_us = 0,
            cut = MAX(job_us, step_us);
    char text[160];
    int r = 0;

    (void)snprintf(text, sizeof(text), "SELECT min(end_us) FROM jobs WHERE run>%lld AND run<%lld",
                   (long long)after, (long long)ACCT_RUNS_OF(w->source->id + 1));
    if (cut)
        r = sql_get(w->db, text, cut, &first_us);
    while (r == 0 && cut) {
        r = sql_begin(w->db);
        if (r == 0)
            r = last_run(w, after, cut, &last);
        if (r == 0 && last)
            r = purge_some(w, after, last, step_us, job_us, first_us);
        if (r == 0) {
            keep_outs(w);
            r = sql_commit(w->db);
        }
        if (r < 0)
            sql_rollback(w->db);
        if (r < 0 || !last)
            return r;
        after = last;
    }
    return r;
}

/* ---- events and usage ------------------------------------------------------------------------ */

/* Rows of a table before a time that a condition chooses: `column` in units of unit_us. */
static int purge_where(struct work *w, size_t kind, bool archive, const char *column,
                       int64_t cut_us, int64_t unit_us, const char *condition)
{
    char where[256], text[320];
    int64_t first = 0;
    int r;

    if (!cut_us)
        return 0;
    (void)snprintf(where, sizeof(where), "FROM %s WHERE %s<%lld AND %s", kinds[kind].table, column,
                   (long long)(cut_us / unit_us), condition);
    r = sql_begin(w->db);
    (void)snprintf(text, sizeof(text), "SELECT min(%s) %s", column, where);
    if (r == 0)
        r = sql_get(w->db, text, 0, &first);
    (void)snprintf(text, sizeof(text), "SELECT * %s", where);
    if (r == 0 && archive)
        r = dump_rows(w, kind, text, first * unit_us, cut_us);
    (void)snprintf(text, sizeof(text), "DELETE %s", where);
    if (r == 0)
        r = sql_exec(w->db, text);
    if (r == 0) {
        keep_outs(w);
        r = sql_commit(w->db);
    }
    if (r < 0)
        sql_rollback(w->db);
    return r;
}

static int purge_table(struct work *w, size_t kind, bool archive, const char *column,
                       int64_t cut_us, int64_t unit_us)
{
    char condition[64];

    (void)snprintf(condition, sizeof(condition), "source=%lld", (long long)w->source->id);
    return purge_where(w, kind, archive, column, cut_us, unit_us, condition);
}

static int purge_suspends(struct work *w)
{
    char condition[96];

    (void)snprintf(condition, sizeof(condition), "run>=%lld AND run<%lld",
                   (long long)ACCT_RUNS_OF(w->source->id),
                   (long long)ACCT_RUNS_OF(w->source->id + 1));
    return purge_where(w, KIND_SUSPEND, w->what->suspends, "end_us", cut_of(w, w->what->suspend_h),
                       1, condition);
}

/* Periods that are over, and the sums of their use. */
static int purge_resvs(struct work *w)
{
    int64_t cut = cut_of(w, w->what->resv_h);
    char condition[96];
    int r;

    (void)snprintf(condition, sizeof(condition), "source=%lld AND state=2",
                   (long long)w->source->id);
    r = purge_where(w, KIND_RESV, w->what->resvs, "end_us", cut, 1, condition);
    return r < 0 ? r
                 : purge_table(w, KIND_RESV_USAGE, w->what->resvs, "start_s", cut, USEC_PER_SEC);
}

/* The last one stays: the numbers of those to come follow it. */
static int purge_txns(struct work *w)
{
    char condition[64];
    int64_t last = 0;
    int r = sql_get(w->db, "SELECT max(id) FROM txns", 0, &last);

    (void)snprintf(condition, sizeof(condition), "id<%lld", (long long)last);
    return r < 0 ? r
                 : purge_where(w, KIND_TXN, w->what->txns, "time_us", cut_of(w, w->what->txn_h), 1,
                               condition);
}

/* Scripts and environments belong to jobs of any source. */
static int purge_blobs(struct work *w)
{
    const struct archive_what *what = w->what;
    int r = purge_where(w, KIND_SCRIPT, what->scripts, "used_us", cut_of(w, what->script_h), 1,
                        "kind=0");

    return r < 0 ? r
                 : purge_where(w, KIND_ENV, what->envs, "used_us", cut_of(w, what->env_h), 1,
                               "kind=1");
}

static int purge_source(struct work *w)
{
    const struct archive_what *what = w->what;
    int64_t usage_us = cut_of(w, what->usage_h);
    int r = purge_jobs(w);

    if (r == 0)
        r = purge_suspends(w);
    if (r == 0)
        r = purge_resvs(w);
    if (r == 0 && w->first)
        r = purge_txns(w);
    if (r == 0 && w->first)
        r = purge_blobs(w);

    if (r == 0)
        r = purge_table(w, KIND_EVENT, what->events, "end_us", cut_of(w, what->event_h), 1);
    if (r == 0)
        r = purge_table(w, KIND_USAGE, what->usage, "start_s", usage_us, USEC_PER_SEC);
    if (r == 0)
        r = purge_table(w, KIND_CLUSTER_USAGE, what->usage, "start_s", usage_us, USEC_PER_SEC);
    return r;
}

static void close_outs(struct work *w, bool failed, struct strbuf *files)
{
    for (size_t i = 0; i < ARRAY_SIZE(w->outs); i++) {
        if (w->outs[i].f && failed) {
            cut_out(&w->outs[i]);
        } else if (w->outs[i].f) {
            (void)fclose(w->outs[i].f); /* it was synced */
            if (files)
                strbuf_addf(files, "%s\n", w->outs[i].path);
        }
        free(w->outs[i].path);
        w->outs[i] = (struct out){ NULL };
    }
}

static int read_source(void *item, struct sql_stmt *stmt)
{
    struct source *s = item;

    s->id = sql_int(stmt, 0);
    (void)snprintf(s->name, SOURCE_NAME_MAX, "%s", sql_text(stmt, 1)); /* a key: fits */
    return 1;
}

static int load_sources(struct sql *db, struct source **ret, size_t *ret_n)
{
    _cleanup_(sql_free) struct sql_stmt *stmt = NULL;
    int r = sql_prepare(db, "SELECT id, name FROM sources ORDER BY id", &stmt);

    return r < 0 ? r : sql_collect(stmt, sizeof(**ret), read_source, ret, ret_n);
}

int acct_archive(struct sql *db, const struct archive_what *what, int64_t now_us,
                 struct strbuf *files, uint64_t *ret_rows, struct err *err)
{
    _cleanup_free_ struct source *sources = NULL;
    struct work w = { .db = db, .what = what, .now_us = now_us, .err = err };
    size_t n = 0;
    int r = load_sources(db, &sources, &n);

    for (size_t i = 0; r == 0 && i < n; i++) {
        w.source = &sources[i];
        w.first = i == 0;
        r = purge_source(&w);
        close_outs(&w, r < 0, files);
    }
    if (ret_rows)
        *ret_rows = w.rows;
    if (r < 0 && !(err && err->text[0]))
        return err_set(err, r, "accounting: old records cannot be purged: %s",
                       r == -ENOMEM ? strerrordesc_np(-r) : sql_error(db));
    return r;
}

/* ---- loading --------------------------------------------------------------------------------- */

static int not_an_archive(struct err *err, const char *path)
{
    return err_set(err, -EINVAL, "%s is no archive of this release, or damaged", path);
}

struct value { /* of a row that is being loaded */
    char what; /* n null, i number, b bytes */
    long long number;
    char *bytes; /* owned; with a 0 behind */
    size_t len;
};

/* 0, -EINVAL, -ENOMEM; 1: the file's end. */
static int read_value(FILE *f, char type, struct value *v)
{
    int c = fgetc(f);

    if (c == EOF)
        return 1;
    v->what = (char)c;
    if (c == 'n')
        return 0;
    if (c == 'i' && type == 'i')
        return fscanf(f, "%20lld", &v->number) == 1 && fgetc(f) == ';' ? 0 : -EINVAL;
    if (c != 'b' || type == 'i' || fscanf(f, "%10zu", &v->len) != 1 || fgetc(f) != ':' ||
        v->len > VALUE_MAX)
        return -EINVAL;
    free(v->bytes);
    v->bytes = malloc(v->len + 1);
    if (!v->bytes)
        return -ENOMEM;
    if (fread(v->bytes, 1, v->len, f) != v->len)
        return -EINVAL;
    v->bytes[v->len] = '\0';
    return 0;
}

static void bind_value(struct sql_stmt *stmt, unsigned at, char type, const struct value *v)
{
    if (v->what == 'n')
        sql_bind_null(stmt, at);
    else if (v->what == 'i')
        sql_bind(stmt, at, v->number);
    else if (type == 't')
        sql_bind_text(stmt, at, v->bytes);
    else
        sql_bind_blob(stmt, at, v->bytes, v->len);
}

static bool is_record(const ProtobufCMessageDescriptor *type, const struct value *v)
{
    ProtobufCMessage *msg =
        v->what == 'b' ? protobuf_c_message_unpack(type, NULL, v->len, (const uint8_t *)v->bytes)
                       : NULL;

    if (msg)
        protobuf_c_message_free_unpacked(msg, NULL);
    return msg != NULL;
}

/* A script or environment is found by the digest of its bytes; old names do not tell. */
static bool is_named_well(const struct value *name, const struct value *data)
{
    char hex[2 * DIGEST_SIZE + 1];
    struct digest d;

    if (name->what != 'b' || data->what != 'b')
        return false;
    if (name->len != 2 * DIGEST_SIZE)
        return true;
    if (digest_of(data->bytes, data->len, &d) < 0)
        return false;
    hextext_write(d.bytes, DIGEST_SIZE, hex);
    return strcmp(hex, name->bytes) == 0;
}

/* Is the row what it is said to be: of the cluster whose file this is, with a record that can be
 * read?  One that cannot would end every list of jobs. */
static bool is_sound(const struct kind *kind, int64_t source, const struct value *row)
{
    long long first = row[0].number;

    if (kind->owner && row[0].what != 'i')
        return false;
    if (kind->owner == 's' && first != source)
        return false;
    if (kind->owner == 'r' && (first < ACCT_RUNS_OF(source) || first >= ACCT_RUNS_OF(source + 1)))
        return false;
    if (kind->record && !is_record(kind->record, &row[kind->columns - 1]))
        return false;
    return strchr(kind->types, 't') == NULL || is_named_well(&row[1], &row[3]);
}

static int load_rows(struct sql *db, FILE *f, const struct kind *kind, int64_t source,
                     uint64_t *ret_rows)
{
    _cleanup_(sql_free) struct sql_stmt *stmt = NULL;
    struct value row[COLUMNS_MAX] = { 0 };
    char text[128];
    int r, n = snprintf(text, sizeof(text), "REPLACE INTO %s VALUES(",
                        kind->into ? kind->into : kind->table);

    for (unsigned i = 0; i < kind->columns; i++)
        n += snprintf(text + n, sizeof(text) - (size_t)n, i ? ",?" : "?");
    (void)snprintf(text + n, sizeof(text) - (size_t)n, ")");
    r = sql_prepare(db, text, &stmt);
    while (r == 0) {
        for (unsigned i = 0; r == 0 && i < kind->columns; i++) {
            r = read_value(f, kind->types[i], &row[i]);
            if (r == 1 && i)
                r = -EINVAL; /* in the middle of a row */
            if (r == 0)
                bind_value(stmt, i, kind->types[i], &row[i]);
        }
        if (r == 0 && !is_sound(kind, source, row))
            r = -EINVAL;
        if (r == 0)
            r = sql_run(stmt);
        *ret_rows += r == 0;
    }
    for (unsigned i = 0; i < COLUMNS_MAX; i++)
        free(row[i].bytes);
    return r == 1 ? 0 : r;
}

/* The line that a file begins with: whose rows it has. */
static int read_head(struct sql *db, FILE *f, const char *path, const struct kind **ret,
                     int64_t *ret_source, struct err *err)
{
    _cleanup_(sql_free) struct sql_stmt *stmt = NULL;
    char line[512], table[64], cluster[SOURCE_NAME_MAX];
    unsigned columns;
    long long source;
    int r;

    if (!fgets(line, sizeof(line), f) ||
        sscanf(line, HEAD "%63s %u %lld %255[^\n]", table, &columns, &source, cluster) != 4)
        return not_an_archive(err, path);
    *ret = NULL;
    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
        if (strcmp(kinds[i].table, table) == 0 && kinds[i].columns == columns)
            *ret = &kinds[i];
    if (!*ret)
        return not_an_archive(err, path);
    r = sql_prepare(db, "SELECT 1 FROM sources WHERE id=? AND name=?", &stmt);
    if (r < 0)
        return r;
    *ret_source = source;
    sql_bind(stmt, 0, source);
    sql_bind_text(stmt, 1, cluster);
    r = sql_step(stmt);
    return r == 0 ? err_set(err, -EINVAL,
                            "%s was made by another store: cluster %s has another number here",
                            path, cluster)
                  : MIN(r, 0);
}

int acct_archive_load(struct sql *db, const char *path, uint64_t *ret_rows, struct err *err)
{
    const struct kind *kind = NULL;
    uint64_t rows = 0;
    int64_t source = 0;
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC); /* a pipe without a writer */
    FILE *f = fd < 0 ? NULL : fdopen(fd, "r");
    struct stat st;
    int r;

    if (!f) {
        r = -errno;
        if (fd >= 0)
            (void)close(fd); /* nothing was read */
        return err_set(err, r, "%s: %s", path, strerrordesc_np(-r));
    }
    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
        (void)fclose(f); /* nothing was read */
        return err_set(err, -EINVAL, "%s is no regular file", path);
    }
    r = read_head(db, f, path, &kind, &source, err);
    if (r == 0)
        r = sql_begin(db);
    if (r == 0) {
        r = load_rows(db, f, kind, source, &rows);
        if (r == 0)
            r = sql_commit(db);
        if (r < 0)
            sql_rollback(db);
    }
    (void)fclose(f); /* read only */
    if (r == 0)
        *ret_rows = rows;
    else if (r == -EINVAL && !(err && err->text[0]))
        return not_an_archive(err, path);
    else if (!(err && err->text[0]))
        return err_set(err, r, "%s cannot be loaded: %s", path,
                       r == -ENOMEM ? strerrordesc_np(-r) : sql_error(db));
    return r;
}
