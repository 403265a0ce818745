/* db.c - the accounting database as a file: connections, schema versions, errors.
 *
 * Durability: the database is in write-ahead mode with synchronous=NORMAL, so a commit does not
 * wait for the disk and a power cut may take the last ones back.  That loses nothing: the journal
 * cursor is a row of the same transactions, commits come back in order or not at all, and the
 * journal keeps everything after the cursor that was stored, from where it is applied again.
 *
 * The schema has a version (PRAGMA user_version) and one row of `migrations` per version; each runs
 * in a transaction that also sets the version. */
#include "acct/db.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "model/cluster.h"

#define APPLICATION_ID 0x50534143 /* "PSAC": tells our files from other programs' */
#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)
#define BUSY_MS 1000 /* another process may hold the file this long before it counts */
#define READER_BUSY_MS 5000

/* Index n leads from version n to n + 1; a released row is never changed. */
static const char *const migrations[] = {
    "CREATE TABLE meta(name TEXT PRIMARY KEY, value) WITHOUT ROWID;"
    "INSERT INTO meta VALUES('cursor', 0), ('base', 0);"
    "CREATE TABLE jobs("
    " run INTEGER PRIMARY KEY," /* meta.base + JobRecord.db_id */
    " job_id INTEGER NOT NULL,"
    " array_job_id INTEGER,"
    " array_task_id INTEGER,"
    " uid INTEGER NOT NULL,"
    " state INTEGER NOT NULL,"    /* JobState, or 32 + JobFlag REQUEUED */
    " begun_us INTEGER NOT NULL," /* submission, or the requeue that made the run */
    " eligible_us INTEGER,"       /* never before begun_us */
    " start_us INTEGER,"
    " end_us INTEGER NOT NULL," /* 2^63-1 until it is over */
    " partition TEXT, name TEXT, account TEXT, qos TEXT, nodes TEXT,"
    " record BLOB NOT NULL);" /* JobRecord */
    "CREATE INDEX jobs_job ON jobs(job_id);"
    "CREATE INDEX jobs_array ON jobs(array_job_id) WHERE array_job_id IS NOT NULL;"
    "CREATE INDEX jobs_end ON jobs(end_us);"
    "CREATE INDEX jobs_uid ON jobs(uid, end_us);"
    "CREATE TABLE steps("
    " run INTEGER NOT NULL,"
    " step INTEGER NOT NULL," /* step id; special ones negative: they come first */
    " record BLOB NOT NULL,"  /* StepRecord */
    " PRIMARY KEY(run, step)) WITHOUT ROWID;",
};
_Static_assert(ARRAY_SIZE(migrations) == ACCT_SCHEMA_VERSION, "a row per version");

int64_t acct_step_order(uint32_t step_id)
{
    switch (step_id) {
    case STEP_BATCH:
        return -3;
    case STEP_EXTERN:
        return -2;
    case STEP_INTERACTIVE:
        return -1;
    default:
        return step_id;
    }
}

int acct_db_errno(sqlite3 *db)
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
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN:
        return sys > 0 ? -sys : -EIO;
    default:
        return -EIO;
    }
}

int acct_db_exec(sqlite3 *db, const char *sql)
{
    return sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK ? 0 : acct_db_errno(db);
}

int acct_db_prepare(sqlite3 *db, const char *sql, sqlite3_stmt **ret_stmt)
{
    if (sqlite3_prepare_v3(db, sql, -1, SQLITE_PREPARE_PERSISTENT, ret_stmt, NULL) != SQLITE_OK)
        return acct_db_errno(db);
    return 0;
}

int acct_db_run(sqlite3_stmt *stmt)
{
    int rc = sqlite3_step(stmt);
    int r = rc == SQLITE_DONE || rc == SQLITE_ROW ? 0 : acct_db_errno(sqlite3_db_handle(stmt));

    (void)sqlite3_reset(stmt); /* repeats the error just taken */
    return r;
}

/* One number from the first row of sql. */
static int get_number(sqlite3 *db, const char *sql, int64_t *ret)
{
    sqlite3_stmt *stmt;
    int r = acct_db_prepare(db, sql, &stmt);

    if (r < 0)
        return r;
    if (sqlite3_step(stmt) == SQLITE_ROW)
        *ret = sqlite3_column_int64(stmt, 0);
    else
        r = acct_db_errno(db);
    (void)sqlite3_finalize(stmt); /* repeats the error just taken */
    return r;
}

static int open_failed(sqlite3 *db, const char *path, int r, struct err *err)
{
    if (r == -EUCLEAN)
        return err_set(err, r, "accounting: %s is damaged or no database: %s", path,
                       sqlite3_errmsg(db));
    return err_set(err, r, "accounting: cannot open %s: %s", path,
                   r == -EIO ? sqlite3_errmsg(db) : strerrordesc_np(-r));
}

static int migrate_one(sqlite3 *db, int64_t version)
{
    char set[64];
    int r = acct_db_exec(db, "BEGIN IMMEDIATE");

    if (r < 0)
        return r;
    (void)snprintf(set, sizeof(set), "PRAGMA user_version=%d", (int)version + 1);
    r = acct_db_exec(db, migrations[version]);
    if (r == 0)
        r = acct_db_exec(db, set);
    if (r == 0)
        r = acct_db_exec(db, "COMMIT");
    if (r < 0)
        (void)acct_db_exec(db, "ROLLBACK"); /* r says why */
    return r;
}

/* Is the file ours, and of a version we know?  A new one is made ours. */
static int claim(sqlite3 *db, const char *path, int64_t *ret_version, struct err *err)
{
    int64_t id = 0, tables = 0;
    int r = get_number(db, "PRAGMA application_id", &id);

    if (r == 0)
        r = get_number(db, "PRAGMA user_version", ret_version);
    if (r == 0)
        r = get_number(db, "SELECT count(*) FROM sqlite_master", &tables);
    if (r < 0)
        return open_failed(db, path, r, err);
    if (id == 0 && tables == 0 && *ret_version == 0) {
        r = acct_db_exec(db, "PRAGMA application_id=" TEXT(APPLICATION_ID));
        return r < 0 ? open_failed(db, path, r, err) : 0;
    }
    if (id != APPLICATION_ID)
        return err_set(err, -EINVAL, "accounting: %s is the database of another program", path);
    if (*ret_version > ACCT_SCHEMA_VERSION)
        return err_set(
            err, -EPROTONOSUPPORT,
            "accounting: %s was written by a newer release (schema %d, this one knows %d)", path,
            (int)*ret_version, ACCT_SCHEMA_VERSION);
    return 0;
}

static int set_up(sqlite3 *db, const char *path, struct err *err)
{
    int64_t version = 0;
    int r;

    (void)sqlite3_busy_timeout(db, BUSY_MS); /* fails on no valid handle */
    r = claim(db, path, &version, err);
    if (r < 0)
        return r;
    r = acct_db_exec(db, "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;"
                         "PRAGMA wal_autocheckpoint=8192; PRAGMA journal_size_limit=67108864;"
                         "PRAGMA cache_size=-65536;");
    for (; r == 0 && version < ACCT_SCHEMA_VERSION; version++)
        r = migrate_one(db, version);
    return r < 0 ? open_failed(db, path, r, err) : 0;
}

/* A new file is for its owner's eyes.  One that exists is left alone: closing a descriptor of it
 * here would let go of the locks that other connections of this process hold. */
static void make_private(const char *path)
{
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

    if (fd >= 0)
        (void)close(fd); /* nothing was written */
}

int acct_db_open(const char *path, sqlite3 **ret_db, struct err *err)
{
    sqlite3 *db = NULL;
    int r;

    make_private(path); /* whatever fails there fails below, with a sentence */
    if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
                        NULL) != SQLITE_OK)
        r = db ? open_failed(db, path, acct_db_errno(db), err) : -ENOMEM;
    else
        r = set_up(db, path, err);
    if (r < 0) {
        (void)sqlite3_close(db); /* nothing is prepared */
        return r;
    }
    *ret_db = db;
    return 0;
}

int acct_db_open_reader(const char *path, sqlite3 **ret_db, struct err *err)
{
    sqlite3 *db = NULL;
    int r;

    if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, NULL) != SQLITE_OK) {
        r = db ? open_failed(db, path, acct_db_errno(db), err) : -ENOMEM;
        (void)sqlite3_close(db); /* nothing is prepared */
        return r;
    }
    (void)sqlite3_busy_timeout(db, READER_BUSY_MS); /* fails on no valid handle */
    *ret_db = db;
    return 0;
}
