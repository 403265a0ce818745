/* sackd.c - the configuration of a login node: fetched, kept for commands, followed
 *
 * One thread, which waits at the controller for the next configuration.  What is on the disk is
 * whole at any moment, so a signal ends the process at once. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/process/daemonize.h"
#include "base/process/inherit.h"
#include "conf/conf.h"
#include "configless/confcache.h"
#include "configless/conffetch.h"
#include "configless/conflink.h"
#include "daemon/daemon.h"
#include "daemon/kiosk.h"

#define FETCH_TIMEOUT_MS 10000
#define WAIT_MS 60000 /* then it is asked again: the controller's host may be gone */
#define BACKOFF_MAX_S 30u
#define EARLY_S 5

static const char usage[] =
    "Usage: sackd [OPTIONS]\n"
    "   --ca-cert-file <file>      Trust this authority when the configuration is fetched (TLS).\n"
    "   --conf-server <host>[:<port>],...  Get the configuration from slurmctld.\n"
    "   -D                         Run in the foreground.\n"
    "   --disable-reconfig         Get the configuration once, and do not follow it.\n"
    "   -h                         Print this help and exit.\n"
    "   --key-file <file>          The cluster's key.\n"
    "   -L <file>                  Log to the file.\n"
    "   --systemd                  As -D: readiness is told through NOTIFY_SOCKET.\n"
    "   -v                         Log more; repeat for even more.\n"
    "   -V                         Print the version and exit.\n";

enum { OPT_CA = 256, OPT_CONF_SERVER, OPT_DISABLE, OPT_KEY };

static const struct option longs[] = {
    { "ca-cert-file", required_argument, NULL, OPT_CA },
    { "conf-server", required_argument, NULL, OPT_CONF_SERVER },
    { "disable-reconfig", no_argument, NULL, OPT_DISABLE },
    { "key-file", required_argument, NULL, OPT_KEY },
    { "systemd", no_argument, NULL, 'D' },
    { "help", no_argument, NULL, 'h' },
    { "version", no_argument, NULL, 'V' },
    { NULL, 0, NULL, 0 },
};

struct sackd {
    struct daemon_options o;
    const char *conf_server, *key_option, *ca_option;
    bool once;
    struct confservers given;   /* by --conf-server or DNS */
    struct confservers servers; /* these, and the controllers of the configuration behind them */
    bool encrypted;             /* a controller has said so */
    struct hostfiles host;
    struct confcache cache;
    ProtobufCBinaryData digest; /* of what is kept; owned */
    struct kiosk *kiosk;        /* NULL: commands of this host prove themselves otherwise */
};

static enum daemon_taken take_option(void *ctx, int c, const char *arg)
{
    struct sackd *d = ctx;

    switch (c) {
    case OPT_CA:
        d->ca_option = arg;
        return DAEMON_GO_ON;
    case OPT_CONF_SERVER:
        d->conf_server = arg;
        return DAEMON_GO_ON;
    case OPT_DISABLE:
        d->once = true;
        return DAEMON_GO_ON;
    case OPT_KEY:
        d->key_option = arg;
        return DAEMON_GO_ON;
    default:
        return DAEMON_SHARED;
    }
}

static const struct daemon_head head = {
    .name = "sackd",
    .usage = usage,
    .shorts = "DhL:vV",
    .longs = longs,
    .unexpected = "sackd: unexpected argument: ",
    .usage_after = true,
    .take_own = take_option,
};

static bool server_known(const struct confservers *servers, const char *host, uint16_t port)
{
    for (size_t i = 0; i < servers->n; i++)
        if (servers->list[i].port == port && strcmp(servers->list[i].host, host) == 0)
            return true;
    return false;
}

/* Controllers that were added, or have moved, since --conf-server was written. */
static void add_controllers(struct sackd *d, const char *path)
{
    _cleanup_(conf_free) struct conf *conf = NULL;
    struct conf_problems problems = { 0 };
    const char *hosts[CONFSERVER_MAX];
    struct err err = { .text = "" };
    size_t n = 0;

    if (conf_load(path, CONF_CLIENT, &conf, &problems, &err) == 0)
        n = conf_ctld_addrs(conf, hosts, ARRAY_SIZE(hosts));
    else
        log_error("the controllers stay what they were: %s", err.text);
    conf_problems_done(&problems);
    if (n)
        d->servers = d->given;
    for (size_t i = 0; i < n && d->servers.n < CONFSERVER_MAX; i++) {
        struct confserver *s = &d->servers.list[d->servers.n];
        uint16_t port = conf_ctld_port(conf);

        if (strlen(hosts[i]) >= sizeof(s->host) || server_known(&d->servers, hosts[i], port))
            continue;
        (void)snprintf(s->host, sizeof(s->host), "%s", hosts[i]);
        s->port = port;
        d->servers.n++;
    }
}

/* Keep a configuration and let the link lead to it. */
static int keep_bundle(struct sackd *d, const Pst__ConfBundle *b, struct err *err)
{
    _cleanup_free_ char *conf = NULL;
    uint8_t *digest = malloc(b->digest.len + 1);
    int r = digest ? confcache_store(&d->cache, b, &conf, err) : err_nomem(err);

    if (r == 0)
        r = confcache_switch(&d->cache, b, err);
    if (r < 0) {
        free(digest);
        return r;
    }
    memcpy(digest, b->digest.data, b->digest.len);
    free(d->digest.data);
    d->digest = (ProtobufCBinaryData){ b->digest.len, digest };
    confcache_clean(&d->cache); /* commands read a file at once */
    conflink_write(d->cache.root);
    log_info("the configuration is in %s", conf);
    add_controllers(d, conf);
    return 0;
}

static struct conffetch fetch_of(const struct sackd *d, int timeout_ms)
{
    return (struct conffetch){ .servers = &d->servers,
                               .key_file = d->host.path[HOSTFILE_KEY],
                               .use_munge = !d->host.path[HOSTFILE_KEY],
                               .ca_file = d->host.path[HOSTFILE_CA],
                               .encrypted = d->encrypted,
                               .program = "sackd",
                               .timeout_ms = timeout_ms };
}

static int find_servers(struct sackd *d, struct err *err)
{
    int r;

    if (d->conf_server) {
        r = confserver_parse(d->conf_server, &d->given, err);
    } else {
        r = confserver_from_dns(&d->given, err);
        if (r < 0)
            err_prefix(err, "there is no --conf-server");
    }
    if (r == 0)
        d->servers = d->given;
    return r;
}

static int configure_daemon(void *ctx, struct err *err)
{
    struct sackd *d = ctx;
    _cleanup_free_ char *root = NULL;
    struct hostfiles shown = { .path = { NULL } }; /* what commands may read */
    char link[4096];
    int r = find_servers(d, err);

    if (r == 0 || r == -EAGAIN) /* DNS is asked again until it answers */
        r = hostfiles_find(NULL, d->key_option, d->ca_option, &d->host, err);
    if (r < 0)
        return r;
    shown.path[HOSTFILE_CA] = d->host.path[HOSTFILE_CA];
    if (asprintf(&root, "%s-cache", conflink_path(link, sizeof(link))) < 0) {
        root = NULL;
        return err_nomem(err);
    }
    return confcache_open(&d->cache, root, &shown, err);
}

static void open_log(void *ctx)
{
    struct sackd *d = ctx;

    daemon_open_log(&head, &d->o, d->o.log_path, daemon_log_level(NULL, d->o.verbose), "/");
}

static void end_now(int signum)
{
    (void)signum;
    _exit(0); /* nothing is left half done; also as process 1, which signals do not end */
}

/* A failure: told when it is another one than before, then a rest. */
static void rest_after(const struct err *err, struct err *told, unsigned *seconds)
{
    if (strcmp(told->text, err->text) != 0)
        log_error("%s; trying on", err->text);
    *told = *err;
    (void)sleep(*seconds);
    *seconds = MIN(2 * *seconds, BACKOFF_MAX_S);
}

static int ask_once(struct sackd *d, struct conffetch *fetch, Pst__ConfBundle **ret,
                    struct err *err)
{
    int r = d->servers.n ? 0 : find_servers(d, err);

    return r < 0 ? r : conffetch_once(fetch, ret, err);
}

/* The first configuration; what does not get better by waiting ends the daemon. */
static int fetch_first(struct sackd *d, struct err *err)
{
    struct conffetch fetch = fetch_of(d, FETCH_TIMEOUT_MS);
    struct err told = { .text = "" };
    Pst__ConfBundle *b = NULL;
    unsigned seconds = 1;
    int r;

    while ((r = ask_once(d, &fetch, &b, err)) < 0 && !conffetch_is_final(r))
        rest_after(err, &told, &seconds);
    d->encrypted = fetch.encrypted;
    if (r == 0) {
        err->text[0] = '\0'; /* of attempts before */
        r = keep_bundle(d, b, err);
        pst__conf_bundle__free_unpacked(b, NULL);
    }
    return r;
}

/* What is in the key file now; a failure leaves what was. */
static void load_keys(struct sackd *d)
{
    struct err err = { .text = "" };
    struct auth_keys *keys = NULL;

    if (!d->kiosk)
        return;
    if (auth_keys_load(d->host.path[HOSTFILE_KEY], &keys, &err) < 0) {
        log_error("the keys to vouch with stay what they were: %s", err.text);
        return;
    }
    kiosk_set_keys(d->kiosk, keys);
    (void)auth_keys_free(keys); /* always NULL */
}

/* From now on commands have a configuration: a failure is told, and tried again. */
static void follow_controller(struct sackd *d)
{
    struct conffetch fetch = fetch_of(d, WAIT_MS);
    struct err told = { .text = "" };
    unsigned seconds = 1;

    for (;;) {
        struct err err = { .text = "" };
        Pst__ConfBundle *b = NULL;
        bool fresh;
        int r = conffetch_next(&fetch, &d->digest, &b, &err);

        load_keys(d); /* once a minute at least: they may have been rotated */
        if (r == 0 && b)
            r = keep_bundle(d, b, &err);
        fresh = b != NULL;
        if (b)
            pst__conf_bundle__free_unpacked(b, NULL);
        if (r < 0 && r != -ETIMEDOUT) {
            rest_after(&err, &told, &seconds);
            continue;
        }
        seconds = 1;
        told.text[0] = '\0';
        if (r == 0 && !fresh)
            (void)sleep(EARLY_S); /* the controller does not let more hosts wait */
    }
}

/* With the cluster's key: for every user of this host.  Without one munge does (auth/munge). */
static void begin_vouching(struct sackd *d)
{
    struct err err = { .text = "" };

    if (d->host.path[HOSTFILE_KEY] && kiosk_open("slurm", 0, &d->kiosk, &err) < 0)
        log_error("this daemon vouches for no commands: %s", err.text);
    load_keys(d);
}

static int serve_commands(void *ctx, int ready_fd, struct err *err)
{
    struct sackd *d = ctx;
    int r;

    (void)signal(SIGTERM, end_now);
    (void)signal(SIGINT, end_now);
    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGHUP, SIG_IGN); /* the controller says when there is something new */
    (void)umask(022);
    r = fetch_first(d, err);
    if (r < 0)
        return r;
    begin_vouching(d);
    daemonize_serve(ready_fd);
    if (d->once)
        for (;;)
            (void)pause();
    follow_controller(d);
    return 0;
}

static void release_daemon(void *ctx)
{
    struct sackd *d = ctx;

    hostfiles_done(&d->host);
    free(d->digest.data);
    confcache_done(&d->cache);
}

static const struct daemon_life life = { .configure = configure_daemon,
                                         .open_log = open_log,
                                         .serve = serve_commands,
                                         .release = release_daemon };

int main(int argc, char **argv)
{
    struct sackd d = { .once = false };
    int r;

    inherit_begin(3);
    r = daemon_parse_options(&head, argc, argv, &d.o, &d);
    if (r >= 0)
        return r;
    daemon_begin(&head, &d.o);
    return daemon_live(&head, &life, &d.o, &d);
}
