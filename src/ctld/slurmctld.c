/* slurmctld.c - slurmctld from command line to clean exit
 *
 * Order of a start: configuration, keys, listen (so that a taken port is reported before
 * anything changes), recovery, threads, then open the door.  The parent of a daemonized start
 * returns 0 only after that. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <grp.h>
#include <pthread.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/daemonize.h"
#include "base/inherit.h"
#include "base/log.h"
#include "base/timefmt.h"
#include "ctld/core/boot.h"
#include "ctld/front/front.h"
#include "ctld/notify/triggers.h"
#include "version.h"

struct options {
    const char *conf_path, *log_path;
    bool foreground, check, clear, ignore_damage;
    int verbose, nice;
};

static void usage(FILE *f)
{
    fputs(
        "Usage: slurmctld [OPTIONS]\n"
        "  -c            forget all jobs, nodes and partitions known so far\n"
        "  -D            stay in the foreground, log to stderr as well\n"
        "  -f FILE       read FILE instead of the usual slurm.conf\n"
        "  -h            print this help\n"
        "  -i            repair a damaged journal first: what is behind the damage is set aside\n"
        "  -L FILE       log to FILE\n"
        "  -n VALUE      run at this nice value\n"
        "  -R, -s        change nothing; kept for existing start scripts\n"
        "  --systemd     as -D: readiness is told through NOTIFY_SOCKET\n"
        "  -v            log more; may be repeated\n"
        "  -V, --version print the version and exit\n"
        "  --check       read the configuration, report every problem, exit 0 when there is no error\n",
        f);
}

/* 0 go on, 1 done (exit 0), 2 usage error. */
static int parse_options(int argc, char **argv, struct options *o)
{
    static const struct option longs[] = { { "check", no_argument, NULL, 1 },
                                           { "systemd", no_argument, NULL, 'D' },
                                           { "version", no_argument, NULL, 'V' },
                                           { "help", no_argument, NULL, 'h' },
                                           { NULL, 0, NULL, 0 } };
    int c;

    while ((c = getopt_long(argc, argv, "cDf:hiL:n:rRsvV", longs, NULL)) != -1) {
        switch (c) {
        case 1:
            o->check = true;
            break;
        case 'c':
            o->clear = true;
            break;
        case 'D':
            o->foreground = true;
            break;
        case 'f':
            o->conf_path = optarg;
            break;
        case 'i':
            o->ignore_damage = true;
            break;
        case 'L':
            o->log_path = optarg;
            break;
        case 'n': {
            int64_t v;

            if (parse_i64(optarg, -20, 19, &v) < 0) {
                fprintf(stderr, "slurmctld: -n wants a nice value from -20 to 19, not %s\n",
                        optarg);
                return 2;
            }
            o->nice = (int)v;
            break;
        }
        case 'r':
        case 'R':
        case 's':
            break; /* recovery is always complete */
        case 'v':
            o->verbose++;
            break;
        case 'V':
            printf("slurm %s\n", SLURM_RELEASE);
            return 1;
        case 'h':
            usage(stdout);
            return 1;
        default:
            usage(stderr);
            return 2;
        }
    }
    if (optind < argc) {
        fprintf(stderr, "slurmctld: unexpected argument: %s\n", argv[optind]);
        usage(stderr);
        return 2;
    }
    return 0;
}

static int check_only(const struct options *o)
{
    struct conf *conf = NULL;
    struct conf_problems problems = { 0 };
    struct err err = { .text = "" };
    const char *path = o->conf_path ? o->conf_path : conf_default_path();
    int r = conf_load(path, CONF_FULL, &conf, &problems, &err);

    conf_report(stdout, &problems);
    if (r < 0 && !problems.n)
        printf("%s: error: %s\n", path, err.text);
    else if (r == 0)
        printf("%s: the configuration is good: %zu nodes, %zu partitions\n", path, conf_nodes(conf),
               conf_parts(conf));
    conf_problems_done(&problems);
    conf_free(conf);
    return r < 0 ? 1 : 0;
}

static int load_conf(struct ctld *ctld, const struct options *o, struct err *err)
{
    struct conf_problems problems = { 0 };
    int r;

    /* Absolute, since the daemon leaves its directory and reads it again later. */
    ctld->conf_path = realpath(o->conf_path ? o->conf_path : conf_default_path(), NULL);
    if (!ctld->conf_path)
        return err_set(err, -errno, "%s: %s", o->conf_path ? o->conf_path : conf_default_path(),
                       strerror(errno));
    r = conf_load(ctld->conf_path, CONF_FULL, &ctld->conf, &problems, err);
    if (r < 0) {
        conf_report(stderr, &problems);
    } else {
        for (size_t i = 0; i < problems.n; i++)
            log_verbose("%s:%u: %s", problems.items[i].file, problems.items[i].line,
                        problems.items[i].text);
    }
    conf_problems_done(&problems);
    return r;
}

/* root gives its rights up when SlurmUser is somebody else. */
static int become_slurm_user(const struct ctld *ctld, struct err *err)
{
    uid_t uid = conf_slurm_uid(ctld->conf);
    struct passwd *pw;

    if (getuid() != 0 || uid == 0)
        return 0;
    pw = getpwuid(uid); /* single-threaded still */
    if (!pw || setgid(pw->pw_gid) < 0 || initgroups(pw->pw_name, pw->pw_gid) < 0 || setuid(uid) < 0)
        return err_set(err, -EPERM, "cannot become SlurmUser (uid %u): %s", uid, strerror(errno));
    return 0;
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

static int load_keys(struct ctld *ctld, struct err *err)
{
    const char *path = conf_key_file(ctld->conf);
    int r = auth_keys_create(path, err);

    if (r < 0 && r != -EEXIST)
        return r;
    return auth_keys_load(path, &ctld->keys, err);
}

static void open_log(const struct ctld *ctld, const struct options *o)
{
    _cleanup_free_ char *path = NULL;
    const char *pattern = o->log_path ? o->log_path : conf_str(ctld->conf, CONF_SLURMCTLD_LOG_FILE);
    enum log_level level = LOG_INFO;

    if (pattern && conf_expand_path(pattern, NULL, ctld->host, &path) < 0)
        path = NULL;
    (void)log_level_parse(conf_str(ctld->conf, CONF_SLURMCTLD_DEBUG), &level); /* checked at load */
    if (o->verbose)
        level = (enum log_level)MIN((int)level + o->verbose, (int)LOG_DEBUG5);
    if (log_open("slurmctld", path, level, o->foreground) < 0)
        fprintf(stderr, "slurmctld: cannot write %s, logging to stderr\n", path ? path : "(null)");
    daemonize_work_in(path, conf_str(ctld->conf, CONF_STATE_SAVE_LOCATION));
}

/* ---- signals --------------------------------------------------------------------------------- */

static sigset_t watched(void)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGHUP);
    sigaddset(&set, SIGUSR2);
    return set;
}

static void *signal_thread(void *arg)
{
    struct ctld *ctld = arg;
    sigset_t set = watched();
    int sig;

    while (sigwait(&set, &sig) == 0) {
        if (sig == SIGHUP)
            core_post_kind(ctld, CMD_RECONFIGURE);
        else if (sig == SIGUSR2)
            (void)log_reopen(); /* keeps the old file when it fails */
        else
            break;
    }
    if (!atomic_load(&ctld->stopping))
        log_info("ending on a signal");
    ctld_stop(ctld);
    return NULL;
}

/* ---- the daemon ------------------------------------------------------------------------------ */

static int run(struct ctld *ctld, const struct options *o, int ready_fd, struct err *err)
{
    pthread_t signals;
    sigset_t set = watched();
    int r;

    pthread_sigmask(SIG_BLOCK, &set, NULL);
    (void)signal(SIGPIPE, SIG_IGN); /* cannot fail */
    r = boot_all(ctld, o->clear, o->ignore_damage, err);
    if (r < 0)
        return r;
    r = boot_pid_file(ctld, true);
    if (r < 0)
        return r;
    r = -pthread_create(&signals, NULL, signal_thread, ctld);
    if (r < 0)
        return err_set(err, r, "cannot start a thread: %s", strerror(-r));
    r = front_start(ctld->front);
    if (r < 0)
        return err_set(err, r, "cannot start listening: %s", strerror(-r));
    log_info("slurmctld %s of cluster %s is running, port %u", SLURM_RELEASE,
             conf_str(ctld->conf, CONF_CLUSTER_NAME), server_port(ctld->front->server));
    daemonize_serve(ready_fd);
    core_run(ctld);
    pthread_kill(signals, SIGTERM);
    pthread_join(signals, NULL);
    return 0;
}

int main(int argc, char **argv)
{
    struct options o = { 0 };
    struct err err = { .text = "" };
    struct ctld *ctld;
    int ready_fd = -1, r;

    inherit_begin(3);
    if (argc > 1 && strcmp(argv[1], "--run-trigger") == 0)
        return triggers_child(argc, argv);
    r = parse_options(argc, argv, &o);
    if (r)
        return r == 1 ? 0 : 1;
    if (o.check)
        return check_only(&o);
    ctld = calloc(1, sizeof(*ctld));
    if (!ctld)
        return 1;
    boot_host_name(ctld);
    daemonize_limits();
    if (o.nice && setpriority(PRIO_PROCESS, 0, o.nice) < 0)
        fprintf(stderr, "slurmctld: nice value %d is not allowed: %s\n", o.nice, strerror(errno));
    r = load_conf(ctld, &o, &err);
    if (r >= 0)
        r = make_dirs(ctld, &err);
    if (r >= 0)
        r = load_keys(ctld, &err);
    if (r >= 0)
        r = become_slurm_user(ctld, &err);
    if (r >= 0 && !o.foreground)
        r = daemonize_detach(&ready_fd, &err);
    if (r >= 0) {
        open_log(ctld, &o);
        r = run(ctld, &o, ready_fd, &err);
    }
    if (r < 0) {
        log_fatal("%s", err.text);
        if (!o.foreground)
            fprintf(stderr, "slurmctld: fatal: %s\n", err.text);
    }
    boot_end(ctld);
    return r < 0 ? 1 : 0;
}
