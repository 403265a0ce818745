/* db.c - the accounting database: tables, versions, connections; see db.h.
 *
 * Durability with SQLite: the database is in write-ahead mode with synchronous=NORMAL, so a commit
 * does not wait for the disk and a power cut may take the last ones back.  That loses nothing: the
 * journal cursor is a row of the same transactions, commits come back in order or not at all, and
 * the journal keeps everything after the cursor that was stored, from where it is applied again.
 * (Of a server we ask no less: what it acknowledged and lost is fetched again by the cursor it
 * still has.)
 *
 * The version of the part `jobs` is SQLite's user_version; all others, and a server's, are rows of
 * the table `parts`. */
#include "acct/sql/db.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "model/cluster.h"

#define APPLICATION_ID 0x50534143 /* "PSAC": tells our files from other programs' */
#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)

#define PARTS                                                                                      \
    "CREATE TABLE IF NOT EXISTS parts(name $KEY NOT NULL PRIMARY KEY, version $INT NOT "           \
    "NULL)$TABLE;"
/* A cluster that feeds the store, its journal (uuid), and how far that is stored. */
#define SOURCES                                                                                    \
    "CREATE TABLE IF NOT EXISTS sources("                                                          \
    " id $INT NOT NULL PRIMARY KEY,"                                                               \
    " name $KEY NOT NULL,"                                                                         \
    " uuid $TEXT,"                                                                                 \
    " lsn $INT NOT NULL,"                                                                          \
    " base $INT NOT NULL,"             /* run = base + JobRecord.db_id */                          \
    " fed_us $INT NOT NULL,"           /* nothing older than this will come */                     \
    " rolled_us $INT NOT NULL)$TABLE;" /* usage is summed up to here */

/* What was still there at a time and had begun by another: both times are in the index, so that
 * rows of runs which ended later but began too late are not read. */
#define INDEX_END "end_us, begun_us"
#define INDEX_UID "uid, end_us, eligible_us, begun_us"

static const char *const sqlite_steps[] = {
    "CREATE TABLE meta(name TEXT PRIMARY KEY, value) WITHOUT ROWID;"
    "INSERT INTO meta VALUES('cursor', 0), ('base', 0);"
    "CREATE TABLE jobs("
    " run INTEGER PRIMARY KEY,"
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

    PARTS SOURCES
    "INSERT INTO sources SELECT 0, ifnull((SELECT value FROM meta WHERE name='cluster'),''),"
    " (SELECT value FROM meta WHERE name='cluster_id'), (SELECT value FROM meta WHERE "
    "name='cursor'),"
    " (SELECT value FROM meta WHERE name='base'), 0, 0"
    " WHERE (SELECT value FROM meta WHERE name='cursor') > 0 OR"
    " EXISTS (SELECT 1 FROM meta WHERE name='cluster');"
    "DROP TABLE meta;",

    "DROP INDEX jobs_end; DROP INDEX jobs_uid;"
    "CREATE INDEX jobs_end ON jobs(" INDEX_END ");"
    "CREATE INDEX jobs_uid ON jobs(" INDEX_UID ");",
};
static const struct acct_schema sqlite_schema = { "jobs", ARRAY_SIZE(sqlite_steps), sqlite_steps };

static const char *const mysql_steps[] = {
    "", /* there was none with a server */

    PARTS SOURCES
    "CREATE TABLE IF NOT EXISTS jobs("
    " run $INT NOT NULL PRIMARY KEY, job_id $INT NOT NULL, array_job_id $INT, array_task_id $INT,"
    " uid $INT NOT NULL, state $INT NOT NULL, begun_us $INT NOT NULL, eligible_us $INT, start_us "
    "$INT,"
    " end_us $INT NOT NULL, `partition` $TEXT, name $TEXT, account $TEXT, qos $TEXT, nodes $TEXT,"
    " record $BLOB NOT NULL, KEY jobs_job(job_id), KEY jobs_array(array_job_id),"
    " KEY jobs_end(end_us), KEY jobs_uid(uid, end_us))$ROWS;"
    "CREATE TABLE IF NOT EXISTS steps(run $INT NOT NULL, step $INT NOT NULL, record $BLOB NOT NULL,"
    " PRIMARY KEY(run, step))$ROWS;",

    "ALTER TABLE jobs DROP KEY jobs_end, DROP KEY jobs_uid, ADD KEY jobs_end(" INDEX_END "),"
    " ADD KEY jobs_uid(" INDEX_UID ")",
};
static const struct acct_schema mysql_schema = { "jobs", ARRAY_SIZE(mysql_steps), mysql_steps };

/* The other parts, in the order they are made. */
static const struct acct_schema *const more_parts[] = { &acct_schema_usage, &acct_schema_admin };

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

static int open_failed(struct sql *db, int r, struct err *err)
{
    if (r == -EUCLEAN)
        return err_set(err, r, "accounting: %s is damaged or no database: %s", sql_name(db),
                       sql_error(db));
    return err_set(err, r, "accounting: cannot open %s: %s", sql_name(db),
                   r == -EIO || sql_engine(db) == SQL_MYSQL ? sql_error(db) : strerrordesc_np(-r));
}

/* ---- versions -------------------------------------------------------------------------------- */

static int save_version(struct sql *db, const char *part, int64_t version)
{
    _cleanup_(sql_free) struct sql_stmt *stmt = NULL;
    int r;

    if (part == sqlite_schema.name && sql_engine(db) == SQL_SQLITE) {
        char set[64];

        (void)snprintf(set, sizeof(set), "PRAGMA user_version=%d", (int)version);
        return sql_exec(db, set);
    }
    r = sql_prepare(db, "REPLACE INTO parts VALUES(?, ?)", &stmt);
    if (r < 0)
        return r;
    sql_bind_text(stmt, 0, part);
    sql_bind(stmt, 1, version);
    return sql_run(stmt);
}

static int load_version(struct sql *db, const char *part, int64_t *ret)
{
    _cleanup_(sql_free) struct sql_stmt *stmt = NULL;
    int r = sql_prepare(db, "SELECT version FROM parts WHERE name=?", &stmt);

    if (r < 0)
        return r;
    sql_bind_text(stmt, 0, part);
    r = sql_step(stmt);
    if (r >= 0)
        *ret = r ? sql_int(stmt, 0) : 0;
    return r < 0 ? r : 0;
}

static int run_migrations(struct sql *db, const struct acct_schema *part, int64_t version)
{
    for (; version < part->version; version++) {
        int r = sql_begin(db);

        if (r == 0)
            r = sql_exec(db, part->steps[version]);
        /* no `parts` before the second step of jobs: where there was none, it is version 0 */
        if (r == 0 &&
            (sql_engine(db) == SQL_SQLITE || version > 0 || strcmp(part->name, "jobs") != 0))
            r = save_version(db, part->name, version + 1);
        if (r == 0)
            r = sql_commit(db);
        if (r < 0) {
            sql_rollback(db);
            return r;
        }
    }
    return 0;
}

static int refuse_newer(const struct sql *db, int64_t version, unsigned known, struct err *err)
{
    return err_set(err, -EPROTONOSUPPORT,
                   "accounting: %s was written by a newer release (schema %d, this one knows %d)",
                   sql_name(db), (int)version, (int)known);
}

static int migrate_part(struct sql *db, const struct acct_schema *part, struct err *err)
{
    int64_t version = 0;
    int r = load_version(db, part->name, &version);

    if (r == 0 && version > part->version)
        return refuse_newer(db, version, part->version, err);
    if (r == 0)
        r = run_migrations(db, part, version);
    return r < 0 ? open_failed(db, r, err) : 0;
}

/* ---- engines --------------------------------------------------------------------------------- */

/* Is the file ours, and of a version we know?  A new one is made ours. */
static int claim_database(struct sql *db, int64_t *ret_version, struct err *err)
{
    int64_t id = 0, tables = 0;
    int r = sql_get(db, "PRAGMA application_id", 0, &id);

    if (r == 0)
        r = sql_get(db, "PRAGMA user_version", 0, ret_version);
    if (r == 0)
        r = sql_get(db, "SELECT count(*) FROM sqlite_master", 0, &tables);
    if (r < 0)
        return open_failed(db, r, err);
    if (id == 0 && tables == 0 && *ret_version == 0) {
        r = sql_exec(db, "PRAGMA application_id=" TEXT(APPLICATION_ID));
        return r < 0 ? open_failed(db, r, err) : 0;
    }
    if (id != APPLICATION_ID)
        return err_set(err, -EINVAL, "accounting: %s is the database of another program",
                       sql_name(db));
    if (*ret_version > sqlite_schema.version)
        return refuse_newer(db, *ret_version, sqlite_schema.version, err);
    return 0;
}

static int set_up_sqlite(struct sql *db, struct err *err)
{
    int64_t version = 0;
    int r = claim_database(db, &version, err);

    if (r < 0)
        return r;
    r = sql_exec(db, "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;"
                     "PRAGMA wal_autocheckpoint=8192; PRAGMA journal_size_limit=67108864;"
                     "PRAGMA cache_size=-65536;");
    if (r == 0)
        r = run_migrations(db, &sqlite_schema, version);
    return r < 0 ? open_failed(db, r, err) : 0;
}

static int set_up_mysql(struct sql *db, struct err *err)
{
    int64_t tables = 0;
    int r = sql_get(db,
                    "SELECT count(*) FROM information_schema.tables WHERE table_schema=DATABASE()"
                    " AND table_name='parts'",
                    0, &tables);

    if (r < 0)
        return open_failed(db, r, err);
    if (tables)
        return migrate_part(db, &mysql_schema, err);
    r = run_migrations(db, &mysql_schema, 0);
    return r < 0 ? open_failed(db, r, err) : 0;
}

int acct_db_open(const char *location, struct sql **ret_db, struct err *err)
{
    _cleanup_(sql_close) struct sql *db = NULL;
    int r = sql_open(location, SQL_WRITE, &db, err);

    if (r < 0)
        return r;
    r = sql_engine(db) == SQL_SQLITE ? set_up_sqlite(db, err) : set_up_mysql(db, err);
    for (size_t i = 0; r == 0 && i < ARRAY_SIZE(more_parts); i++)
        r = migrate_part(db, more_parts[i], err);
    if (r == 0)
        *ret_db = TAKE_PTR(db);
    return r;
}

int acct_db_open_reader(const char *location, struct sql **ret_db, struct err *err)
{
    return sql_open(location, SQL_READ, ret_db, err);
}
