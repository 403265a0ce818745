/* sql.c - one face for the engines; see sql.h.
 *
 * Invariant: at most one statement of a connection has rows waiting.  A server's connection carries
 * one result at a time, so what would fail there is a mistake of the program with every engine. */
#include "acct/sql/sql_impl.h"
#include "acct/sql/sqllog.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/strbuf.h"

#define MYSQL_PREFIX "mysql:"
#define LOCATION_PARTS 5

static const char *const words[] = { "INT", "TEXT", "REAL", "BLOB", "KEY", "TABLE", "ROWS" };

/* ---- locations ------------------------------------------------------------------------------- */

/* Parts follow each other behind colons; what would end one is a percent sign and its number. */
static void add_part(struct strbuf *sb, const char *text)
{
    strbuf_addc(sb, ':');
    for (const char *p = text ? text : ""; *p; p++) {
        if (*p == ':' || *p == '%')
            strbuf_addf(sb, "%%%02x", (unsigned)(unsigned char)*p);
        else
            strbuf_addc(sb, *p);
    }
}

static bool has_tls(const struct sql_server *server)
{
    for (unsigned i = 0; i < SQL_TLS_PARTS; i++)
        if (server->tls[i])
            return true;
    return false;
}

int sql_mysql_location(const struct sql_server *server, char **ret_location)
{
    struct strbuf sb = STRBUF_INIT;
    char port[8];

    (void)snprintf(port, sizeof(port), "%u", server->port);
    strbuf_add(&sb, "mysql");
    add_part(&sb, server->host);
    add_part(&sb, port);
    add_part(&sb, server->user);
    add_part(&sb, server->pass);
    add_part(&sb, server->database);
    if (has_tls(server))
        for (unsigned i = 0; i < SQL_TLS_PARTS; i++)
            add_part(&sb, server->tls[i]);
    return strbuf_detach(&sb, ret_location);
}

enum sql_engine sql_location_engine(const char *location)
{
    return strncmp(location, MYSQL_PREFIX, strlen(MYSQL_PREFIX)) == 0 ? SQL_MYSQL : SQL_SQLITE;
}

static void unescape_location(char *text)
{
    char *to = text;

    for (const char *p = text; *p; p++) {
        unsigned c;

        if (*p == '%' && sscanf(p + 1, "%2x", &c) == 1) {
            *to++ = (char)c;
            p += 2;
        } else {
            *to++ = *p;
        }
    }
    *to = '\0';
}

static int open_mysql(const char *location, enum sql_mode mode, struct sql **ret_db,
                      struct err *err)
{
    _cleanup_free_ char *copy = strdup(location + strlen(MYSQL_PREFIX));
    char *parts[LOCATION_PARTS + SQL_TLS_PARTS] = { NULL }, *rest = copy;
    struct sql_server server;

    if (!copy)
        return -ENOMEM;
    for (size_t i = 0; i < LOCATION_PARTS + SQL_TLS_PARTS; i++) {
        char *part = strsep(&rest, ":");

        if (!part && i >= LOCATION_PARTS)
            break; /* nothing is said of TLS */
        if (!part)
            return err_set(err, -EINVAL, "database: a part of the location is missing");
        unescape_location(part);
        parts[i] = part[0] ? part : NULL;
    }
    server = (struct sql_server){ .host = parts[0],
                                  .port = (uint16_t)(parts[1] ? strtoul(parts[1], NULL, 10) : 0),
                                  .user = parts[2],
                                  .pass = parts[3],
                                  .database = parts[4] };
    for (size_t i = 0; i < SQL_TLS_PARTS; i++)
        server.tls[i] = parts[LOCATION_PARTS + i];
    return sql_mysql_open(&server, mode, ret_db, err);
}

int sql_open(const char *location, enum sql_mode mode, struct sql **ret_db, struct err *err)
{
    if (sql_location_engine(location) == SQL_MYSQL)
        return open_mysql(location, mode, ret_db, err);
    return sql_sqlite_open(location, mode, ret_db, err);
}

struct sql *sql_close(struct sql *db)
{
    int saved = errno;

    if (!db)
        return NULL;
    while (db->stmts)
        (void)sql_free(db->stmts); /* always NULL */
    db->ops->close(db);
    errno = saved;
    return NULL;
}

void sql_hang_up(bool on)
{
    sql_mysql_hang_up(on);
}

const char *sql_name(const struct sql *db)
{
    return db->name;
}

enum sql_engine sql_engine(const struct sql *db)
{
    return db->ops->engine;
}

const char *sql_error(const struct sql *db)
{
    return db->ops->error(db);
}

void sql_set_cancel(struct sql *db, const atomic_bool *cancel)
{
    db->cancel = cancel;
    db->ops->set_cancel(db);
}

/* ---- text ------------------------------------------------------------------------------------ */

/* The engine's word for the dollar word at p; *ret_len is its length there. */
static const char *word_of(const struct sql *db, const char *p, size_t *ret_len)
{
    for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
        size_t len = strlen(words[i]);

        if (strncmp(p, words[i], len) == 0 && !isalpha((unsigned char)p[len])) {
            *ret_len = len;
            return db->ops->words[i];
        }
    }
    assert(false); /* a word that sql.h does not know */
    return "";
}

static int translate_types(const struct sql *db, const char *text, char **ret)
{
    struct strbuf sb = STRBUF_INIT;
    bool quoted = false;

    for (const char *p = text; *p; p++) {
        size_t len;

        quoted ^= *p == '\'';
        if (*p == '$' && !quoted) {
            strbuf_add(&sb, word_of(db, p + 1, &len));
            p += len;
        } else {
            strbuf_addc(&sb, *p);
        }
    }
    return strbuf_detach(&sb, ret);
}

int sql_exec(struct sql *db, const char *text)
{
    _cleanup_free_ char *copy = NULL;
    int r = translate_types(db, text, &copy);

    assert(!db->active);
    if (r < 0)
        return r;
    sqllog_statement(copy);
    return db->ops->exec(db, copy);
}

int sql_prepare(struct sql *db, const char *text, struct sql_stmt **ret_stmt)
{
    _cleanup_free_ char *copy = NULL;
    struct sql_stmt *stmt;
    int r = translate_types(db, text, &copy);

    assert(!db->active);
    if (r == 0)
        r = db->ops->prepare(db, copy, &stmt);
    if (r < 0)
        return r;
    stmt->db = db;
    stmt->text = TAKE_PTR(copy);
    stmt->next = db->stmts;
    if (stmt->next)
        stmt->next->prev = stmt;
    db->stmts = stmt;
    *ret_stmt = stmt;
    return 0;
}

struct sql_stmt *sql_free(struct sql_stmt *stmt)
{
    if (!stmt)
        return NULL;
    sql_reset(stmt);
    if (stmt->next)
        stmt->next->prev = stmt->prev;
    if (stmt->prev)
        stmt->prev->next = stmt->next;
    else
        stmt->db->stmts = stmt->next;
    free(stmt->text);
    stmt->db->ops->free(stmt);
    return NULL;
}

/* ---- parameters ------------------------------------------------------------------------------ */

void sql_bind(struct sql_stmt *stmt, unsigned at, int64_t value)
{
    assert(at < stmt->nparams);
    stmt->db->ops->bind_int(stmt, at, value);
}

void sql_bind_real(struct sql_stmt *stmt, unsigned at, double value)
{
    assert(at < stmt->nparams);
    stmt->db->ops->bind_real(stmt, at, value);
}

void sql_bind_text(struct sql_stmt *stmt, unsigned at, const char *text)
{
    assert(at < stmt->nparams);
    stmt->db->ops->bind_bytes(stmt, at, text, text ? strlen(text) : 0, true);
}

void sql_bind_blob(struct sql_stmt *stmt, unsigned at, const void *data, size_t len)
{
    assert(at < stmt->nparams);
    stmt->db->ops->bind_bytes(stmt, at, data ? data : "", len, false);
}

void sql_bind_null(struct sql_stmt *stmt, unsigned at)
{
    assert(at < stmt->nparams);
    stmt->db->ops->bind_bytes(stmt, at, NULL, 0, true);
}

/* ---- running --------------------------------------------------------------------------------- */

int sql_step(struct sql_stmt *stmt)
{
    struct sql *db = stmt->db;
    bool first = db->active != stmt;
    int r;

    assert(!db->active || !first);
    if (first) {
        stmt->changes = 0;
        sqllog_statement(stmt->text);
    }
    r = db->cancel && atomic_load_explicit(db->cancel, memory_order_relaxed)
            ? -ECANCELED
            : db->ops->step(stmt, first);
    db->active = stmt;
    if (r <= 0)
        sql_reset(stmt);
    return r;
}

void sql_reset(struct sql_stmt *stmt)
{
    if (stmt->db->active != stmt)
        return;
    stmt->db->ops->reset(stmt);
    stmt->db->active = NULL;
}

int sql_run(struct sql_stmt *stmt)
{
    int r = sql_step(stmt);

    sql_reset(stmt);
    return r < 0 ? r : 0;
}

int64_t sql_changes(const struct sql_stmt *stmt)
{
    return stmt->changes;
}

int64_t sql_int(struct sql_stmt *stmt, unsigned col)
{
    assert(col < stmt->ncols);
    return stmt->db->ops->get_int(stmt, col);
}

double sql_real(struct sql_stmt *stmt, unsigned col)
{
    assert(col < stmt->ncols);
    return stmt->db->ops->get_real(stmt, col);
}

const char *sql_text(struct sql_stmt *stmt, unsigned col)
{
    size_t len;

    assert(col < stmt->ncols);
    return stmt->db->ops->get_bytes(stmt, col, &len, true);
}

const void *sql_blob(struct sql_stmt *stmt, unsigned col, size_t *ret_len)
{
    assert(col < stmt->ncols);
    *ret_len = 0;
    return stmt->db->ops->get_bytes(stmt, col, ret_len, false);
}

bool sql_is_null(struct sql_stmt *stmt, unsigned col)
{
    assert(col < stmt->ncols);
    return stmt->db->ops->is_null(stmt, col);
}

int sql_get(struct sql *db, const char *text, int64_t fallback, int64_t *ret)
{
    _cleanup_(sql_free) struct sql_stmt *stmt = NULL;
    int r = sql_prepare(db, text, &stmt);

    if (r == 0)
        r = sql_step(stmt);
    if (r < 0)
        return r;
    *ret = r && !sql_is_null(stmt, 0) ? sql_int(stmt, 0) : fallback;
    return 0;
}

int sql_collect(struct sql_stmt *stmt, size_t size, sql_read_fn *read, void *ret_items,
                size_t *ret_n)
{
    char *items = NULL;
    size_t n = 0, cap = 0;
    int r;

    while ((r = sql_step(stmt)) == 1) {
        if (n == cap) {
            size_t more = cap ? cap * 2 : 16;
            char *bigger = reallocarray(items, more, size);

            if (!bigger) {
                r = -ENOMEM;
                break;
            }
            items = bigger;
            cap = more;
        }
        memset(items + n * size, 0, size);
        r = read(items + n * size, stmt);
        if (r < 0)
            break;
        n += r > 0;
    }
    if (r < 0)
        sql_reset(stmt);
    memcpy(ret_items, &items, sizeof(items)); /* a pointer of whatever type */
    *ret_n = n;
    return r;
}

/* ---- transactions ---------------------------------------------------------------------------- */

static int begin_transaction(struct sql *db, const char *how)
{
    int r;

    assert(!db->in_tx && !db->active);
    r = db->ops->exec(db, how);
    db->in_tx = r == 0;
    return r;
}

int sql_begin(struct sql *db)
{
    return begin_transaction(db, db->ops->begin_write);
}

int sql_begin_read(struct sql *db)
{
    return begin_transaction(db, db->ops->begin_read);
}

int sql_commit(struct sql *db)
{
    int r;

    assert(db->in_tx && !db->active);
    r = db->ops->exec(db, "COMMIT");
    if (r == 0)
        db->in_tx = false;
    return r;
}

void sql_rollback(struct sql *db)
{
    if (db->active)
        sql_reset(db->active);
    if (db->in_tx)
        (void)db->ops->exec(db, "ROLLBACK"); /* some errors have done it already */
    db->in_tx = false;
}
