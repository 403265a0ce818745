/* witnesscmd.c - see witnesscmd.h.
 *
 * The work is in src/stream (witserve.h); here are options, the configuration, and the end. */
#include "penstock/witness/witnesscmd.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "conf/conf.h"
#include "conf/tls/conf_tls.h"
#include "daemon/daemon.h"
#include "journal/format.h"
#include "journal/term.h"
#include "penstock/penstock.h"
#include "stream/streamconf.h"
#include "stream/witfile.h"
#include "stream/witserve.h"
#include "wire/auth/auth.h"
#include "wire/tls/tls.h"

#define ADDRESS_BYTES 256u

struct options {
    const char *conf, *state, *listen, *begin;
    bool check, downgrade;
};

/* ---- options ------------------------------------------------------------------------------- */

static void print_help(void)
{
    (void)puts(
        "Usage: penstock witness [-f FILE] --state DIR [--listen ADDRESS]\n"
        "       penstock witness [-f FILE] --state DIR --new HOST\n"
        "       penstock witness [-f FILE] --state DIR --check | --downgrade\n\n"
        "Say which of several controllers may lead, where they send their log to one another\n"
        "(JournalType=stream).  Runs in the foreground, on a host of its own.\n\n"
        "  -f FILE            slurm.conf\n"
        "  --state DIR        where the record is kept\n"
        "  --listen ADDRESS   HOST:PORT, [ADDRESS]:PORT or :PORT; default: any address, and the\n"
        "                     port of JournalParameters=witness=\n"
        "  --new HOST         make the record; this SlurmctldHost, and no other, may lead first\n"
        "  --check            read the configuration and the record, and say what it is\n"
        "  --downgrade        let controllers of this release go on, after a newer one: first\n"
        "                     `penstock journal downgrade` for each of them\n\n"
        "Manual: penstock(1)");
}

/* -1: go on; else the exit status. */
static int parse_options(int argc, char **argv, struct options *o)
{
    enum { OPT_STATE = 256, OPT_LISTEN, OPT_NEW, OPT_CHECK, OPT_DOWNGRADE };
    static const struct option longs[] = {
        { "state", required_argument, NULL, OPT_STATE },
        { "listen", required_argument, NULL, OPT_LISTEN },
        { "new", required_argument, NULL, OPT_NEW },
        { "check", no_argument, NULL, OPT_CHECK },
        { "downgrade", no_argument, NULL, OPT_DOWNGRADE },
        { "help", no_argument, NULL, 'h' },
        { NULL, 0, NULL, 0 },
    };
    int c;

    optind = 1;
    while ((c = getopt_long(argc, argv, "f:h", longs, NULL)) != -1) {
        switch (c) {
        case 'f':
            o->conf = optarg;
            break;
        case OPT_STATE:
            o->state = optarg;
            break;
        case OPT_LISTEN:
            o->listen = optarg;
            break;
        case OPT_NEW:
            o->begin = optarg;
            break;
        case OPT_CHECK:
            o->check = true;
            break;
        case OPT_DOWNGRADE:
            o->downgrade = true;
            break;
        case 'h':
            print_help();
            return STATUS_OK;
        default:
            return bad_option();
        }
    }
    if (optind < argc)
        return usage_error("witness: unexpected argument: %s", argv[optind]);
    if (!o->state)
        return usage_error("witness: --state DIR is needed");
    if (o->begin && (o->check || o->listen))
        return usage_error("witness: --new goes alone");
    if (o->downgrade && (o->begin || o->check || o->listen))
        return usage_error("witness: --downgrade goes alone");
    return -1;
}

/* ---- the record ------------------------------------------------------------------------------ */

static bool is_controller(const struct conf *conf, const char *host)
{
    const char *name;

    for (size_t i = 0; (name = conf_ctld_host(conf, i, NULL)); i++)
        if (strcasecmp(name, host) == 0)
            return true;
    return false;
}

/* The witness runs as SlurmUser. */
static int give_to_slurm_user(const struct options *o, const struct conf *conf)
{
    _cleanup_free_ char *path = NULL;
    uid_t uid = conf_slurm_uid(conf);

    if (geteuid() != 0)
        return STATUS_OK;
    if (asprintf(&path, "%s/" WITFILE_NAME, o->state) < 0)
        return say_nomem();
    if (chown(o->state, uid, (gid_t)-1) < 0 || chown(path, uid, (gid_t)-1) < 0)
        return say_error("witness: %s: %s", o->state, strerror(errno));
    return STATUS_OK;
}

static int make_record(const struct options *o, const struct conf *conf)
{
    const char *cluster = conf_str(conf, CONF_CLUSTER_NAME);
    struct witness_state s = { .record = { .version = 1, .in_sync = { .n = 1 } } }, found;
    struct err err = { .text = "" };
    int r;

    if (!is_controller(conf, o->begin) || strlen(o->begin) >= PACT_HOST_BYTES)
        return say_error("witness: --new %s: no SlurmctldHost has this name", o->begin);
    if (mkdir(o->state, 0700) < 0 && errno != EEXIST)
        return say_error("witness: %s: %s", o->state, strerror(errno));
    r = witfile_load(o->state, cluster, &found, &err);
    if (r == 0)
        return say_error("witness: %s has a record already: term %u; move it away first, when no "
                         "controller runs",
                         o->state, found.record.term);
    if (r != -ENOENT)
        return say_error("witness: %s", err.text);
    (void)snprintf(s.record.in_sync.v[0].host, PACT_HOST_BYTES, "%s", o->begin);
    r = witfile_store(o->state, cluster, &s, &err);
    if (r < 0)
        return say_error("witness: %s", err.text);
    r = give_to_slurm_user(o, conf);
    if (r != STATUS_OK)
        return r;
    (void)printf("%s may lead first\n",
                 s.record.in_sync.v[0].host); /* stdout errors show at exit */
    return STATUS_OK;
}

/* The record tells the level of the newest term's log, and controllers of a release that knows less
 * keep away from it. */
static int lower_level(const struct options *o, const struct conf *conf)
{
    const char *cluster = conf_str(conf, CONF_CLUSTER_NAME);
    struct err err = { .text = "" };
    struct witness_state s;
    struct term_record t;

    if (witfile_load(o->state, cluster, &s, &err) < 0)
        return say_error("witness: %s", err.text);
    if (!s.has_lease || term_decode(s.lease, &t) < 0 || t.level <= LOG_LEVEL) {
        (void)puts("no newer release has written this record; nothing was changed");
        return STATUS_OK;
    }
    term_encode(&t, s.lease); /* with the level of this release */
    if (witfile_store(o->state, cluster, &s, &err) < 0)
        return say_error("witness: %s", err.text);
    (void)printf("controllers of this release may go on after term %u\n", t.term);
    return give_to_slurm_user(o, conf);
}

static int show_record(const struct options *o, const struct conf *conf)
{
    struct witness_state s;
    struct err err = { .text = "" };

    if (witfile_load(o->state, conf_str(conf, CONF_CLUSTER_NAME), &s, &err) < 0)
        return say_error("witness: %s", err.text);
    (void)printf("version %llu, term %u", (unsigned long long)s.record.version, s.record.term);
    if (s.record.term)
        (void)printf(" of %s", s.record.holder.host);
    (void)printf(", in sync:");
    for (uint32_t i = 0; i < s.record.in_sync.n; i++)
        (void)printf(" %s", s.record.in_sync.v[i].host);
    (void)putchar('\n'); /* stdout errors show at exit */
    return STATUS_OK;
}

/* ---- serving --------------------------------------------------------------------------------- */

/* The host ("": any) and port of --listen. */
static int parse_listen(const char *text, char host[static ADDRESS_BYTES], uint16_t *ret_port)
{
    const char *colon = strrchr(text, ':');
    size_t n = colon ? (size_t)(colon - text) : 0;
    char *end;
    unsigned long port;

    if (!colon || n >= ADDRESS_BYTES)
        return -EINVAL;
    if (n >= 2 && text[0] == '[' && text[n - 1] == ']') {
        text++;
        n -= 2;
    }
    memcpy(host, text, n);
    host[n] = '\0';
    port = strtoul(colon + 1, &end, 10);
    if (colon[1] < '0' || colon[1] > '9' || *end || port > UINT16_MAX)
        return -EINVAL;
    *ret_port = (uint16_t)port;
    return 0;
}

static int serve_until_end(const struct witserve_config *config, struct err *err)
{
    struct witserve *w = NULL;
    int r = witserve_new(config, &w, err);

    if (r == 0)
        r = witserve_start(w);
    if (r < 0)
        return err->text[0] ? r : err_set(err, r, "%s", strerror(-r));
    log_info("the witness of %s answers at port %u", config->cluster, witserve_port(w));
    while (daemon_wait_signal(-1) != DAEMON_END)
        ;
    (void)witserve_free(w); /* always NULL */
    return 0;
}

static int serve_record(const struct options *o, const struct conf *conf,
                        const struct stream_config *stream, struct err *err)
{
    _cleanup_(tls_ctx_unref) struct tls_ctx *tls = NULL;
    char host[ADDRESS_BYTES] = "";
    struct witserve_config config = { .dir = o->state,
                                      .cluster = conf_str(conf, CONF_CLUSTER_NAME) };
    struct server_config *server = &config.server;
    struct tls_config tls_config;
    struct auth_keys *keys = NULL;
    int r;

    server->port = stream->port;
    if (o->listen && parse_listen(o->listen, host, &server->port) < 0)
        return err_set(err, -EINVAL, "--listen %s: it is HOST:PORT or :PORT", o->listen);
    server->any_port = o->listen && !server->port;
    server->bind_addr = host[0] ? host : NULL;
    server->use_munge = conf_use_munge(conf);
    server->munge_socket = conf_munge_socket(conf);
    server->slurm_uid = conf_slurm_uid(conf);
    server->slurmd_uid = conf_slurmd_uid(conf);
    r = conf_tls(conf, CONF_TLS_CTLD, &tls_config);
    if (r < 0)
        return err_nomem(err);
    if (tls_config.kind != TLS_NONE)
        r = tls_ctx_new(&tls_config, &tls, err);
    tls_config_done(&tls_config);
    server->tls = tls;
    if (r == 0 && !server->use_munge)
        r = auth_keys_load(conf_key_file(conf), &keys, err);
    server->keys = keys;
    if (r == 0)
        r = daemon_become(server->slurm_uid, err);
    if (r == 0)
        r = serve_until_end(&config, err);
    (void)auth_keys_free(keys); /* always NULL */
    return r;
}

int cmd_witness(int argc, char **argv)
{
    struct options o = { .conf = NULL };
    struct stream_config stream;
    struct conf *conf = NULL;
    struct err err = { .text = "" };
    int r = parse_options(argc, argv, &o);

    if (r >= 0)
        return r;
    if (conf_load(o.conf ? o.conf : conf_default_path(), CONF_FULL, &conf, NULL, &err) < 0)
        return say_error("witness: %s", err.text);
    if (strcasecmp(conf_str(conf, CONF_JOURNAL_TYPE), "stream") != 0)
        r = err_set(&err, -EINVAL, "JournalType is not stream: there is nothing to do");
    else
        r = stream_config_parse(conf_str(conf, CONF_JOURNAL_PARAMETERS), &stream, &err);
    if (r < 0) {
        r = say_error("witness: %s", err.text);
    } else if (o.begin) {
        r = make_record(&o, conf);
    } else if (o.check) {
        r = show_record(&o, conf);
    } else if (o.downgrade) {
        r = lower_level(&o, conf);
    } else {
        daemon_block_signals();                           /* before any thread is there */
        (void)log_open("witness", NULL, LOG_INFO, false); /* to standard error: cannot fail */
        r = serve_record(&o, conf, &stream, &err) < 0 ? say_error("witness: %s", err.text)
                                                      : STATUS_OK;
    }
    conf_free(conf);
    return r;
}
