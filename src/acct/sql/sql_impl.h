/* sql_impl.h - what an engine provides; for sql*.c alone
 *
 * An engine embeds struct sql and struct sql_stmt as the first member of its own.  sql.c has
 * checked indexes, turned dollar words into the engine's, and seen to it that one statement at a
 * time has rows. */
#pragma once

#include <stdatomic.h>

#include "acct/sql/sql.h"

struct sql_ops {
    enum sql_engine engine;
    const char *words[7];                          /* for each of sql.c */
    void (*close)(struct sql *db);                 /* no statement is left; frees db and its name */
    int (*exec)(struct sql *db, const char *text); /* one statement or more */
    int (*prepare)(struct sql *db, const char *text, struct sql_stmt **ret_stmt);
    void (*free)(struct sql_stmt *stmt);
    void (*bind_int)(struct sql_stmt *stmt, unsigned at, int64_t value);
    void (*bind_real)(struct sql_stmt *stmt, unsigned at, double value);
    void (*bind_bytes)(struct sql_stmt *stmt, unsigned at, const void *data, size_t len, bool text);
    int (*step)(struct sql_stmt *stmt, bool first);
    void (*reset)(struct sql_stmt *stmt);
    int64_t (*get_int)(struct sql_stmt *stmt, unsigned col);
    double (*get_real)(struct sql_stmt *stmt, unsigned col);
    const void *(*get_bytes)(struct sql_stmt *stmt, unsigned col, size_t *ret_len, bool text);
    bool (*is_null)(struct sql_stmt *stmt, unsigned col);
    const char *(*error)(const struct sql *db);
    void (*set_cancel)(struct sql *db);
    const char *begin_write, *begin_read;
};

struct sql {
    const struct sql_ops *ops;
    char *name;
    struct sql_stmt *stmts;  /* all of them */
    struct sql_stmt *active; /* has rows */
    bool in_tx;
    const atomic_bool *cancel;
};

struct sql_stmt {
    struct sql *db;
    struct sql_stmt *prev, *next;
    unsigned nparams, ncols;
    int64_t changes;
    char *text; /* for sqllog.h */
};

int sql_sqlite_open(const char *path, enum sql_mode mode, struct sql **ret_db, struct err *err);
void sql_mysql_hang_up(bool on);
int sql_mysql_open(const struct sql_server *server, enum sql_mode mode, struct sql **ret_db,
                   struct err *err);
