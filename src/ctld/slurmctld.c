/* slurmctld.c - slurmctld from command line to clean exit
 *
 * Order of a start: configuration, keys, listen (so that a taken port is reported before
 * anything changes), recovery, threads, then open the door.  The parent of a daemonized start
 * returns 0 only after that. */
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/process/daemonize.h"
#include "base/process/inherit.h"
#include "base/log.h"
#include "base/process/threadname.h"
#include "conf/tls/conf_tls.h"
#include "wire/tls/tls.h"
#include "ctld/core/boot.h"
#include "ctld/core/loop.h"
#include "ctld/core/resourcefile.h"
#include "ctld/front/front.h"
#include "ctld/ha/ha.h"
#include "ctld/ha/hawait.h"
#include "ctld/ha/past.h"
#include "ctld/ha/reexec.h"
#include "ctld/notify/triggers.h"
#include "ctld/services.h"
#include "ctld/topology/topology.h"
#include "daemon/daemon.h"
#include "daemon/dmntokens.h"
#include "etcd/etcdconf.h"
#include "stream/streamconf.h"
#include "version.h"
#include "wire/auth/idkey.h"

#define AGAIN_MAX 9 /* words */
#define FAILED_S 2  /* before a controller that could not take control stands by again */

/* The head's own state; ctx of every step below. */
struct head {
    struct daemon_options o;
    struct ctld *ctld;
    struct conf_problems problems; /* of the configuration, until there is a log */
    bool clear, ignore_damage;
    bool failed;      /* it had its turn, and could not boot */
    const char *past; /* --past: whose log; NULL: the present */
    uint64_t past_lsn;
    const char *host; /* --host; NULL: gethostname() says it */
    struct ha_options ha;
    char self[PATH_MAX];
    char *again[AGAIN_MAX + 1]; /* the command line of a standby; owned */
};

enum { OPT_HOST = 0x100, OPT_STANDBY, OPT_PAST };

static const char usage[] =
    "Usage: slurmctld [OPTIONS]\n"
    "  -c            forget all jobs, nodes and partitions known so far\n"
    "  -D            stay in the foreground, log to stderr as well\n"
    "  -f FILE       read FILE instead of the usual slurm.conf\n"
    "  -h            print this help\n"
    "  -i            repair a damaged journal first: what is behind the damage is set aside\n"
    "  -L FILE       log to FILE\n"
    "  -n VALUE      run at this nice value\n"
    "  -R, -s        change nothing; kept for existing start scripts\n"
    "  --host NAME   be the controller of the line SlurmctldHost=NAME, whatever this host is called\n"
    "  --past LSN,TIME,DIR   show the cluster as the log in DIR has it at record LSN; change nothing\n"
    "  --standby     stand by, also as the first SlurmctldHost; control is not asked back\n"
    "  --systemd     as -D: readiness is told through NOTIFY_SOCKET\n"
    "  -v            log more; may be repeated\n"
    "  -V, --version print the version and exit\n"
    "  --check       read the configuration, report every problem, exit 0 when there is no error\n";

static const struct option longs[] = { { "check", no_argument, NULL, DAEMON_OPT_CHECK },
                                       { "host", required_argument, NULL, OPT_HOST },
                                       { "past", required_argument, NULL, OPT_PAST },
                                       { "standby", no_argument, NULL, OPT_STANDBY },
                                       { "systemd", no_argument, NULL, 'D' },
                                       { "version", no_argument, NULL, 'V' },
                                       { "help", no_argument, NULL, 'h' },
                                       { NULL, 0, NULL, 0 } };

static enum daemon_taken take_option(void *ctx, int c, const char *arg)
{
    struct head *h = ctx;

    switch (c) {
    case 'c':
        h->clear = true;
        return DAEMON_GO_ON;
    case 'i':
        h->ignore_damage = true;
        return DAEMON_GO_ON;
    case OPT_HOST:
        h->host = arg;
        return DAEMON_GO_ON;
    case OPT_PAST:
        h->past = arg;
        return DAEMON_GO_ON;
    case OPT_STANDBY:
        h->ha.stand_by = true;
        return DAEMON_GO_ON;
    case 'r':
    case 'R':
    case 's':
        return DAEMON_GO_ON; /* recovery is always complete */
    default:
        return DAEMON_SHARED;
    }
}

static const struct daemon_head head = {
    .name = "slurmctld",
    .usage = usage,
    .shorts = "cDf:hiL:n:rRsvV",
    .longs = longs,
    .unexpected = "slurmctld: unexpected argument: ",
    .usage_after = true,
    .take_own = take_option,
};

/* *ret_problems: of a configuration that is good, for the log. */
static int load_conf(struct ctld *ctld, const struct daemon_options *o,
                     struct conf_problems *ret_problems, struct err *err)
{
    struct conf_problems problems = { 0 };
    int r =
        daemon_conf_file(o->conf_path ? o->conf_path : conf_default_path(), &ctld->conf_path, err);

    if (r < 0)
        return r;
    r = conf_load(ctld->conf_path, CONF_FULL, &ctld->conf, &problems, err);
    if (r < 0) {
        conf_report(stderr, &problems);
        conf_problems_done(&problems);
    } else {
        *ret_problems = problems;
    }
    return r;
}

/* --check: certificates and keys of tokens, as the start reads them.  Those that the caller may not
 * read are passed over: SlurmUser may. */
static int check_secrets(const struct conf *conf, struct err *err)
{
    struct auth_tokens *tokens = NULL;
    struct tls_ctx *tls = NULL;
    struct tls_config config;
    int r = conf_tls(conf, CONF_TLS_CTLD, &config);

    if (r == 0)
        r = tls_ctx_load(&config, &tls, err);
    if (r == 0)
        r = daemon_tokens(conf, NULL, &tokens, err);
    (void)tls_ctx_unref(tls); /* always NULL, as the next */
    (void)auth_tokens_free(tokens);
    return r == -EACCES && geteuid() != 0 ? 0 : r;
}

/* --check: the files beside slurm.conf that the controller alone reads. */
/* JournalType=etcd needs to know where the members are, stream where the witness is. */
static int check_journal(const struct conf *conf, struct err *err)
{
    struct stream_config stream;
    struct etcd_config etcd;

    if (strcasecmp(conf_str(conf, CONF_JOURNAL_TYPE), "stream") == 0)
        return stream_config_parse(conf_str(conf, CONF_JOURNAL_PARAMETERS), &stream, err);
    if (strcasecmp(conf_str(conf, CONF_JOURNAL_TYPE), "etcd") != 0)
        return 0;
    return etcd_config_parse(conf_str(conf, CONF_JOURNAL_PARAMETERS),
                             conf_str(conf, CONF_CLUSTER_NAME), &etcd, err);
}

static int check_other_files(const struct conf *conf, struct conf_problems *problems,
                             struct err *err)
{
    _cleanup_(resources_free) struct resources *all = NULL;
    int r = topology_check_conf(conf, problems, err);

    if (r == 0)
        r = resourcefile_load(conf, &all, NULL, err);
    if (r == 0)
        r = check_journal(conf, err);
    return r < 0 ? r : check_secrets(conf, err);
}

static int make_dirs(const struct ctld *ctld, struct err *err)
{
    const char *dir = conf_str(ctld->conf, CONF_STATE_SAVE_LOCATION);
    uid_t uid = conf_slurm_uid(ctld->conf);

    if (mkdir(dir, 0700) < 0 && errno != EEXIST)
        return err_set(err, -errno, "StateSaveLocation %s: %s", dir, strerror(errno));
    if (getuid() == 0 && uid != 0 && chown(dir, uid, (gid_t)-1) < 0)
        return err_set(err, -errno, "StateSaveLocation %s: %s", dir, strerror(errno));
    return 0;
}

/* Where JournalParameters=identity= says that the controllers' key is; "": nowhere.  That file is
 * never made here: two controllers would make two. */
static int find_identity(const struct conf *conf, struct etcd_config *etcd, struct err *err)
{
    int r = 0;

    etcd->identity[0] = '\0';
    if (strcasecmp(conf_str(conf, CONF_JOURNAL_TYPE), "etcd") == 0)
        r = etcd_config_parse(conf_str(conf, CONF_JOURNAL_PARAMETERS),
                              conf_str(conf, CONF_CLUSTER_NAME), etcd, err);
    if (r == 0 && etcd->identity[0] && access(etcd->identity, F_OK) < 0)
        return err_set(err, -errno, "JournalParameters: identity=%s: %s", etcd->identity,
                       strerror(errno));
    return r;
}

/* The key that only the controllers have, and its public half, which nodes may be given. */
static int load_identity(struct ctld *ctld, struct err *err)
{
    const char *dir = conf_str(ctld->conf, CONF_STATE_SAVE_LOCATION);
    _cleanup_free_ char *secret = NULL, *public = NULL;
    struct etcd_config etcd;
    int r = find_identity(ctld->conf, &etcd, err);

    if (r < 0)
        return r;
    if ((etcd.identity[0] ? asprintf(&secret, "%s", etcd.identity)
                          : asprintf(&secret, "%s/slurmctld.key", dir)) < 0 ||
        asprintf(&public, "%s/slurmctld.pub", dir) < 0)
        return err_nomem(err);
    r = idkey_open(secret, conf_slurm_uid(ctld->conf), &ctld->identity, err);
    return r < 0 ? r : idkey_write_public(public, idkey_public(ctld->identity), err);
}

static int load_keys(struct ctld *ctld, struct err *err)
{
    const char *path = conf_key_file(ctld->conf);
    int r = auth_keys_create(path, err);

    if (r < 0 && r != -EEXIST)
        return r;
    r = auth_keys_load(path, &ctld->keys, err);
    if (r == 0)
        r = daemon_tokens(ctld->conf, ctld->keys, &ctld->tokens, err);
    return r < 0 ? r : load_identity(ctld, err);
}

/* The command line of a process that stands by in place of this one: in the foreground, since this
 * one was detached before. */
static int make_again(struct head *h)
{
    const char *words[] = { h->self,  "-D",    "--standby", "-f",         h->ctld->conf_path,
                            "--host", h->host, "-L",        h->o.log_path };
    size_t n = 0;

    for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
        bool absent = !words[i] ||
                      (words[i][0] == '-' && i + 1 < ARRAY_SIZE(words) && i > 2 && !words[i + 1]);

        if (!absent && !(h->again[n++] = strdup(words[i])))
            return -ENOMEM;
    }
    h->ha.again = h->again;
    return 0;
}

static int load_tls(struct ctld *ctld, struct err *err)
{
    struct tls_config config;
    int r = conf_tls(ctld->conf, CONF_TLS_CTLD, &config);

    return r < 0 ? r : tls_ctx_load(&config, &ctld->tls, err);
}

static int configure_daemon(void *ctx, struct err *err)
{
    struct head *h = ctx;
    int r = load_conf(h->ctld, &h->o, &h->problems, err);

    if (r >= 0)
        r = make_dirs(h->ctld, err);
    if (r >= 0)
        r = load_keys(h->ctld, err);
    if (r >= 0)
        r = load_tls(h->ctld, err);
    return r < 0 ? r : make_again(h);
}

static uid_t slurm_user(void *ctx)
{
    const struct head *h = ctx;

    return conf_slurm_uid(h->ctld->conf);
}

/* What is wrong with the configuration, and what of it has no effect. */
static void tell_problems(struct conf_problems *problems)
{
    for (size_t i = 0; i < problems->n; i++)
        log_write(problems->items[i].wrong ? LOG_ERROR : LOG_INFO, "%s:%u: %s",
                  problems->items[i].file, problems->items[i].line, problems->items[i].text);
    conf_problems_done(problems);
}

static void open_log(void *ctx)
{
    struct head *h = ctx;
    const struct conf *conf = h->ctld->conf;
    _cleanup_free_ char *path = NULL;
    const char *pattern = h->o.log_path ? h->o.log_path : conf_str(conf, CONF_SLURMCTLD_LOG_FILE);

    if (pattern && conf_expand_path(pattern, NULL, h->ctld->host, &path) < 0)
        path = NULL;
    log_set_time(conf_str(conf, CONF_LOG_TIME_FORMAT));
    (void)log_set_syslog(conf_str(conf, CONF_SLURMCTLD_SYSLOG_DEBUG),
                         NULL); /* no such level: none */
    daemon_open_log(&head, &h->o, path,
                    daemon_log_level(conf_str(conf, CONF_SLURMCTLD_DEBUG), h->o.verbose),
                    conf_str(conf, CONF_STATE_SAVE_LOCATION));
    tell_problems(&h->problems);
}

/* ---- the daemon ------------------------------------------------------------------------------ */

static void *signal_thread(void *arg)
{
    struct ctld *ctld = arg;
    enum daemon_action action;

    while ((action = daemon_wait_signal(-1)) != DAEMON_END)
        if (action == DAEMON_RELOAD)
            core_post_kind(ctld, CMD_RECONFIGURE);
    if (!atomic_load(&ctld->stopping))
        log_info("ending on a signal");
    ctld_stop(ctld);
    return NULL;
}

static int open_door(struct ctld *ctld, struct err *err)
{
    int r = front_start(ctld->front);

    return r < 0 ? err_set(err, r, "cannot start listening: %s", strerror(-r)) : 0;
}

/* One of several controllers: the door opens first, for who asks how it is.  *served: who started
 * us was told. */
static int await_term(const struct head *h, int ready_fd, bool *served, struct err *err)
{
    struct ctld *ctld = h->ctld;
    int r = open_door(ctld, err);

    if (r < 0)
        return r;
    if (!ha_is_our_turn(ctld)) {
        log_info("slurmctld %s of cluster %s stands by, port %u", SLURM_RELEASE,
                 conf_str(ctld->conf, CONF_CLUSTER_NAME), server_port(ctld->front->server));
        daemonize_serve(ready_fd);
        *served = true;
        if (h->clear || h->ignore_damage)
            log_info("-c and -i do nothing: another controller is active");
    }
    return ha_await_term(ctld, err);
}

/* --past: LSN,MICROSECONDS,DIR as `penstock journal at` passes it. */
static int parse_past(struct head *h, struct err *err)
{
    unsigned long long lsn = 0, us = 0;
    int dir = 0;

    if (!h->past)
        return 0;
    if (sscanf(h->past, "%19llu,%18llu,%n", &lsn, &us, &dir) != 2 || !dir || !lsn || !us)
        return err_set(err, -EINVAL, "--past %s: LSN,MICROSECONDS,DIR is meant", h->past);
    h->past_lsn = lsn;
    h->past += dir;
    h->ctld->past_us = (int64_t)us;
    return 0;
}

static int show_past(const struct head *h, int ready_fd, struct err *err)
{
    int r = past_load(h->ctld, h->past, h->past_lsn, err);

    if (r == 0)
        r = open_door(h->ctld, err);
    if (r < 0)
        return r;
    daemonize_serve(ready_fd);
    past_serve(h->ctld);
    return 0;
}

/* Boot, with the signal thread there already. */
static int lead_cluster(struct head *h, int ready_fd, struct err *err)
{
    struct ctld *ctld = h->ctld;
    bool served = false;
    int r = ctld->ha ? await_term(h, ready_fd, &served, err) : 0;

    if (r >= 0)
        r = boot_lead(ctld, h->clear && !served, h->ignore_damage && !served, err);
    if (r < 0 && served && r != -ECANCELED) {
        log_error("cannot take control: %s; standing by again", err->text);
        h->failed = true;
        return -ECANCELED; /* another one may do better */
    }
    if (r >= 0)
        ha_leads(ctld);
    if (r >= 0 && ctld->ha)
        server_open_local(ctld->front->server);
    else if (r >= 0)
        r = open_door(ctld, err);
    if (r < 0)
        return r;
    log_info("slurmctld %s of cluster %s is running, port %u", SLURM_RELEASE,
             conf_str(ctld->conf, CONF_CLUSTER_NAME), server_port(ctld->front->server));
    if (!served)
        daemonize_serve(ready_fd);
    core_run(ctld);
    return atomic_load(&ctld->acct_full)
               ? err_set(err, -EDQUOT,
                         "accounting: MaxDBDMsgs records wait for slurmdbd "
                         "(SlurmctldParameters=max_dbd_msg_action=exit)")
               : 0;
}

static int serve_cluster(void *ctx, int ready_fd, struct err *err)
{
    struct head *h = ctx;
    struct ctld *ctld = h->ctld;
    pthread_t signals;
    int r;

    daemon_block_signals();
    r = parse_past(h, err);
    if (r >= 0 && !h->past)
        r = ha_begin(ctld, &h->ha, err);
    if (r >= 0)
        r = boot_prepare(ctld, err);
    if (r >= 0)
        r = boot_pid_file(ctld, true);
    if (r < 0)
        return r;
    r = -pthread_create(&signals, NULL, signal_thread, ctld);
    if (r < 0)
        return err_set(err, r, "cannot start a thread: %s", strerror(-r));
    threadname_set(signals, "signals");
    r = h->past ? show_past(h, ready_fd, err) : lead_cluster(h, ready_fd, err);
    pthread_kill(signals, SIGTERM);
    pthread_join(signals, NULL);
    return r == -ECANCELED ? 0 : r;
}

static void release_daemon(void *ctx)
{
    struct head *h = ctx;
    bool stand_by = ha_gave_up(h->ctld) || h->failed;

    conf_problems_done(&h->problems);
    boot_end(h->ctld);
    if (h->failed)
        (void)sleep(FAILED_S); /* the others' turn; a signal is heard behind it */
    if (stand_by)
        reexec_as(h->ha.again); /* else, or if that fails, the process ends */
}

static const struct daemon_life life = {
    .configure = configure_daemon,
    .user = slurm_user,
    .open_log = open_log,
    .serve = serve_cluster,
    .release = release_daemon,
};

int main(int argc, char **argv)
{
    struct head h = { .ctld = NULL };
    int r;

    inherit_begin(3);
    if (readlink("/proc/self/exe", h.self, sizeof(h.self) - 1) < 0)
        return 1;
    if (argc > 1 && strcmp(argv[1], "--run-trigger") == 0)
        return triggers_child(argc, argv);
    r = daemon_parse_options(&head, argc, argv, &h.o, &h);
    if (r >= 0)
        return r;
    if (h.o.check)
        return daemon_check_conf(h.o.conf_path, check_other_files);
    h.ctld = calloc(1, sizeof(*h.ctld));
    if (!h.ctld)
        return 1;
    h.ctld->services = ctld_services;
    boot_host_name(h.ctld);
    if (h.host)
        (void)snprintf(h.ctld->host, sizeof(h.ctld->host), "%s", h.host);
    daemon_begin(&head, &h.o);
    r = daemon_live(&head, &life, &h.o, &h);
    for (size_t i = 0; i < AGAIN_MAX; i++)
        free(h.again[i]);
    return r;
}
