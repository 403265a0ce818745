/* pam_slurm_adopt.c - a PAM account module: a user with a job on the node may log in, into the job
 *
 * The calling process, and every process that it starts, becomes part of the job's extern step: it
 * ends with the job, and its use counts for the job.  A user without a job is refused.  Nothing
 * here may end or stop the program that loaded us. */
#include <errno.h>
#include <pwd.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>
#include <unistd.h>

#define PAM_SM_ACCOUNT
#include <security/pam_ext.h>
#include <security/pam_modules.h>

#include "base/cleanup.h"
#include "conf/conf.h"
#include "pam/adopt.h"
#include "pam/pamoptions.h"
#include "version.h"

struct call {
    pam_handle_t *pam;
    struct pam_options o;
    const char *user;
    uid_t uid;
};

static void tell_log(const struct call *c, int priority, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
static void tell_log(const struct call *c, int priority, const char *fmt, ...)
{
    va_list ap;

    if (priority > c->o.log_level)
        return;
    va_start(ap, fmt);
    pam_vsyslog(c->pam, priority, fmt, ap);
    va_end(ap);
}

static void bad_option(void *ctx, const char *arg)
{
    struct call *c = ctx;

    pam_syslog(c->pam, LOG_ERR, "the option %s is not understood", arg);
}

static int give_verdict(const struct call *c, enum pam_action action, const char *why)
{
    switch (action) {
    case PAM_ACT_IGNORE:
        return PAM_IGNORE;
    case PAM_ACT_ALLOW:
        return PAM_SUCCESS;
    default:
        tell_log(c, LOG_INFO, "access denied to user %s: %s", c->user, why);
        pam_error(c->pam, "Access denied by pam_slurm_adopt: %s", why);
        return PAM_PERM_DENIED;
    }
}

static bool find_user(struct call *c)
{
    const void *item = NULL;
    struct passwd pw, *found = NULL;
    char buf[16384];

    if (pam_get_item(c->pam, PAM_USER, &item) != PAM_SUCCESS || !item ||
        getpwnam_r(item, &pw, buf, sizeof(buf), &found) != 0 || !found)
        return false;
    c->user = item;
    c->uid = pw.pw_uid;
    return true;
}

/* Where commands look too, but for an environment that whoever starts a setuid program made: a
 * node without files of its own has what slurmd was sent. */
static const char *find_conf(void)
{
    const char *path = secure_getenv("SLURM_CONF"), *own = PENSTOCK_SYSCONFDIR "/slurm.conf";

    if (path && *path)
        return path;
    return access(own, F_OK) < 0 && access(CONF_KEPT_PATH, F_OK) == 0 ? CONF_KEPT_PATH : own;
}

/* The directory of this node's slurmd.  The caller frees. */
static int spool_path(const struct call *c, char **ret_path)
{
    _cleanup_(conf_free) struct conf *conf = NULL;
    struct err err = { .text = "" };
    char host[256] = "";
    int r = conf_load(find_conf(), CONF_CLIENT, &conf, NULL, &err);

    if (r < 0) {
        tell_log(c, LOG_ERR, "%s", err.text);
        return r;
    }
    if (gethostname(host, sizeof(host) - 1) < 0)
        return -errno;
    host[strcspn(host, ".")] = '\0';
    return conf_expand_path(conf_str(conf, CONF_SLURMD_SPOOL_DIR),
                            c->o.nodename ? c->o.nodename : host, host, ret_path);
}

static int join_job(const struct call *c, const char *spool, const struct adopt_job *job)
{
    _cleanup_close_ int ns = -1;
    char env[32];
    int flags, r = adopt_join(spool, job, &ns, &flags);

    if (r == 0 && ns >= 0 && c->o.join_container && setns(ns, flags) < 0)
        r = -errno;
    if (r < 0) {
        tell_log(c, LOG_ERR, "process %d of user %s could not be adopted into job %u: %s",
                 (int)getpid(), c->user, job->job_id, strerror(-r));
        return give_verdict(c, c->o.adopt_failure, "the session could not be put into your job");
    }
    (void)snprintf(env, sizeof(env), "SLURM_JOB_ID=%u", job->job_id);
    (void)pam_putenv(c->pam, env); /* a convenience */
    tell_log(c, LOG_INFO, "process %d of user %s adopted into job %u", (int)getpid(), c->user,
             job->job_id);
    return PAM_SUCCESS;
}

static int check_session(struct call *c)
{
    _cleanup_free_ char *spool = NULL;
    struct adopt_job job = { 0 };
    size_t count = 0;
    int r = spool_path(c, &spool);

    if (r == 0)
        r = adopt_find(spool, c->uid, &job, &count);
    if (r < 0) {
        tell_log(c, LOG_ERR, "the jobs of this node are not to be found in %s: %s",
                 spool ? spool : "its spool", strerror(-r));
        return give_verdict(c, c->o.generic_failure, "the jobs of this node cannot be found");
    }
    if (count == 0)
        return give_verdict(c, c->o.no_jobs, "you have no active jobs on this node");
    if (count > 1 && c->o.unknown != PAM_ACT_NEWEST)
        return give_verdict(c, c->o.unknown, "you have several jobs on this node");
    return join_job(c, spool, &job);
}

static bool wrong_service(const struct call *c)
{
    const void *item = NULL;

    return strcmp(c->o.service, "*") != 0 &&
           (pam_get_item(c->pam, PAM_SERVICE, &item) != PAM_SUCCESS || !item ||
            strcmp(item, c->o.service) != 0);
}

int pam_sm_acct_mgmt(pam_handle_t *pamh, int flags, int argc, const char **argv)
{
    struct call c = { .pam = pamh };

    (void)flags;
    pam_options_parse(argc, argv, bad_option, &c, &c.o);
    if (wrong_service(&c)) {
        tell_log(&c, LOG_DEBUG, "this is not the service %s: nothing is done", c.o.service);
        return PAM_IGNORE;
    }
    if (!find_user(&c))
        return PAM_USER_UNKNOWN;
    return c.uid == 0 ? PAM_IGNORE : check_session(&c);
}
