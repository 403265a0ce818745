/* sql_mysql.c - statements to a MariaDB server; see sql_impl.h.
 *
 * The connector is loaded when the first connection is opened, so that nobody needs it who has no
 * server. Rows are taken as they come and never gathered in the connector: that is why one
 * statement at a time has rows.  Names and texts are bytes to the server (character set binary), as
 * they are to us. */
#include <assert.h>
#include <ctype.h>
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <mysql.h>
#include <errmsg.h>
#include <mysqld_error.h>

#include "acct/sql/sql_impl.h"
#include "base/banned.h" /* not before mysql.h, which has members of such names */
#include "base/cleanup.h"
#include "base/process/loadlib.h"
#include "base/processonce.h"
#include "base/strbuf.h"

#define LIBRARY "libmariadb.so.3"
#define CONNECT_TIMEOUT_S 10u
#define ANSWER_TIMEOUT_S                                                                           \
    900u                 /* a server that is there but says nothing: long sums take their time */
#define FIRST_BYTES 256u /* of a column whose length is not known */

/* ---- the connector --------------------------------------------------------------------------- */

/* clang-format would put some on lines of their own and nest the rest. */
/* clang-format off */
#define CALLS(X) \
    X(mysql_server_init) X(mysql_init) X(mysql_options) X(mysql_real_connect) X(mysql_close) \
    X(mysql_real_query) X(mysql_errno) X(mysql_error) X(mysql_field_count) X(mysql_store_result) \
    X(mysql_free_result) X(mysql_select_db) X(mysql_num_fields) X(mysql_fetch_fields) \
    X(mysql_stmt_init) X(mysql_stmt_prepare) X(mysql_stmt_bind_param) X(mysql_stmt_execute) \
    X(mysql_stmt_bind_result) X(mysql_stmt_result_metadata) X(mysql_stmt_fetch) \
    X(mysql_stmt_fetch_column) X(mysql_stmt_free_result) X(mysql_stmt_close) X(mysql_stmt_errno) \
    X(mysql_stmt_error) X(mysql_stmt_affected_rows) X(mysql_stmt_param_count) X(mysql_get_socket)
/* clang-format on */

struct maria;

/* All connections, for sql_hang_up(). */
struct lines {
    pthread_mutex_t lock;
    struct maria *first;
    bool hung_up;
};

struct connector {
    struct lines *lines;
#define X(name) __typeof__(name) *name;
    CALLS(X)
#undef X
    struct err why; /* it cannot be used */
};

static void *load_connector(void)
{
    struct connector *api = calloc(1, sizeof(*api));

    if (!api)
        return NULL;
    api->lines = calloc(1, sizeof(*api->lines));
    if (!api->lines) {
        free(api);
        return NULL;
    }
    pthread_mutex_init(&api->lines->lock, NULL);
    const struct loadlib_symbol symbols[] = {
#define X(name) { #name, &api->name },
        CALLS(X)
#undef X
    };

    if (loadlib(NULL, LIBRARY, NULL, RTLD_LOCAL, symbols, ARRAY_SIZE(symbols), &api->why) == 0 &&
        api->mysql_server_init(0, NULL, NULL))
        (void)err_set(&api->why, -ELIBACC, LIBRARY " does not start"); /* the caller reads it */
    return api;
}

/* ---- connections ----------------------------------------------------------------------------- */

struct maria {
    struct sql base;
    const struct connector *api;
    MYSQL *my;
    struct maria *next; /* of struct lines; under its lock, as is fd */
    int fd;
    char error[ERR_TEXT_MAX];
};

struct column {
    char *buf; /* of text and bytes, with room for a NUL behind cap */
    size_t cap;
    unsigned long len;
    my_bool null;
    int64_t number;
    double real;
};

struct maria_stmt {
    struct sql_stmt base;
    const struct connector *api;
    MYSQL_STMT *stmt;
    MYSQL_BIND *params, *results;
    int64_t *numbers; /* a value for each parameter */
    double *reals;
    unsigned long *lengths;
    struct column *cols;
};

static int errno_of(unsigned code, const char *text)
{
    switch (code) {
    case CR_SERVER_GONE_ERROR:
    case CR_SERVER_LOST:
    case ER_SERVER_SHUTDOWN:
    case ER_CONNECTION_KILLED:
        return -ENOTCONN;
    case CR_CONNECTION_ERROR:
    case CR_CONN_HOST_ERROR:
    case CR_UNKNOWN_HOST:
        return -ECONNREFUSED;
    case ER_ACCESS_DENIED_ERROR:
    case ER_DBACCESS_DENIED_ERROR:
    case ER_TABLEACCESS_DENIED_ERROR:
        return -EACCES;
    case ER_LOCK_WAIT_TIMEOUT:
    case ER_LOCK_DEADLOCK:
    case ER_CON_COUNT_ERROR:
        return -EBUSY;
    case ER_RECORD_FILE_FULL:
    case ER_DISK_FULL:
        return -ENOSPC;
    case ER_DUP_ENTRY:
        return -EEXIST;
    case ER_OPTION_PREVENTS_STATEMENT:
        return -EROFS;
    case CR_OUT_OF_MEMORY:
        return -ENOMEM;
    case ER_CRASHED_ON_USAGE:
        return -EUCLEAN;
    default:
        return strstr(text, "No space left") || strstr(text, "errno: 28") ? -ENOSPC : -EIO;
    }
}

static int note_failure(struct maria *m, unsigned code, const char *text)
{
    (void)snprintf(m->error, sizeof(m->error), "%s", text);
    return errno_of(code, text);
}

/* ---- hanging up ------------------------------------------------------------------------------ */

/* Before a connection ends: its descriptor may be another's then. */
static void leave_line(struct maria *m)
{
    struct lines *lines = m->api->lines;

    pthread_mutex_lock(&lines->lock);
    for (struct maria **at = &lines->first; *at; at = &(*at)->next)
        if (*at == m) {
            *at = m->next;
            break;
        }
    m->next = NULL;
    pthread_mutex_unlock(&lines->lock);
}

/* False: none may be opened now. */
static bool may_connect(const struct maria *m)
{
    bool may;

    pthread_mutex_lock(&m->api->lines->lock);
    may = !m->api->lines->hung_up;
    pthread_mutex_unlock(&m->api->lines->lock);
    return may;
}

/* Once it is connected: what hung up meanwhile did not see it. */
static void enter_line(struct maria *m)
{
    struct lines *lines = m->api->lines;

    pthread_mutex_lock(&lines->lock);
    m->fd = (int)m->api->mysql_get_socket(m->my);
    m->next = lines->first;
    lines->first = m;
    if (lines->hung_up)
        (void)shutdown(m->fd, SHUT_RDWR); /* it may have ended already */
    pthread_mutex_unlock(&lines->lock);
}

void sql_mysql_hang_up(bool on)
{
    const struct connector *api = processonce(load_connector);

    if (!api)
        return;
    pthread_mutex_lock(&api->lines->lock);
    api->lines->hung_up = on;
    for (const struct maria *m = api->lines->first; on && m; m = m->next)
        (void)shutdown(m->fd, SHUT_RDWR); /* likewise */
    pthread_mutex_unlock(&api->lines->lock);
}

/* ---- queries --------------------------------------------------------------------------------- */

static int run_query(struct maria *m, const char *text, size_t len)
{
    if (m->api->mysql_real_query(m->my, text, len))
        return note_failure(m, m->api->mysql_errno(m->my), m->api->mysql_error(m->my));
    if (m->api->mysql_field_count(m->my)) {
        MYSQL_RES *res = m->api->mysql_store_result(m->my);

        if (!res)
            return note_failure(m, m->api->mysql_errno(m->my), m->api->mysql_error(m->my));
        m->api->mysql_free_result(res);
    }
    return 0;
}

/* Statements one by one, as far as semicolons outside of quotes divide them. */
static int maria_exec(struct sql *db, const char *text)
{
    int r = 0;

    while (r == 0 && *text) {
        bool quoted = false;
        size_t len = 0;

        while (text[len] && (quoted || text[len] != ';'))
            quoted ^= text[len++] == '\'';
        if (len > strspn(text, " \n"))
            r = run_query((struct maria *)db, text, len);
        text += len + (text[len] == ';');
    }
    return r;
}

static void maria_close(struct sql *db)
{
    struct maria *m = (struct maria *)db;

    leave_line(m);
    if (m->my)
        m->api->mysql_close(m->my);
    free(m->base.name);
    free(m);
}

static const char *maria_error(const struct sql *db)
{
    return ((const struct maria *)db)->error;
}

static void maria_set_cancel(struct sql *db)
{
    (void)db; /* sql_step() looks at it */
}

/* ---- statements ------------------------------------------------------------------------------ */

static struct maria_stmt *maria_of(struct sql_stmt *stmt)
{
    return (struct maria_stmt *)stmt;
}

static int stmt_failed(struct maria_stmt *s, struct maria *m)
{
    return note_failure(m, s->api->mysql_stmt_errno(s->stmt), s->api->mysql_stmt_error(s->stmt));
}

static void maria_free(struct sql_stmt *stmt)
{
    struct maria_stmt *s = maria_of(stmt);

    if (s->stmt)
        (void)s->api->mysql_stmt_close(s->stmt); /* repeats an error already reported */
    for (unsigned i = 0; s->cols && i < stmt->ncols; i++)
        free(s->cols[i].buf);
    free(s->cols);
    free(s->params);
    free(s->results);
    free(s->numbers);
    free(s->reals);
    free(s->lengths);
    free(s);
}

static bool is_number(enum enum_field_types type)
{
    return type == MYSQL_TYPE_TINY || type == MYSQL_TYPE_SHORT || type == MYSQL_TYPE_LONG ||
           type == MYSQL_TYPE_LONGLONG || type == MYSQL_TYPE_INT24;
}

static bool is_real(enum enum_field_types type)
{
    return type == MYSQL_TYPE_FLOAT || type == MYSQL_TYPE_DOUBLE;
}

/* Where each column of a row goes. */
static int set_column(struct maria_stmt *s, unsigned i, enum enum_field_types type)
{
    struct column *c = &s->cols[i];
    MYSQL_BIND *b = &s->results[i];

    b->length = &c->len;
    b->is_null = &c->null;
    if (is_number(type)) {
        b->buffer_type = MYSQL_TYPE_LONGLONG;
        b->buffer = &c->number;
        return 0;
    }
    if (is_real(type)) {
        b->buffer_type = MYSQL_TYPE_DOUBLE;
        b->buffer = &c->real;
        return 0;
    }
    c->buf = malloc(FIRST_BYTES + 1);
    if (!c->buf)
        return -ENOMEM;
    c->cap = FIRST_BYTES;
    b->buffer_type = MYSQL_TYPE_BLOB;
    b->buffer = c->buf;
    b->buffer_length = c->cap;
    return 0;
}

static int set_columns(struct maria_stmt *s)
{
    MYSQL_RES *meta = s->api->mysql_stmt_result_metadata(s->stmt);
    int r = 0;

    if (!meta)
        return 0; /* gives no rows */
    s->base.ncols = s->api->mysql_num_fields(meta);
    s->results = calloc(s->base.ncols, sizeof(*s->results));
    s->cols = calloc(s->base.ncols, sizeof(*s->cols));
    if (!s->results || !s->cols)
        r = -ENOMEM;
    for (unsigned i = 0; r == 0 && i < s->base.ncols; i++)
        r = set_column(s, i, s->api->mysql_fetch_fields(meta)[i].type);
    s->api->mysql_free_result(meta);
    return r;
}

static int set_params(struct maria_stmt *s)
{
    size_t n = s->api->mysql_stmt_param_count(s->stmt);

    s->base.nparams = (unsigned)n;
    s->params = calloc(n + 1, sizeof(*s->params));
    s->numbers = calloc(n + 1, sizeof(*s->numbers));
    s->reals = calloc(n + 1, sizeof(*s->reals));
    s->lengths = calloc(n + 1, sizeof(*s->lengths));
    if (!s->params || !s->numbers || !s->reals || !s->lengths)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++)
        s->params[i].buffer_type = MYSQL_TYPE_NULL;
    return 0;
}

static int maria_prepare(struct sql *db, const char *text, struct sql_stmt **ret_stmt)
{
    struct maria *m = (struct maria *)db;
    struct maria_stmt *s = calloc(1, sizeof(*s));
    int r = 0;

    if (!s)
        return -ENOMEM;
    s->api = m->api;
    s->stmt = s->api->mysql_stmt_init(m->my);
    if (!s->stmt)
        r = note_failure(m, s->api->mysql_errno(m->my), s->api->mysql_error(m->my));
    else if (s->api->mysql_stmt_prepare(s->stmt, text, strlen(text)))
        r = stmt_failed(s, m);
    if (r == 0)
        r = set_params(s);
    if (r == 0)
        r = set_columns(s);
    if (r < 0) {
        maria_free(&s->base);
        return r;
    }
    *ret_stmt = &s->base;
    return 0;
}

static void maria_bind_int(struct sql_stmt *stmt, unsigned at, int64_t value)
{
    struct maria_stmt *s = maria_of(stmt);

    s->numbers[at] = value;
    s->params[at] = (MYSQL_BIND){ .buffer_type = MYSQL_TYPE_LONGLONG, .buffer = &s->numbers[at] };
}

static void maria_bind_real(struct sql_stmt *stmt, unsigned at, double value)
{
    struct maria_stmt *s = maria_of(stmt);

    s->reals[at] = value;
    s->params[at] = (MYSQL_BIND){ .buffer_type = MYSQL_TYPE_DOUBLE, .buffer = &s->reals[at] };
}

static void maria_bind_bytes(struct sql_stmt *stmt, unsigned at, const void *data, size_t len,
                             bool text)
{
    struct maria_stmt *s = maria_of(stmt);

    (void)text; /* all is bytes there */
    s->lengths[at] = len;
    s->params[at] = (MYSQL_BIND){ .buffer_type = data ? MYSQL_TYPE_BLOB : MYSQL_TYPE_NULL,
                                  .buffer = (void *)(uintptr_t)data,
                                  .buffer_length = len,
                                  .length = &s->lengths[at] };
}

static int execute_statement(struct maria_stmt *s, struct maria *m)
{
    if ((s->base.nparams && s->api->mysql_stmt_bind_param(s->stmt, s->params)) ||
        s->api->mysql_stmt_execute(s->stmt) ||
        (s->base.ncols && s->api->mysql_stmt_bind_result(s->stmt, s->results)))
        return stmt_failed(s, m);
    if (!s->base.ncols)
        s->base.changes = (int64_t)s->api->mysql_stmt_affected_rows(s->stmt);
    return 0;
}

/* Columns that did not fit are fetched again into more room. */
static int fetch_rest(struct maria_stmt *s, struct maria *m)
{
    for (unsigned i = 0; i < s->base.ncols; i++) {
        struct column *c = &s->cols[i];
        char *bigger;

        if (!c->buf || c->null || c->len <= c->cap)
            continue;
        bigger = realloc(c->buf, c->len * 2 + 1);
        if (!bigger)
            return -ENOMEM;
        c->buf = bigger;
        c->cap = c->len * 2;
        s->results[i].buffer = c->buf;
        s->results[i].buffer_length = c->cap;
        if (s->api->mysql_stmt_fetch_column(s->stmt, &s->results[i], i, 0))
            return stmt_failed(s, m);
    }
    /* the connector keeps a copy of where columns go */
    return s->api->mysql_stmt_bind_result(s->stmt, s->results) ? stmt_failed(s, m) : 0;
}

static int maria_step(struct sql_stmt *stmt, bool first)
{
    struct maria_stmt *s = maria_of(stmt);
    struct maria *m = (struct maria *)stmt->db;
    int r = first ? execute_statement(s, m) : 0;

    if (r < 0 || !stmt->ncols)
        return r;
    switch (s->api->mysql_stmt_fetch(s->stmt)) {
    case 0:
        return 1;
    case MYSQL_NO_DATA:
        return 0;
    case MYSQL_DATA_TRUNCATED:
        r = fetch_rest(s, m);
        return r < 0 ? r : 1;
    default:
        return stmt_failed(s, m);
    }
}

static void maria_reset(struct sql_stmt *stmt)
{
    struct maria_stmt *s = maria_of(stmt);

    if (stmt->ncols)
        (void)s->api->mysql_stmt_free_result(
            s->stmt); /* a lost connection shows at the next call */
}

static int64_t maria_int(struct sql_stmt *stmt, unsigned col)
{
    struct column *c = &maria_of(stmt)->cols[col];

    if (c->null)
        return 0;
    if (c->buf) { /* a decimal: what sums are */
        c->buf[c->len] = '\0';
        return strtoll(c->buf, NULL, 10);
    }
    return maria_of(stmt)->results[col].buffer_type == MYSQL_TYPE_DOUBLE ? (int64_t)c->real
                                                                         : c->number;
}

static double maria_real(struct sql_stmt *stmt, unsigned col)
{
    struct column *c = &maria_of(stmt)->cols[col];

    if (c->null)
        return 0;
    if (c->buf) {
        c->buf[c->len] = '\0';
        return strtod(c->buf, NULL);
    }
    return maria_of(stmt)->results[col].buffer_type == MYSQL_TYPE_DOUBLE ? c->real
                                                                         : (double)c->number;
}

static const void *maria_bytes(struct sql_stmt *stmt, unsigned col, size_t *ret_len, bool text)
{
    struct column *c = &maria_of(stmt)->cols[col];

    (void)text; /* both end with a NUL that is not counted */
    if (c->null || !c->buf)
        return NULL;
    c->buf[c->len] = '\0';
    *ret_len = c->len;
    return c->buf;
}

static bool maria_is_null(struct sql_stmt *stmt, unsigned col)
{
    return maria_of(stmt)->cols[col].null;
}

static const struct sql_ops ops = {
    .engine = SQL_MYSQL,
    .words = { "BIGINT", "LONGBLOB", "DOUBLE", "LONGBLOB", "VARBINARY(190)", " ENGINE=InnoDB",
               " ENGINE=InnoDB" },
    .close = maria_close,
    .exec = maria_exec,
    .prepare = maria_prepare,
    .free = maria_free,
    .bind_int = maria_bind_int,
    .bind_real = maria_bind_real,
    .bind_bytes = maria_bind_bytes,
    .step = maria_step,
    .reset = maria_reset,
    .get_int = maria_int,
    .get_real = maria_real,
    .get_bytes = maria_bytes,
    .is_null = maria_is_null,
    .error = maria_error,
    .set_cancel = maria_set_cancel,
    .begin_write = "START TRANSACTION",
    .begin_read = "START TRANSACTION READ ONLY",
};
_Static_assert(SQL_KEY_MAX == 190, "as in the word");

/* ---- opening --------------------------------------------------------------------------------- */

/* Options are taken or left: none can be refused. */
static void set_tls(struct maria *m, const struct sql_server *to)
{
    static const enum mysql_option options[SQL_TLS_PARTS] = {
        [SQL_TLS_CERT] = MYSQL_OPT_SSL_CERT,     [SQL_TLS_KEY] = MYSQL_OPT_SSL_KEY,
        [SQL_TLS_CA] = MYSQL_OPT_SSL_CA,         [SQL_TLS_CAPATH] = MYSQL_OPT_SSL_CAPATH,
        [SQL_TLS_CIPHER] = MYSQL_OPT_SSL_CIPHER,
    };
    my_bool any = 0, verify = to->tls[SQL_TLS_CA] || to->tls[SQL_TLS_CAPATH];

    for (unsigned i = 0; i < SQL_TLS_PARTS; i++) {
        if (!to->tls[i])
            continue;
        (void)m->api->mysql_options(m->my, options[i], to->tls[i]);
        any = 1;
    }
    if (any)
        (void)m->api->mysql_options(m->my, MYSQL_OPT_SSL_ENFORCE, &any);
    if (any)
        (void)m->api->mysql_options(m->my, MYSQL_OPT_SSL_VERIFY_SERVER_CERT, &verify);
}

static int connect_to(struct maria *m, const struct sql_server *to, const char *host,
                      const char *database, enum sql_mode mode)
{
    const unsigned connect_s = CONNECT_TIMEOUT_S,
                   answer_s = mode == SQL_ASK ? CONNECT_TIMEOUT_S : ANSWER_TIMEOUT_S;
    bool is_path = host && host[0] == '/';

    leave_line(m);
    if (m->my)
        m->api->mysql_close(m->my);
    m->my = m->api->mysql_init(NULL);
    if (!m->my)
        return -ENOMEM;
    if (!may_connect(m))
        return note_failure(m, CR_SERVER_LOST, "the connections were ended");
    /* options are taken or left: none can be refused */
    (void)m->api->mysql_options(m->my, MYSQL_OPT_CONNECT_TIMEOUT, &connect_s);
    (void)m->api->mysql_options(m->my, MYSQL_OPT_READ_TIMEOUT, &answer_s);
    (void)m->api->mysql_options(m->my, MYSQL_OPT_WRITE_TIMEOUT, &answer_s);
    (void)m->api->mysql_options(m->my, MYSQL_SET_CHARSET_NAME, "binary");
    set_tls(m, to);
    if (!m->api->mysql_real_connect(m->my, is_path ? NULL : host, to->user, to->pass, database,
                                    to->port, is_path ? host : NULL, CLIENT_FOUND_ROWS))
        return note_failure(m, m->api->mysql_errno(m->my), m->api->mysql_error(m->my));
    enter_line(m);
    return 0;
}

/* With the database as it is, or as it is made now. */
static int connect_database(struct maria *m, const struct sql_server *to, const char *host,
                            enum sql_mode mode)
{
    struct strbuf sb = STRBUF_INIT;
    _cleanup_free_ char *text = NULL;
    int r = connect_to(m, to, host, to->database, mode);

    if (r == 0 || mode == SQL_READ || !m->my || m->api->mysql_errno(m->my) != ER_BAD_DB_ERROR)
        return r;
    r = connect_to(m, to, host, NULL, mode);
    if (r < 0)
        return r;
    strbuf_addf(&sb, "CREATE DATABASE IF NOT EXISTS `%s`", to->database);
    r = strbuf_detach(&sb, &text);
    if (r == 0)
        r = run_query(m, text, strlen(text));
    if (r == 0 && m->api->mysql_select_db(m->my, to->database))
        r = note_failure(m, m->api->mysql_errno(m->my), m->api->mysql_error(m->my));
    return r;
}

static bool good_name(const char *name)
{
    for (const char *p = name; *p; p++)
        if (!isalnum((unsigned char)*p) && !strchr("_-$", *p))
            return false;
    return name[0];
}

int sql_mysql_open(const struct sql_server *server, enum sql_mode mode, struct sql **ret_db,
                   struct err *err)
{
    const struct connector *api = processonce(load_connector);
    const char *host = server->host ? server->host : "localhost";
    struct maria *m;
    int r;

    if (!api)
        return -ENOMEM;
    if (api->why.text[0])
        return err_set(err, -ELIBACC, "accounting: the MariaDB connector cannot be loaded: %s",
                       api->why.text);
    if (!server->database || !good_name(server->database))
        return err_set(err, -EINVAL, "accounting: %s is no name for a database",
                       server->database ? server->database : "(none)");
    m = calloc(1, sizeof(*m));
    if (!m)
        return -ENOMEM;
    m->base.ops = &ops;
    m->api = api;
    r = asprintf(&m->base.name, "%s@%s:%u", server->database, host,
                 server->port ? server->port : 3306);
    r = r < 0 ? -ENOMEM : connect_database(m, server, host, mode);
    /* "localhost" is the usual socket to the connector; with a port it may be meant otherwise */
    if (r == -ECONNREFUSED && strcmp(host, "localhost") == 0 && server->port)
        r = connect_database(m, server, "127.0.0.1", mode);
    if (r == 0)
        r = maria_exec(&m->base, "SET SESSION sql_mode='STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION'");
    if (r < 0) {
        err_set(err, r, "accounting: cannot open %s: %s", m->base.name ? m->base.name : host,
                m->error[0] ? m->error : strerrordesc_np(-r));
        maria_close(&m->base);
        return r;
    }
    *ret_db = &m->base;
    return 0;
}
