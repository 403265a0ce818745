/* sql.h - statements to a database, whichever engine it is: SQLite in a file, or a MariaDB server
 *
 * A database is named by its location: the path of a file is SQLite's, "mysql:" and what
 * sql_mysql_location() makes a server's.  The connector of MariaDB is loaded when the first server
 * is opened.
 *
 * One text serves both engines: parameters are `?`, lists are written out, REPLACE INTO replaces by
 * primary key, ids are numbered by the caller (max + 1 inside its transaction, no auto increment),
 * and what a table definition cannot say alike is a word with a dollar, which sql_exec() and
 * sql_prepare() replace:
 *
 *   $INT    64 bits
 *   $REAL   double
 *   $TEXT   bytes of any length, not in a key
 *   $BLOB   bytes of any length
 *   $KEY    up to 190 bytes, in a primary key or an index
 *   $TABLE  after the closing parenthesis of a table whose primary key is what it is read by
 *   $ROWS   after that of any other table
 *
 * Text is compared byte by byte.  One thread at a time per connection and its statements. Functions
 * give 0 or a negative errno: -ENOSPC full, -EBUSY locked or deadlocked, -ENOTCONN the server went
 * away (open a new connection), -EUCLEAN damaged, -EEXIST a key is there already, -EROFS,
 * -ECANCELED, -ENOMEM, -EIO. Transactions are undone whole when the connection ends, and by most
 * errors: after one, sql_rollback(). */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/err.h"

struct sql;
struct sql_stmt;

enum sql_engine { SQL_SQLITE, SQL_MYSQL };

#define SQL_KEY_MAX 190 /* bytes of a $KEY column */

enum sql_mode {
    SQL_WRITE, /* made when missing; SQLite: one writer at a time */
    SQL_READ,  /* -ENOENT: no such file */
    SQL_ASK,   /* as SQL_WRITE, but a server that is silent for some seconds is given up */
};

/* How the connection to a server is encrypted. */
enum sql_tls {
    SQL_TLS_CERT,
    SQL_TLS_KEY,
    SQL_TLS_CA,
    SQL_TLS_CAPATH,
    SQL_TLS_CIPHER,
    SQL_TLS_PARTS
};

struct sql_server {
    const char *host;        /* name, address, or the path of a socket; NULL = localhost */
    uint16_t port;           /* 0 = 3306 */
    const char *user, *pass; /* NULL = the process's, none */
    const char *database;    /* made when missing and SQL_WRITE */
    /* Paths, and a list of ciphers.  One that is set: a connection without TLS is refused; with an
     * authority, so is a server whose certificate is not its, or of another host.  All NULL: as the
     * connector likes. */
    const char *tls[SQL_TLS_PARTS];
};

/* The location of a server's database; the caller frees it.  Errors: -ENOMEM. */
int sql_mysql_location(const struct sql_server *server, char **ret_location);
enum sql_engine sql_location_engine(const char *location);
/* What to call it in messages: a path, or database@host:port without user and password. */
const char *sql_name(const struct sql *db);

/* Tables are not touched: see db.h.  Errors: as above, -EACCES, -ECONNREFUSED, -ELIBACC no
 * connector. */
int sql_open(const char *location, enum sql_mode mode, struct sql **ret_db, struct err *err);
/* Ends it and frees the statements still there; an open transaction is undone.  Always NULL. */
struct sql *sql_close(struct sql *db);
DEFINE_CLEANUP(struct sql *, sql_close)

/* For a process that must end, or leave a server, and may have threads that wait for it: while
 * `on`, its connections to servers are ended, those of other threads too, and none can be opened
 * (-ENOTCONN).  What a statement did that was not answered is unknown, as when a server goes
 * away.  Any thread.  Files are not touched; without a connector nothing is to be done. */
void sql_hang_up(bool on);

enum sql_engine sql_engine(const struct sql *db);
const char *sql_error(const struct sql *db); /* of the last failure; borrowed */
/* From now on statements return -ECANCELED soon after *cancel became true (SQLite: any statement;
 * server: between two rows).  NULL: never. */
void sql_set_cancel(struct sql *db, const atomic_bool *cancel);

/* One or more statements without parameters, separated by semicolons, rows dropped. */
int sql_exec(struct sql *db, const char *text);
/* Freed with the connection, or by sql_free(). */
int sql_prepare(struct sql *db, const char *text, struct sql_stmt **ret_stmt);
struct sql_stmt *sql_free(struct sql_stmt *stmt); /* always NULL */
DEFINE_CLEANUP(struct sql_stmt *, sql_free)

/* Parameters, from 0, each before every run; text and bytes are borrowed until the statement is
 * reset.  An index there is no `?` for is a mistake of the program: asserted. */
void sql_bind(struct sql_stmt *stmt, unsigned at, int64_t value);
void sql_bind_real(struct sql_stmt *stmt, unsigned at, double value);
void sql_bind_text(struct sql_stmt *stmt, unsigned at, const char *text); /* NULL: null */
void sql_bind_blob(struct sql_stmt *stmt, unsigned at, const void *data, size_t len);
void sql_bind_null(struct sql_stmt *stmt, unsigned at);

/* 1 with a row, 0 none is left (the statement is reset). A failed statement is reset too. */
int sql_step(struct sql_stmt *stmt);
void sql_reset(struct sql_stmt *stmt); /* to give up before the last row */
/* Run one that gives no rows, or whose rows do not matter. */
int sql_run(struct sql_stmt *stmt);
/* rows the last run inserted, found to update, or deleted */
int64_t sql_changes(const struct sql_stmt *stmt);

/* Columns of the present row, from 0; null is 0, 0.0 and NULL.  Valid until the next step or
 * reset. */
int64_t sql_int(struct sql_stmt *stmt, unsigned col);
double sql_real(struct sql_stmt *stmt, unsigned col);
const char *sql_text(struct sql_stmt *stmt, unsigned col);
const void *sql_blob(struct sql_stmt *stmt, unsigned col, size_t *ret_len);
bool sql_is_null(struct sql_stmt *stmt, unsigned col);

/* All rows into an array: read() fills an element of so many bytes (zeroed) from the present
 * row: 1 to keep it, 0 to leave it out, or a negative errno.  The caller frees what came, after
 * an error too. */
typedef int sql_read_fn(void *item, struct sql_stmt *stmt);
int sql_collect(struct sql_stmt *stmt, size_t size, sql_read_fn *read, void *ret_items,
                size_t *ret_n);

/* A transaction that will write.  None may be open. */
int sql_begin(struct sql *db);
/* One that only reads, from one moment's state; ended by sql_commit(). */
int sql_begin_read(struct sql *db);
int sql_commit(struct sql *db);
void sql_rollback(struct sql *db); /* no-op when none is open */

/* The first column of the first row of a statement without parameters; none = fallback. */
int sql_get(struct sql *db, const char *text, int64_t fallback, int64_t *ret);
