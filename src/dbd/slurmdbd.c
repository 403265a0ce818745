/* slurmdbd.c - slurmdbd from command line to clean exit
 *
 * Order of a start: configuration, keys, whose turn it is, listen, database, threads, then open
 * the door.  The parent of a daemonized start returns 0 only after that. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <grp.h>
#include <pthread.h>
#include <pwd.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/daemonize.h"
#include "base/inherit.h"
#include "base/log.h"
#include "base/timefmt.h"
#include "dbd/dbd.h"
#include "version.h"
#include "wire/auth/auth.h"
#include "wire/server/server.h"

struct options {
    const char *conf_path;
    bool foreground;
    int verbose, nice;
};

static void usage(FILE *f)
{
    (void)fputs("Usage: slurmdbd [OPTIONS]\n"
                "  -D             stay in the foreground, log to stderr as well\n"
                "  -f FILE        read FILE instead of slurmdbd.conf beside slurm.conf\n"
                "  -h             print this help\n"
                "  -n VALUE       run at this nice value\n"
                "  -R[comm|all]   change nothing; there is nothing to rebuild\n"
                "  -s, --systemd  as -D: readiness is told through NOTIFY_SOCKET\n"
                "  -u             change nothing; tables are brought up to date at every start\n"
                "  -v             log more; may be repeated\n"
                "  -V, --version  print the version and exit\n",
                f);
}

/* 0 go on, 1 done (exit 0), 2 usage error. */
static int parse_options(int argc, char **argv, struct options *o)
{
    static const struct option longs[] = { { "systemd", no_argument, NULL, 's' },
                                           { "version", no_argument, NULL, 'V' },
                                           { "help", no_argument, NULL, 'h' },
                                           { NULL, 0, NULL, 0 } };
    int64_t nice_value;
    int c;

    while ((c = getopt_long(argc, argv, "Df:hn:R::suvV", longs, NULL)) != -1) {
        switch (c) {
        case 'D':
        case 's':
            o->foreground = true;
            break;
        case 'f':
            o->conf_path = optarg;
            break;
        case 'n':
            if (parse_i64(optarg, -20, 19, &nice_value) < 0) {
                (void)fprintf(stderr, "slurmdbd: -n wants a nice value from -20 to 19, not %s\n",
                              optarg);
                return 2;
            }
            o->nice = (int)nice_value;
            break;
        case 'R':
        case 'u':
            break;
        case 'v':
            o->verbose++;
            break;
        case 'V':
            (void)printf("slurm %s\n", SLURM_RELEASE);
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
        (void)fprintf(stderr, "slurmdbd: unexpected argument: %s\n", argv[optind]);
        usage(stderr);
        return 2;
    }
    return 0;
}

static enum log_level level_of(const struct conf_dbd *conf, const struct options *o)
{
    enum log_level level = LOG_INFO;

    (void)log_level_parse(conf_dbd_str(conf, CONF_DBD_DEBUG_LEVEL), &level); /* checked at load */
    return (enum log_level)MIN((int)level + o->verbose, (int)LOG_DEBUG5);
}

static int load_conf(struct dbd *d, const struct options *o, struct err *err)
{
    struct conf_problems problems = { 0 };
    _cleanup_free_ char *path = NULL;
    enum log_level level;
    int r = o->conf_path ? 0 : conf_dbd_default_path(&path);

    if (r < 0)
        return r;
    /* absolute, since the daemon leaves its directory and reads it again later */
    d->conf_path = realpath(path ? path : o->conf_path, NULL);
    if (!d->conf_path)
        return err_set(err, -errno, "%s: %s", path ? path : o->conf_path, strerror(errno));
    r = conf_dbd_load(d->conf_path, &d->conf, &problems, err);
    if (r < 0)
        conf_report(stderr, &problems);
    conf_problems_done(&problems);
    if (r == 0 && log_level_parse(conf_dbd_str(d->conf, CONF_DBD_DEBUG_LEVEL), &level) < 0)
        return err_set(err, -EINVAL, "%s: DebugLevel=%.64s is not a level", d->conf_path,
                       conf_dbd_str(d->conf, CONF_DBD_DEBUG_LEVEL));
    if (r == 0)
        r = debug_check(d->conf, err);
    if (r == 0)
        d->slurm_uid = conf_dbd_slurm_uid(d->conf);
    return r;
}

/* The cluster's key, made when neither a controller nor a daemon has been here before. */
static int load_keys(struct dbd *d, struct err *err)
{
    const char *path = conf_dbd_key_file(d->conf);
    int r = conf_dbd_use_munge(d->conf) ? 0 : auth_keys_create(path, err);

    if (r < 0 && r != -EEXIST)
        return r;
    r = auth_keys_load(path, &d->keys, err);
    return r == -ENOENT ? 0 : r; /* munge alone */
}

/* root gives its rights up when SlurmUser is somebody else. */
static int become_slurm_user(const struct dbd *d, struct err *err)
{
    struct passwd *pw;

    if (getuid() != 0 || d->slurm_uid == 0)
        return 0;
    pw = getpwuid(d->slurm_uid); /* single-threaded still */
    if (!pw || setgid(pw->pw_gid) < 0 || initgroups(pw->pw_name, pw->pw_gid) < 0 ||
        setuid(d->slurm_uid) < 0)
        return err_set(err, -EPERM, "cannot become SlurmUser (uid %u): %s", d->slurm_uid,
                       strerror(errno));
    return 0;
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

/* What can change while it runs: how much is logged, who sees what, what is purged and summed
 * up. */
static void reread(struct dbd *d, const struct options *o)
{
    struct err err = { .text = "" };
    struct conf_dbd *conf = NULL;
    struct auth_keys *keys = NULL;
    enum log_level level;

    (void)log_reopen(); /* keeps the old file when it fails */
    if (conf_dbd_load(d->conf_path, &conf, NULL, &err) < 0 ||
        log_level_parse(conf_dbd_str(conf, CONF_DBD_DEBUG_LEVEL), &level) < 0 ||
        debug_check(conf, &err) < 0 ||
        (d->keys && auth_keys_load(conf_dbd_key_file(conf), &keys, &err) < 0)) {
        log_error("the configuration stays what it was: %s",
                  err.text[0] ? err.text : "DebugLevel is not a level");
        (void)conf_dbd_free(conf); /* always NULL */
        return;
    }
    log_set_level(level_of(conf, o));
    dbd_configure(d, conf);
    pthread_mutex_lock(&d->conf_lock);
    (void)conf_dbd_free(d->conf); /* always NULL */
    d->conf = conf;
    pthread_mutex_unlock(&d->conf_lock);
    (void)auth_keys_free(d->keys); /* always NULL */
    d->keys = keys;
    if (d->server)
        server_set_auth(d->server, d->keys, conf_dbd_use_jwt(conf));
    log_info("read %s again; the port, the database and users change with a new start",
             d->conf_path);
}

static void wait_for_end(struct dbd *d, const struct options *o)
{
    const struct timespec second = { .tv_sec = STANDBY_MS / 1000 };
    sigset_t set = watched();

    for (;;) {
        int sig = d->turn ? sigtimedwait(&set, NULL, &second) : sigwaitinfo(&set, NULL);

        if (sig < 0 && errno == EAGAIN)
            standby_tick(d);
        else if (sig == SIGHUP)
            reread(d, o);
        else if (sig == SIGUSR2)
            (void)log_reopen(); /* keeps the old file when it fails */
        else if (sig == SIGTERM || sig == SIGINT)
            break;
    }
    log_info("ending on a signal");
}

/* ---- the daemon ------------------------------------------------------------------------------ */

static int run(struct dbd *d, const struct options *o, int ready_fd, struct err *err)
{
    sigset_t set = watched();
    int r;

    (void)pthread_sigmask(SIG_BLOCK, &set, NULL); /* cannot fail */
    (void)signal(SIGPIPE, SIG_IGN);
    debug_set(d->conf);
    r = standby_begin(d, err);
    if (r < 0)
        return r;
    daemonize_pid_file(conf_dbd_str(d->conf, CONF_DBD_PID_FILE));
    daemonize_serve(ready_fd);
    wait_for_end(d, o);
    (void)unlink(conf_dbd_str(d->conf, CONF_DBD_PID_FILE)); /* may never have been made */
    return 0;
}

int main(int argc, char **argv)
{
    struct options o = { 0 };
    struct err err = { .text = "" };
    static struct dbd d = { .conf_lock = PTHREAD_MUTEX_INITIALIZER };
    int ready_fd = -1, r;

    inherit_begin(3);
    r = parse_options(argc, argv, &o);
    if (r)
        return r == 1 ? 0 : 1;
    daemonize_limits();
    if (o.nice && setpriority(PRIO_PROCESS, 0, o.nice) < 0)
        (void)fprintf(stderr, "slurmdbd: nice value %d is not allowed: %s\n", o.nice,
                      strerror(errno));
    r = load_conf(&d, &o, &err);
    if (r >= 0)
        r = load_keys(&d, &err);
    if (r >= 0)
        r = become_slurm_user(&d, &err);
    if (r >= 0 && !o.foreground)
        r = daemonize_detach(&ready_fd, &err);
    if (r >= 0) {
        if (log_open("slurmdbd", conf_dbd_str(d.conf, CONF_DBD_LOG_FILE), level_of(d.conf, &o),
                     o.foreground) < 0)
            (void)fprintf(stderr, "slurmdbd: cannot write %s, logging to stderr\n",
                          conf_dbd_str(d.conf, CONF_DBD_LOG_FILE));
        daemonize_work_in(conf_dbd_str(d.conf, CONF_DBD_LOG_FILE), NULL);
        r = run(&d, &o, ready_fd, &err);
    }
    if (r < 0) {
        log_fatal("%s", err.text);
        if (!o.foreground)
            (void)fprintf(stderr, "slurmdbd: fatal: %s\n", err.text);
    }
    dbd_stop(&d);
    return r < 0 ? 1 : 0;
}
