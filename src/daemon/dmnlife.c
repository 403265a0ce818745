/* dmnlife.c - a daemon from its configuration to its clean exit; see daemon.h */
#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/process/daemonize.h"
#include "daemon/daemon.h"

int daemon_conf_file(const char *path, char **ret_path, struct err *err)
{
    char *full = realpath(path, NULL);

    if (!full)
        return err_set(err, -errno, "%s: %s", path, strerror(errno));
    *ret_path = full;
    return 0;
}

int daemon_become(uid_t uid, struct err *err)
{
    struct passwd *pw;

    if (getuid() != 0 || uid == 0)
        return 0;
    pw = getpwuid(uid); /* single-threaded still */
    if (!pw || setgid(pw->pw_gid) < 0 || initgroups(pw->pw_name, pw->pw_gid) < 0 || setuid(uid) < 0)
        return err_set(err, -EPERM, "cannot become SlurmUser (uid %u): %s", uid, strerror(errno));
    return 0;
}

enum log_level daemon_log_level(const char *text, unsigned verbose)
{
    enum log_level level = LOG_INFO;

    if (text && log_level_parse(text, &level) < 0)
        level = LOG_INFO;
    return (enum log_level)MIN((unsigned)level + verbose, (unsigned)LOG_DEBUG5);
}

void daemon_open_log(const struct daemon_head *head, const struct daemon_options *o,
                     const char *path, enum log_level level, const char *state_dir)
{
    char dir[PATH_MAX];

    if (log_open(head->name, path, level, o->foreground) < 0)
        (void)fprintf(stderr, "%s: cannot write %s, logging to stderr\n", head->name,
                      path ? path : "(null)");
    daemonize_work_in(path, state_dir, dir);
}

void daemon_begin(const struct daemon_head *head, const struct daemon_options *o)
{
    daemonize_limits();
    if (o->nice && setpriority(PRIO_PROCESS, 0, o->nice) < 0)
        (void)fprintf(stderr, "%s: nice value %d is not allowed: %s\n", head->name, o->nice,
                      strerror(errno));
}

static void report_failure(const struct daemon_head *head, const struct daemon_life *life,
                           const struct daemon_options *o, void *ctx, bool log_is_open,
                           const struct err *err)
{
    if (life->report) {
        life->report(ctx, err);
        return;
    }
    log_fatal("%s", err->text);
    if (!o->foreground && log_is_open) /* before that, the log is stderr */
        (void)fprintf(stderr, "%s: fatal: %s\n", head->name, err->text);
}

int daemon_live(const struct daemon_head *head, const struct daemon_life *life,
                const struct daemon_options *o, void *ctx)
{
    struct err err = { .text = "" };
    bool log_is_open = false;
    int ready_fd = -1, r = life->configure ? life->configure(ctx, &err) : 0;

    if (r >= 0 && life->user)
        r = daemon_become(life->user(ctx), &err);
    if (r >= 0 && !o->foreground)
        r = daemonize_detach(&ready_fd, &err);
    if (r >= 0) {
        if (life->open_log)
            life->open_log(ctx);
        log_is_open = true;
        r = life->serve(ctx, ready_fd, &err);
    }
    if (r < 0)
        report_failure(head, life, o, ctx, log_is_open, &err);
    if (life->release)
        life->release(ctx);
    return r < 0 ? 1 : 0;
}
