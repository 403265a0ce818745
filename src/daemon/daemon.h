/* daemon.h - the head of a daemon: options, check of the configuration, log, signals, start and end
 *
 * slurmctld, slurmdbd and slurmd share this.  A daemon brings a `struct daemon_head` (its name,
 * usage and options) and a `struct daemon_life` (its own steps of a start); both are constant.
 * Everything here runs in the main thread before other threads exist, except the signal
 * functions, which any one thread may call. */
#pragma once

#include <getopt.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/log.h"
#include "conf/conf.h"

/* ---- options (dmnoptions.c) ------------------------------------------------------------------ */

/* Options that mean the same to every daemon.  Strings belong to argv. */
struct daemon_options {
    const char *conf_path; /* -f; NULL: the usual file */
    const char *log_path;  /* -L; NULL: as configured */
    bool foreground;       /* -D, --systemd */
    bool check;            /* --check */
    unsigned verbose;      /* how often -v stood there */
    int nice;              /* -n */
};

/* What a daemon's own option leads to. */
enum daemon_taken {
    DAEMON_GO_ON,  /* the option was taken */
    DAEMON_REFUSE, /* the daemon has said why: exit 1 */
    DAEMON_SHARED, /* the option is not the daemon's own: the shared meaning applies */
};

/* Long options with a shared meaning use the letter of the short one; --check has no letter. */
#define DAEMON_OPT_CHECK 1

struct daemon_head {
    const char *name;   /* "slurmctld": opens messages, names the log */
    const char *usage;  /* the whole text of -h */
    const char *shorts; /* as getopt(3) wants them: the shared letters and the daemon's own */
    const struct option *longs;
    const char *unexpected; /* opens the message about an argument that is no option */
    bool usage_after;       /* the usage follows that message */
    /* Take option c; called before the shared meaning is looked up.  NULL: no own options. */
    enum daemon_taken (*take_own)(void *ctx, int c, const char *arg);
};

/* Read the command line.  -1: go on; else the exit status, and everything has been printed. */
int daemon_parse_options(const struct daemon_head *head, int argc, char **argv,
                         struct daemon_options *o, void *ctx);

typedef int daemon_more_fn(const struct conf *conf, struct conf_problems *problems,
                           struct err *err);

/* --check: report every problem of the slurm.conf at path (NULL: the usual one) on standard output,
 * then those that `more` (may be NULL) finds in the daemon's other files: it notes problems and
 * gives 0 or a negative errno with a sentence in err, as conf_load() does.
 * The exit status: 0 when there is no error, else 1. */
int daemon_check_conf(const char *path, daemon_more_fn *more);

/* ---- configuration, rights and log (dmnlife.c) ----------------------------------------------- */

/* The absolute path of a configuration file, links resolved: the daemon leaves its directory and
 * reads the file again later.  The caller frees *ret_path.  Errors: those of realpath(3). */
int daemon_conf_file(const char *path, char **ret_path, struct err *err);

/* Become uid and its groups when the daemon runs as root and uid is another user; else do nothing.
 * Errors: -EPERM. */
int daemon_become(uid_t uid, struct err *err);

/* The level that `text` of the configuration names (LOG_INFO when it names none), and one more for
 * each -v. */
enum log_level daemon_log_level(const char *text, unsigned verbose);

/* Open the log at path (NULL: standard error) and work in the folder that daemonize_work_in()
 * chooses.  A file that cannot be written is reported on standard error, and the log goes there. */
void daemon_open_log(const struct daemon_head *head, const struct daemon_options *o,
                     const char *path, enum log_level level, const char *state_dir);

/* ---- the life of a daemon (dmnlife.c) -------------------------------------------------------- */

/* The steps of a start in their order.  Each gives 0 or a negative errno with a sentence in err;
 * the first failure ends the daemon.  NULL: the daemon has no such step. */
struct daemon_life {
    /* Configuration and keys.  Still with the rights and the directory of the caller. */
    int (*configure)(void *ctx, struct err *err);
    uid_t (*user)(void *ctx);    /* the user to become; called after configure() */
    void (*open_log)(void *ctx); /* called after the fork */
    /* Begin to serve, tell ready_fd (daemonize_serve()), and serve to the end. */
    int (*serve)(void *ctx, int ready_fd, struct err *err);
    void (*report)(void *ctx, const struct err *err); /* a failure; NULL: log and standard error */
    void (*release)(void *ctx); /* whatever was started; called in every case */
};

/* Raise the limit of files, forbid core dumps, take the nice value of -n. */
void daemon_begin(const struct daemon_head *head, const struct daemon_options *o);
/* Live: configure, change the user, detach (but in the foreground), log, serve, release.  The
 * exit status.  The parent of a daemon that detaches exits inside, when the daemon serves or has
 * ended. */
int daemon_live(const struct daemon_head *head, const struct daemon_life *life,
                const struct daemon_options *o, void *ctx);

/* ---- signals (dmnsignal.c) ------------------------------------------------------------------- */

enum daemon_action {
    DAEMON_NONE,   /* nothing is left to do: USR2 has opened the log again */
    DAEMON_RELOAD, /* HUP: read the configuration again */
    DAEMON_END,    /* TERM, INT */
    DAEMON_TICK,   /* no signal: the time is over */
};

/* The signals that a daemon acts upon: TERM, INT, HUP, USR2.  Ends with 0. */
extern const int daemon_signals[];
/* What a signal asks for.  SIGUSR2 opens the log again here. */
enum daemon_action daemon_signal_action(int signum);
/* Block daemon_signals[] in this thread and in those that it makes, and ignore SIGPIPE. */
void daemon_block_signals(void);
/* Wait for one of the blocked signals, timeout_ms at most (-1: without end). */
enum daemon_action daemon_wait_signal(int timeout_ms);
