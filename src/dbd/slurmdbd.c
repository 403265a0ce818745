/* slurmdbd.c - slurmdbd from command line to clean exit
 *
 * Order of a start: configuration, keys, whose turn it is, listen, database, threads, then open
 * the door.  The parent of a daemonized start returns 0 only after that. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/process/daemonize.h"
#include "base/process/inherit.h"
#include "base/log.h"
#include "base/logflags.h"
#include "daemon/daemon.h"
#include "daemon/dmntokens.h"
#include "daemon/kiosk.h"
#include "dbd/dbd.h"
#include "dbd/debug.h"
#include "dbd/patience.h"
#include "wire/auth/auth.h"
#include "wire/server/server.h"
#include "conf/tls/conf_tls.h"
#include "wire/tls/tls.h"

/* The head's own state; ctx of every step below. */
struct head {
    struct daemon_options o;
    struct dbd d;
};

static const char usage[] =
    "Usage: slurmdbd [OPTIONS]\n"
    "  -D             stay in the foreground, log to stderr as well\n"
    "  -f FILE        read FILE instead of slurmdbd.conf beside slurm.conf\n"
    "  -h             print this help\n"
    "  -n VALUE       run at this nice value\n"
    "  -R[comm|all]   change nothing; there is nothing to rebuild\n"
    "  -s, --systemd  as -D: readiness is told through NOTIFY_SOCKET\n"
    "  -u             change nothing; tables are brought up to date at every start\n"
    "  -v             log more; may be repeated\n"
    "  -V, --version  print the version and exit\n"
    "  --check        read the configuration, report every problem, exit 0 when there is no error\n";

static const struct option longs[] = { { "check", no_argument, NULL, DAEMON_OPT_CHECK },
                                       { "systemd", no_argument, NULL, 's' },
                                       { "version", no_argument, NULL, 'V' },
                                       { "help", no_argument, NULL, 'h' },
                                       { NULL, 0, NULL, 0 } };

static enum daemon_taken take_option(void *ctx, int c, const char *arg)
{
    struct head *h = ctx;

    (void)arg;
    switch (c) {
    case 's':
        h->o.foreground = true;
        return DAEMON_GO_ON;
    case 'R':
    case 'u':
        return DAEMON_GO_ON;
    default:
        return DAEMON_SHARED;
    }
}

static const struct daemon_head head = {
    .name = "slurmdbd",
    .usage = usage,
    .shorts = "Df:hn:R::suvV",
    .longs = longs,
    .unexpected = "slurmdbd: unexpected argument: ",
    .usage_after = true,
    .take_own = take_option,
};

static enum log_level wanted_level(const struct conf_dbd *conf, const struct daemon_options *o)
{
    return daemon_log_level(conf_dbd_str(conf, CONF_DBD_DEBUG_LEVEL), o->verbose);
}

static int load_conf(struct dbd *d, const struct daemon_options *o, struct err *err)
{
    struct conf_problems problems = { 0 };
    _cleanup_free_ char *path = NULL;
    enum log_level level;
    int r = o->conf_path ? 0 : conf_dbd_default_path(&path);

    if (r == 0)
        r = daemon_conf_file(path ? path : o->conf_path, &d->conf_path, err);
    if (r < 0)
        return r;
    r = conf_dbd_load(d->conf_path, &d->conf, &problems, err);
    if (r < 0)
        conf_report(stderr, &problems);
    conf_problems_done(&problems);
    if (r == 0 && log_level_parse(conf_dbd_str(d->conf, CONF_DBD_DEBUG_LEVEL), &level) < 0)
        return err_set(err, -EINVAL, "%s: DebugLevel=%.64s is not a level", d->conf_path,
                       conf_dbd_str(d->conf, CONF_DBD_DEBUG_LEVEL));
    if (r == 0)
        r = debug_check(conf_dbd_str(d->conf, CONF_DBD_DEBUG_FLAGS), err);
    if (r == 0)
        d->slurm_uid = conf_dbd_slurm_uid(d->conf);
    return r;
}

static int load_tokens(const struct conf_dbd *conf, struct auth_keys *keys,
                       struct auth_tokens **ret, struct err *err)
{
    *ret = NULL;
    return conf_dbd_use_jwt(conf) ? daemon_dbd_tokens(conf, keys, ret, err) : 0;
}

/* The cluster's key, made when neither a controller nor a daemon has been here before. */
static int load_keys(struct dbd *d, struct err *err)
{
    const char *path = conf_dbd_key_file(d->conf);
    int r = conf_dbd_use_munge(d->conf) ? 0 : auth_keys_create(path, err);

    if (r < 0 && r != -EEXIST)
        return r;
    r = auth_keys_load(path, &d->keys, err);
    if (r < 0 && r != -ENOENT) /* munge alone */
        return r;
    return load_tokens(d->conf, d->keys, &d->tokens, err);
}

static int load_tls(struct dbd *d, const struct conf_dbd *conf, struct tls_ctx **ret_tls,
                    struct err *err)
{
    struct tls_config config;
    int r = conf_dbd_tls(conf, &config);

    if (r == 0 && d->server && !d->tls != (config.kind == TLS_NONE)) {
        tls_config_done(&config);
        return err_set(err, -EBUSY, "TLSType: a change needs a restart of slurmdbd");
    }
    return r < 0 ? r : tls_ctx_load(&config, ret_tls, err);
}

static int configure_daemon(void *ctx, struct err *err)
{
    struct head *h = ctx;
    int r = load_conf(&h->d, &h->o, err);

    if (r == 0)
        r = load_keys(&h->d, err);
    return r < 0 ? r : load_tls(&h->d, h->d.conf, &h->d.tls, err);
}

static uid_t slurm_user(void *ctx)
{
    const struct head *h = ctx;

    return h->d.slurm_uid;
}

static void open_log(void *ctx)
{
    const struct head *h = ctx;

    log_set_time(conf_dbd_str(h->d.conf, CONF_DBD_LOG_TIME_FORMAT));
    (void)log_set_syslog(conf_dbd_str(h->d.conf, CONF_DBD_DEBUG_LEVEL_SYSLOG),
                         NULL); /* no such level: none */
    daemon_open_log(&head, &h->o, conf_dbd_str(h->d.conf, CONF_DBD_LOG_FILE),
                    wanted_level(h->d.conf, &h->o), NULL);
}

/* ---- the daemon ------------------------------------------------------------------------------ */

/* Apply the settings that can change while the daemon runs: log level, what users may see
 * (PrivateData), purge and roll-up. */
static void reread_conf(struct dbd *d, const struct daemon_options *o)
{
    struct err err = { .text = "" };
    struct conf_dbd *conf = NULL;
    struct auth_keys *keys = NULL;
    struct auth_tokens *tokens = NULL;
    struct tls_ctx *tls = NULL;
    enum log_level level;

    (void)log_reopen(); /* keeps the old file when it fails */
    if (conf_dbd_load(d->conf_path, &conf, NULL, &err) < 0 ||
        log_level_parse(conf_dbd_str(conf, CONF_DBD_DEBUG_LEVEL), &level) < 0 ||
        debug_check(conf_dbd_str(conf, CONF_DBD_DEBUG_FLAGS), &err) < 0 ||
        load_tls(d, conf, &tls, &err) < 0 ||
        (d->keys && auth_keys_load(conf_dbd_key_file(conf), &keys, &err) < 0) ||
        load_tokens(conf, keys, &tokens, &err) < 0) {
        log_error("the configuration stays what it was: %s",
                  err.text[0] ? err.text : "DebugLevel is not a level");
        (void)conf_dbd_free(conf); /* always NULL, as the next two */
        (void)auth_keys_free(keys);
        (void)tls_ctx_unref(tls);
        return;
    }
    log_set_level(wanted_level(conf, o));
    log_set_time(conf_dbd_str(conf, CONF_DBD_LOG_TIME_FORMAT));
    (void)log_set_syslog(conf_dbd_str(conf, CONF_DBD_DEBUG_LEVEL_SYSLOG),
                         NULL); /* no such level: none */
    dbd_configure(d, conf);
    pthread_mutex_lock(&d->conf_lock);
    (void)conf_dbd_free(d->conf); /* always NULL */
    d->conf = conf;
    pthread_mutex_unlock(&d->conf_lock);
    (void)auth_keys_free(d->keys); /* always NULL */
    d->keys = keys;
    (void)auth_tokens_free(d->tokens); /* always NULL */
    d->tokens = tokens;
    (void)tls_ctx_unref(d->tls); /* always NULL */
    d->tls = tls;
    if (d->server)
        server_set_tls(d->server, d->tls);
    if (d->server)
        server_set_auth(d->server, d->keys, d->tokens);
    if (d->kiosk)
        kiosk_set_keys(d->kiosk, d->keys);
    dbd_tell_health(d);
    log_info("read %s again; the port, the database and users change with a new start",
             d->conf_path);
}

static void wait_for_end(struct dbd *d, const struct daemon_options *o)
{
    enum daemon_action action;

    while ((action = daemon_wait_signal(d->turn ? STANDBY_MS : -1)) != DAEMON_END) {
        if (action == DAEMON_TICK)
            standby_tick(d);
        else if (action == DAEMON_RELOAD)
            reread_conf(d, o);
    }
    log_info("ending on a signal");
}

static int serve_store(void *ctx, int ready_fd, struct err *err)
{
    struct head *h = ctx;
    struct dbd *d = &h->d;
    int r;

    daemon_block_signals();
    logflags_set(conf_dbd_str(d->conf, CONF_DBD_DEBUG_FLAGS));
    if (dbd_has_server(d->conf)) {
        r = patience_new(&d->patience);
        if (r < 0)
            return err_set(err, r, "cannot start: %s", strerrordesc_np(-r));
    }
    r = standby_begin(d, err);
    if (r < 0)
        return r;
    daemonize_pid_file(conf_dbd_str(d->conf, CONF_DBD_PID_FILE));
    daemonize_serve(ready_fd);
    wait_for_end(d, &h->o);
    daemonize_pid_remove(conf_dbd_str(d->conf, CONF_DBD_PID_FILE));
    return 0;
}

static void release_daemon(void *ctx)
{
    struct head *h = ctx;

    dbd_stop(&h->d);
}

static const struct daemon_life life = {
    .configure = configure_daemon,
    .user = slurm_user,
    .open_log = open_log,
    .serve = serve_store,
    .release = release_daemon,
};

static int check_conf(const struct daemon_options *o)
{
    _cleanup_free_ char *usual = NULL;
    struct conf_problems problems = { 0 };
    struct conf_dbd *conf = NULL;
    struct err err = { .text = "" };
    enum log_level level;
    int r = o->conf_path ? 0 : conf_dbd_default_path(&usual);
    const char *path = usual ? usual : o->conf_path;

    if (r == 0)
        r = conf_dbd_load(path, &conf, &problems, &err);
    conf_report(stdout, &problems);
    if (r == 0 && log_level_parse(conf_dbd_str(conf, CONF_DBD_DEBUG_LEVEL), &level) < 0)
        r = err_set(&err, -EINVAL, "DebugLevel=%.64s is not a level",
                    conf_dbd_str(conf, CONF_DBD_DEBUG_LEVEL));
    if (r == 0)
        r = debug_check(conf_dbd_str(conf, CONF_DBD_DEBUG_FLAGS), &err);
    if (r == 0)
        (void)printf("%s: the configuration is good\n", path);
    else if (!problems.n || conf)
        (void)printf("%s: error: %s\n", path ? path : "slurmdbd.conf", err.text);
    conf_problems_done(&problems);
    (void)conf_dbd_free(conf); /* always NULL */
    return r < 0 ? 1 : 0;
}

int main(int argc, char **argv)
{
    struct head h = { .d = { .conf_lock = PTHREAD_MUTEX_INITIALIZER,
                             .serve_lock = PTHREAD_MUTEX_INITIALIZER } };
    int r;

    inherit_begin(3);
    r = daemon_parse_options(&head, argc, argv, &h.o, &h);
    if (r >= 0)
        return r;
    if (h.o.check)
        return check_conf(&h.o);
    daemon_begin(&head, &h.o);
    return daemon_live(&head, &life, &h.o, &h);
}
