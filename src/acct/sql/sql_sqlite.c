/* sql_sqlite.c - statements to SQLite; see sql_impl.h.
 *
 * Durability is the caller's choice (PRAGMA synchronous, see db.c). */
#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "acct/sql/sql_impl.h"

#define WRITER_BUSY_MS 1000 /* another process may hold the file this long before it counts */
#define READER_BUSY_MS 5000
#define PROGRESS_OPS 100000 /* virtual machine steps between looks at `cancel` */

struct lite {
    struct sql base;
    sqlite3 *db;
};

struct lite_stmt {
    struct sql_stmt base;
    sqlite3_stmt *stmt;
};

static sqlite3_stmt *lite_of(struct sql_stmt *stmt)
{
    return ((struct lite_stmt *)stmt)->stmt;
}

static int error_of(sqlite3 *db)
{
    int sys = sqlite3_system_errno(db);

    switch (sqlite3_errcode(db) & 0xff) {
    case SQLITE_NOMEM:
        return -ENOMEM;
    case SQLITE_FULL:
        return -ENOSPC;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return -EBUSY;
    case SQLITE_READONLY:
        return -EROFS;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        return -EUCLEAN;
    case SQLITE_INTERRUPT:
        return -ECANCELED;
    case SQLITE_CONSTRAINT:
        return -EEXIST;
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN:
        return sys > 0 ? -sys : -EIO;
    default:
        return -EIO;
    }
}

static void lite_close(struct sql *db)
{
    (void)sqlite3_close(((struct lite *)db)->db); /* nothing is prepared any more */
    free(db->name);
    free(db);
}

static int lite_exec(struct sql *db, const char *text)
{
    sqlite3 *to = ((struct lite *)db)->db;

    return sqlite3_exec(to, text, NULL, NULL, NULL) == SQLITE_OK ? 0 : error_of(to);
}

static int lite_prepare(struct sql *db, const char *text, struct sql_stmt **ret_stmt)
{
    sqlite3 *to = ((struct lite *)db)->db;
    struct lite_stmt *s = calloc(1, sizeof(*s));

    if (!s)
        return -ENOMEM;
    if (sqlite3_prepare_v3(to, text, -1, SQLITE_PREPARE_PERSISTENT, &s->stmt, NULL) != SQLITE_OK) {
        free(s);
        return error_of(to);
    }
    s->base.nparams = (unsigned)sqlite3_bind_parameter_count(s->stmt);
    s->base.ncols = (unsigned)sqlite3_column_count(s->stmt);
    *ret_stmt = &s->base;
    return 0;
}

static void lite_free(struct sql_stmt *stmt)
{
    (void)sqlite3_finalize(lite_of(stmt)); /* repeats an error already reported */
    free(stmt);
}

/* Binding fails on no valid statement and index, and on no memory, which the step then meets. */
static void lite_bind_int(struct sql_stmt *stmt, unsigned at, int64_t value)
{
    (void)sqlite3_bind_int64(lite_of(stmt), (int)at + 1, value);
}

static void lite_bind_real(struct sql_stmt *stmt, unsigned at, double value)
{
    (void)sqlite3_bind_double(lite_of(stmt), (int)at + 1, value);
}

static void lite_bind_bytes(struct sql_stmt *stmt, unsigned at, const void *data, size_t len,
                            bool text)
{
    if (!data)
        (void)sqlite3_bind_null(lite_of(stmt), (int)at + 1);
    else if (text)
        (void)sqlite3_bind_text64(lite_of(stmt), (int)at + 1, data, len, SQLITE_STATIC,
                                  SQLITE_UTF8);
    else
        (void)sqlite3_bind_blob64(lite_of(stmt), (int)at + 1, data, len, SQLITE_STATIC);
}

static int lite_step(struct sql_stmt *stmt, bool first)
{
    sqlite3 *db = ((struct lite *)stmt->db)->db;
    int rc = sqlite3_step(lite_of(stmt));

    (void)first; /* SQLite knows */
    if (rc == SQLITE_ROW)
        return 1;
    if (rc != SQLITE_DONE)
        return error_of(db);
    stmt->changes = sqlite3_changes64(db);
    return 0;
}

static void lite_reset(struct sql_stmt *stmt)
{
    (void)sqlite3_reset(lite_of(stmt)); /* repeats the error just taken */
}

static int64_t lite_int(struct sql_stmt *stmt, unsigned col)
{
    return sqlite3_column_int64(lite_of(stmt), (int)col);
}

static double lite_real(struct sql_stmt *stmt, unsigned col)
{
    return sqlite3_column_double(lite_of(stmt), (int)col);
}

static const void *lite_bytes(struct sql_stmt *stmt, unsigned col, size_t *ret_len, bool text)
{
    const void *data = text ? sqlite3_column_text(lite_of(stmt), (int)col)
                            : sqlite3_column_blob(lite_of(stmt), (int)col);

    *ret_len = (size_t)sqlite3_column_bytes(lite_of(stmt), (int)col);
    return data;
}

static bool lite_is_null(struct sql_stmt *stmt, unsigned col)
{
    return sqlite3_column_type(lite_of(stmt), (int)col) == SQLITE_NULL;
}

static const char *lite_error(const struct sql *db)
{
    return sqlite3_errmsg(((const struct lite *)db)->db);
}

static int on_progress(void *ctx)
{
    const struct sql *db = ctx;

    return atomic_load_explicit(db->cancel, memory_order_relaxed);
}

static void lite_set_cancel(struct sql *db)
{
    sqlite3_progress_handler(((struct lite *)db)->db, db->cancel ? PROGRESS_OPS : 0,
                             db->cancel ? on_progress : NULL, db);
}

static const struct sql_ops ops = {
    .engine = SQL_SQLITE,
    .words = { "INTEGER", "TEXT", "REAL", "BLOB", "TEXT", " WITHOUT ROWID", "" },
    .close = lite_close,
    .exec = lite_exec,
    .prepare = lite_prepare,
    .free = lite_free,
    .bind_int = lite_bind_int,
    .bind_real = lite_bind_real,
    .bind_bytes = lite_bind_bytes,
    .step = lite_step,
    .reset = lite_reset,
    .get_int = lite_int,
    .get_real = lite_real,
    .get_bytes = lite_bytes,
    .is_null = lite_is_null,
    .error = lite_error,
    .set_cancel = lite_set_cancel,
    .begin_write = "BEGIN IMMEDIATE",
    .begin_read = "BEGIN",
};

/* A new file is for its owner's eyes.  One that exists is left alone: closing a descriptor of it
 * here would let go of the locks that other connections of this process hold. */
static void make_private(const char *path)
{
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

    if (fd >= 0)
        (void)close(fd); /* nothing was written */
}

int sql_sqlite_open(const char *path, enum sql_mode mode, struct sql **ret_db, struct err *err)
{
    int flags =
        SQLITE_OPEN_NOMUTEX |
        (mode == SQL_READ ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
    struct lite *l = calloc(1, sizeof(*l));
    int r;

    if (!l)
        return -ENOMEM;
    l->base.ops = &ops;
    l->base.name = strdup(path);
    if (mode != SQL_READ)
        make_private(path); /* whatever fails there fails below, with a sentence */
    if (!l->base.name || sqlite3_open_v2(path, &l->db, flags, NULL) != SQLITE_OK) {
        r = l->db ? error_of(l->db) : -ENOMEM;
        err_set(err, r, "accounting: cannot open %s: %s", path,
                r == -EIO ? sqlite3_errmsg(l->db) : strerrordesc_np(-r));
        lite_close(&l->base);
        return r;
    }
    (void)sqlite3_busy_timeout(l->db, mode == SQL_READ ? READER_BUSY_MS : WRITER_BUSY_MS);
    *ret_db = &l->base;
    return 0;
}
