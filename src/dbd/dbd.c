/* dbd.c - bringing slurmdbd's parts up and down; see dbd.h. */
#include "dbd/dbd.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "acct/admin/adminserve.h"
#include "acct/sql/db.h"
#include "acct/turn.h"
#include "acctd/acctfeed.h"
#include "acctd/acctops.h"
#include "acctd/serve.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/logflags.h"
#include "base/text/owntext.h"
#include "base/timefmt.h"
#include "base/wordlist.h"
#include "daemon/kiosk.h"
#include "dbd/patience.h"
#include "http/httphealth.h"
#include "version.h"
#include "wire/auth/auth.h"
#include "wire/errors.h"
#include "wire/server/server.h"
#include "conf/tls/conf_tls.h"
#include "wire/tls/tls.h"

#define IO_THREADS 2u
#define READERS 8u
#define MAX_CONNECTIONS 16384u

static void admin_request(struct dbd *d, struct conn *c, const struct frame *frame)
{
    struct err err = { .text = "" };
    ProtobufCMessage *msg;

    if (frame_unpack_request(frame, &msg, &err) < 0)
        (void)conn_error(c, frame->op, frame->id, EPST_BAD_REQUEST, err.text); /* it may be gone */
    else
        adminserve_request(d->admin, c, frame->op, frame->id, msg);
}

static void on_request(void *ctx, struct conn *c, const struct frame *frame)
{
    struct dbd *d = ctx;

    server_log_request(conn_peer(c), frame->op);
    if (atomic_load(&d->stopping))
        (void)conn_error(c, frame->op, frame->id, EPST_SHUTTING_DOWN, NULL);
    else if (frame->op == OP_ACCT_ADMIN || frame->op == OP_ACCT_LIST ||
             frame->op == OP_ACCT_FOLLOW || frame->op == OP_ACCT_BLOB)
        admin_request(d, c, frame);
    else if (control_request(d, c, frame))
        return;
    else if (serve_has(frame->op))
        serve_request(
            d->serve, c, frame,
            frame->op == OP_QUERY_ACCT && !atomic_load(&d->gathers) ? adminserve_ask(d->admin) : 0);
    else
        (void)conn_error(c, frame->op, frame->id, EPST_BAD_REQUEST,
                         "slurmdbd does not know this operation");
}

static void on_close(void *ctx, struct conn *c)
{
    struct dbd *d = ctx;

    if (d->admin)
        adminserve_conn_closed(d->admin, c);
    if (d->feeds)
        feeds_conn_closed(d->feeds, c);
}

/* Jobs that are asked for are looked up once the controllers have brought what they had then. */
static uint64_t records_brought(void *ctx)
{
    struct dbd *d = ctx;

    return atomic_load(&d->can_ask) ? adminserve_brought(d->admin) : UINT64_MAX;
}

static void note_brought(void *ctx)
{
    struct dbd *d = ctx;

    pthread_mutex_lock(&d->serve_lock);
    if (!atomic_load(&d->stopping)) /* else it may be gone */
        serve_advanced(d->serve, NULL);
    pthread_mutex_unlock(&d->serve_lock);
}

static bool is_admin(void *ctx, uid_t uid)
{
    const struct dbd *d = ctx;

    return uid == 0 || uid == d->slurm_uid;
}

bool dbd_has_server(const struct conf_dbd *conf)
{
    const char *type = conf_dbd_str(conf, CONF_DBD_STORAGE_TYPE);

    return strcasecmp(type, "accounting_storage/mysql") == 0;
}

/* What StorageParameters says of encryption; the texts in ret are the caller's. */
static int read_storage_tls(const struct conf_dbd *conf, char *ret[SQL_TLS_PARTS])
{
    static const char *const words[SQL_TLS_PARTS] = {
        [SQL_TLS_CERT] = "SSL_CERT",     [SQL_TLS_KEY] = "SSL_KEY",       [SQL_TLS_CA] = "SSL_CA",
        [SQL_TLS_CAPATH] = "SSL_CAPATH", [SQL_TLS_CIPHER] = "SSL_CIPHER",
    };
    const char *list = conf_dbd_str(conf, CONF_DBD_STORAGE_PARAMETERS);

    for (unsigned i = 0; list && i < SQL_TLS_PARTS; i++) {
        size_t len = 0;
        const char *value = wordlist_option(list, words[i], &len);

        if (value && len && !(ret[i] = strndup(value, len)))
            return -ENOMEM;
    }
    return 0;
}

int dbd_location(const struct conf_dbd *conf, const char *host, const char *pass,
                 char **ret_location)
{
    struct sql_server server = { .host = host,
                                 .port = (uint16_t)conf_dbd_num(conf, CONF_DBD_STORAGE_PORT),
                                 .user = conf_dbd_str(conf, CONF_DBD_STORAGE_USER),
                                 .pass = pass,
                                 .database = conf_dbd_str(conf, CONF_DBD_STORAGE_LOC) };

    if (dbd_has_server(conf)) {
        char *tls[SQL_TLS_PARTS] = { NULL };
        int r = read_storage_tls(conf, tls);

        for (unsigned i = 0; i < SQL_TLS_PARTS; i++)
            server.tls[i] = tls[i];
        if (r == 0)
            r = sql_mysql_location(&server, ret_location);
        for (unsigned i = 0; i < SQL_TLS_PARTS; i++)
            free(tls[i]);
        return r;
    }
    *ret_location = strdup(server.database);
    return *ret_location ? 0 : -ENOMEM;
}

static void forget_location(struct dbd *d)
{
    wipe_text(&d->location); /* a password may be in it */
}

/* May the same call succeed later, without an administrator's help? */
static bool may_pass(int r)
{
    return r == -ENOSPC || r == -EBUSY || r == -ECONNREFUSED || r == -ENOTCONN || r == -EROFS;
}

int dbd_locate(struct dbd *d, bool *ret_reached, struct err *err)
{
    const char *hosts[] = { conf_dbd_str(d->conf, CONF_DBD_STORAGE_HOST),
                            conf_dbd_str(d->conf, CONF_DBD_STORAGE_BACKUP_HOST) };
    size_t n = hosts[1] ? 2 : 1;
    _cleanup_free_ char *pass = NULL;
    char *locations[ARRAY_SIZE(hosts)] = { NULL };
    size_t best = 0;
    int r = dbd_password(d->conf, &pass, err);

    *ret_reached = false;
    for (size_t i = 0; r == 0 && i < n && !*ret_reached; i++) {
        struct sql *db = NULL;

        r = dbd_location(d->conf, hosts[i], pass, &locations[i]);
        if (r < 0 || n == 1)
            break; /* whether it answers will show */
        r = sql_open(locations[i], SQL_ASK, &db, err);
        *ret_reached = r == 0;
        best = r == 0 ? i : best;
        (void)sql_close(db); /* always NULL; each thread opens its own */
        r = r == -ECONNREFUSED || r == -ENOTCONN ? 0 : r; /* away, or silent */
    }
    if (pass)
        explicit_bzero(pass, strlen(pass));
    if (locations[best]) {
        forget_location(d);
        d->location = TAKE_PTR(locations[best]);
    }
    free(locations[!best]);
    return may_pass(r) ? 0 : r;
}

/* Make the tables.  When the database server is not there yet this succeeds all the same: the
 * threads that need the database wait for it. */
static int open_store(struct dbd *d, struct err *err)
{
    struct sql *db = NULL;
    int r = acct_db_open(d->location, &db, err);

    (void)sql_close(db); /* always NULL; each thread opens its own */
    if (r < 0 && may_pass(r)) {
        log_error("%s: trying again when it is needed, nothing is lost meanwhile", err->text);
        return 0;
    }
    return r;
}

static bool is_private(const struct conf_dbd *conf, const char *what)
{
    const char *list = conf_dbd_str(conf, CONF_DBD_PRIVATE_DATA);

    return wordlist_has_nocase(list, what) || wordlist_has_nocase(list, "all");
}

static void settings_of(const struct conf_dbd *conf, struct serve_settings *set)
{
    *set = (struct serve_settings){
        .no_rollup = conf_dbd_bool(conf, CONF_DBD_DISABLE_ROLLUPS),
        .no_archive = conf_dbd_bool(conf, CONF_DBD_DISABLE_ARCHIVE_COMMANDS),
        .private_jobs = is_private(conf, "jobs"),
        .private_usage = is_private(conf, "usage"),
        .track_down = conf_dbd_bool(conf, CONF_DBD_TRACK_SLURMCTLD_DOWN),
        .commit_delay_s = (uint32_t)conf_dbd_num(conf, CONF_DBD_COMMIT_DELAY),
        .max_range_us = (int64_t)conf_dbd_max_range_s(conf) * USEC_PER_SEC,
    };
    set->purge = (struct archive_what){
        .event_h = conf_dbd_age(conf, CONF_DBD_PURGE_EVENT_AFTER),
        .job_h = conf_dbd_age(conf, CONF_DBD_PURGE_JOB_AFTER),
        .step_h = conf_dbd_age(conf, CONF_DBD_PURGE_STEP_AFTER),
        .usage_h = conf_dbd_age(conf, CONF_DBD_PURGE_USAGE_AFTER),
        .resv_h = conf_dbd_age(conf, CONF_DBD_PURGE_RESV_AFTER),
        .suspend_h = conf_dbd_age(conf, CONF_DBD_PURGE_SUSPEND_AFTER),
        .txn_h = conf_dbd_age(conf, CONF_DBD_PURGE_TXN_AFTER),
        .script_h = conf_dbd_age(conf, CONF_DBD_PURGE_JOB_SCRIPT_AFTER),
        .env_h = conf_dbd_age(conf, CONF_DBD_PURGE_JOB_ENV_AFTER),
        .events = conf_dbd_bool(conf, CONF_DBD_ARCHIVE_EVENTS),
        .jobs = conf_dbd_bool(conf, CONF_DBD_ARCHIVE_JOBS),
        .steps = conf_dbd_bool(conf, CONF_DBD_ARCHIVE_STEPS),
        .usage = conf_dbd_bool(conf, CONF_DBD_ARCHIVE_USAGE),
        .resvs = conf_dbd_bool(conf, CONF_DBD_ARCHIVE_RESVS),
        .suspends = conf_dbd_bool(conf, CONF_DBD_ARCHIVE_SUSPEND),
        .txns = conf_dbd_bool(conf, CONF_DBD_ARCHIVE_TXN),
        .scripts = conf_dbd_bool(conf, CONF_DBD_ARCHIVE_JOB_SCRIPT),
        .envs = conf_dbd_bool(conf, CONF_DBD_ARCHIVE_JOB_ENV),
        .limit = conf_dbd_num(conf, CONF_DBD_MAX_PURGE_LIMIT),
    };
    /* a path */
    (void)snprintf(set->dir, sizeof(set->dir), "%s", conf_dbd_str(conf, CONF_DBD_ARCHIVE_DIR));
    (void)snprintf(set->script, sizeof(set->script), "%s",
                   conf_dbd_str(conf, CONF_DBD_ARCHIVE_SCRIPT)
                       ? conf_dbd_str(conf, CONF_DBD_ARCHIVE_SCRIPT)
                       : "");
}

/* Of accounts, users and resources. */
static unsigned rules_of(const struct conf_dbd *conf)
{
    return (is_private(conf, "accounts") ? ADMIN_PRIVATE_ACCOUNTS : 0) |
           (is_private(conf, "users") ? ADMIN_PRIVATE_USERS : 0) |
           (is_private(conf, "events") ? ADMIN_PRIVATE_EVENTS : 0) |
           (is_private(conf, "reservations") ? ADMIN_PRIVATE_RESVS : 0) |
           (conf_dbd_bool(conf, CONF_DBD_DISABLE_COORD_DBD) ? ADMIN_NO_COORDINATORS : 0) |
           (conf_dbd_bool(conf, CONF_DBD_ALLOW_NO_DEF_ACCT) ? ADMIN_NO_DEFAULT_ACCOUNT : 0) |
           (conf_dbd_bool(conf, CONF_DBD_ALL_RESOURCES_ABSOLUTE) ? ADMIN_ABSOLUTE_RESOURCES : 0);
}

/* On the thread of the feed. */
static void keep_key(void *ctx, const char *cluster, const char *user, const char *key)
{
    struct dbd *d = ctx;

    if (atomic_load(&d->track_keys))
        adminserve_job_key(d->admin, cluster, user, key);
}

void dbd_configure(struct dbd *d, const struct conf_dbd *conf)
{
    struct serve_settings set;

    atomic_store(&d->gathers, conf_dbd_num(conf, CONF_DBD_COMMIT_DELAY) > 0);
    logflags_set(conf_dbd_str(conf, CONF_DBD_DEBUG_FLAGS)); /* has passed debug_check() */
    settings_of(conf, &set);
    atomic_store(&d->track_keys, conf_dbd_bool(conf, CONF_DBD_TRACK_WC_KEY));
    if (d->serve)
        serve_set(d->serve, &set);
    if (d->admin)
        adminserve_rule(d->admin, rules_of(conf));
}

static void on_http(void *ctx, int fd, const char *head, size_t n)
{
    struct dbd *d = ctx;

    (void)head; /* whatever is asked for */
    (void)n;
    httphealth_take(d->health, fd);
}

/* On the thread of HTTP. */
static bool is_ready(void *ctx, struct strbuf *told)
{
    struct dbd *d = ctx;

    strbuf_addf(told, "connections: %u\n", server_connections(d->server));
    return !atomic_load(&d->stopping);
}

void dbd_tell_health(struct dbd *d)
{
    if (d->health)
        httphealth_set(d->health, d->tokens, d->slurm_uid);
}

static void open_kiosk(struct dbd *d)
{
    struct err err = { .text = "" };

    if (conf_dbd_use_munge(d->conf) || !d->keys)
        return;
    if (kiosk_open("slurmdbd", d->slurm_uid, &d->kiosk, &err) == 0)
        kiosk_set_keys(d->kiosk, d->keys);
    else
        log_info("this server vouches for no commands: %s", err.text);
}

static void on_tls(void *ctx, const struct peer *peer, const char *why)
{
    (void)ctx;
    server_log_tls(peer, why);
}

/* The server takes no request before d->admin is there. */
static int tell_sight(void *ctx, uid_t uid, struct admin_sight *ret, struct err *err)
{
    struct dbd *d = ctx;

    return adminserve_sight(d->admin, uid, ret, err);
}

int dbd_work(struct dbd *d, struct err *err)
{
    struct serve_settings set;
    struct serve_config serve = { .find_op = serve_op,
                                  .note_gone = feeds_note_gone,
                                  .cursor = records_brought,
                                  .ctx = d,
                                  .readers = READERS,
                                  .settings = &set,
                                  .rpcs = d->rpcs,
                                  .is_admin = is_admin,
                                  .sight = tell_sight,
                                  .admin_ctx = d };
    struct server_config server = {
        .port = (uint16_t)conf_dbd_num(d->conf, CONF_DBD_DBD_PORT),
        .bind_addr = conf_dbd_str(d->conf, CONF_DBD_DBD_ADDR),
        .local_socket = true,
        .threads = IO_THREADS,
        .max_connections = MAX_CONNECTIONS,
        .slurm_uid = d->slurm_uid,
        .keys = d->keys,
        .tls = d->tls,
        .service = "slurmdbd",
        .tokens = d->tokens,
        .use_munge = conf_dbd_use_munge(d->conf),
        .munge_socket = conf_dbd_munge_socket(d->conf),
        .serves = ACCESS_AT(ACCESS_DBD),
        .hooks = { .on_request = on_request,
                   .on_close = on_close,
                   .on_http = on_http,
                   .on_tls = on_tls },
        .ctx = d,
    };
    struct httphealth_config health = { .name = "slurmdbd", .ready = is_ready, .ctx = d };
    int r;

    atomic_store(&d->stopping, false);
    r = server_new(&server, &d->server, err); /* a taken port is reported before anything else */
    if (r == 0)
        r = open_store(d, err);
    if (r == 0)
        r = feeds_new(d->location, &d->feeds);
    serve.location = d->location;
    serve.feeds = d->feeds;
    settings_of(d->conf, &set);
    atomic_store(&d->since_us, now_us());
    if (r == 0)
        r = serve_new(&serve, &d->serve);
    if (r == 0) {
        struct adminserve_config admin = { .location = d->location,
                                           .rules = rules_of(d->conf),
                                           .cluster_qos =
                                               conf_dbd_str(d->conf, CONF_DBD_DEFAULT_QOS),
                                           .rpcs = d->rpcs,
                                           .is_root = is_admin,
                                           .brought = note_brought,
                                           .ctx = d };

        r = adminserve_start(&admin, &d->admin, err);
        atomic_store(&d->can_ask, r == 0);
        atomic_store(&d->gathers, set.commit_delay_s > 0);
        atomic_store(&d->track_keys, conf_dbd_bool(d->conf, CONF_DBD_TRACK_WC_KEY));
        feeds_tell_keys(d->feeds, keep_key, d);
    }
    if (r == 0)
        r = httphealth_new(&health, &d->health, err);
    if (r == 0) {
        dbd_tell_health(d);
        r = server_start(d->server);
    }
    if (r == 0)
        open_kiosk(d);
    if (r < 0)
        return err->text[0] ? r : err_set(err, r, "cannot start: %s", strerrordesc_np(-r));
    d->working = true;
    log_info("slurmdbd %s is running, port %u", SLURM_RELEASE, server_port(d->server));
    return 0;
}

void dbd_rest(struct dbd *d)
{
    pthread_mutex_lock(&d->serve_lock);
    atomic_store(&d->stopping, true);
    pthread_mutex_unlock(&d->serve_lock);
    patience_begin(d->patience);
    if (d->server)
        server_stop(d->server);
    d->kiosk = kiosk_close(d->kiosk);
    d->serve = serve_free(d->serve); /* its threads ask the other */
    atomic_store(&d->can_ask, false);
    d->admin = adminserve_stop(d->admin);
    d->health = httphealth_free(d->health); /* its thread asks the server */
    d->server = server_free(d->server);
    d->feeds = feeds_free(d->feeds);
    patience_end(d->patience);
    d->working = false;
}

void dbd_stop(struct dbd *d)
{
    dbd_rest(d);
    d->turn = turn_free(d->turn);
    d->patience = patience_free(d->patience);
    d->tls = tls_ctx_unref(d->tls);
    d->keys = auth_keys_free(d->keys);
    d->tokens = auth_tokens_free(d->tokens);
    forget_location(d);
    d->conf = conf_dbd_free(d->conf);
    free(d->conf_path);
}
