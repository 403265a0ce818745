/* ocitask.c - see ocitask.h */
#include "stepd/task/ocitask.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/timefmt.h"
#include "stepd/shared/helper.h"
#include "stepd/step.h"

#define FOLDER "oci"                 /* in the step's */
#define CLEAN_US (60 * USEC_PER_SEC) /* for a runtime to remove what is left of a container */

_Static_assert(sizeof(((struct oci_start *)0)->path) >= HELPER_PATH_MAX, "a helper's path fits");

bool oci_wanted(const struct step *s)
{
    return s->sf->oci != NULL;
}

bool oci_begin(struct step *s)
{
    if (!oci_wanted(s))
        return true;
    if ((mkdir(FOLDER, 0700) < 0 && errno != EEXIST) ||
        (s->switch_user && lchown(FOLDER, s->uid, s->gid) < 0)) {
        step_fail(s, "Could not make a folder for containers: %s", strerror(errno));
        return false;
    }
    return true;
}

/* A memfd about the task. */
static int make_message(const struct step *s, const struct task *t, bool script, bool pmi,
                        bool remove)
{
    Pst__OciTask m = PST__OCI_TASK__INIT;
    _cleanup_free_ char *spool = NULL, *pmix = NULL;

    if (asprintf(&spool, "%s/" FOLDER, s->sf->step_dir) < 0 ||
        asprintf(&pmix, "%s/pmix", s->sf->step_dir) < 0)
        return -ENOMEM;
    m.plan = s->sf->oci;
    m.has_job_id = m.has_task = m.has_uid = m.has_terminal = m.has_script = m.has_pmi =
        m.has_remove = true;
    m.job_id = s->job_id;
    m.step = (char *)(uintptr_t)s->step_name;
    m.task = t->rank;
    m.node = s->sf->job->node_name;
    m.user = s->job->user_name;
    m.uid = s->uid;
    m.work_dir = (char *)(uintptr_t)s->work_dir;
    m.spool_dir = spool;
    m.terminal = t->pty;
    m.script = script;
    m.pmi = pmi;
    m.remove = remove;
    if (s->launch && s->launch->mpi && strcmp(s->launch->mpi, "pmix") == 0) {
        m.mounts = &pmix;
        m.n_mounts = 1;
    }
    return helper_message(&m.base);
}

/* argv behind our own name. */
static int start_program(struct oci_start *o, char *const *argv)
{
    size_t n = 0;

    while (argv && argv[n])
        n++;
    o->paths[0] = o->path;
    o->paths[1] = NULL;
    o->argv = calloc(n + 2, sizeof(*o->argv));
    if (!o->argv)
        return -ENOMEM;
    o->argv[0] = (char *)(uintptr_t) "slurmstepd-oci";
    for (size_t i = 0; i < n; i++)
        o->argv[i + 1] = argv[i];
    return helper_path("oci", o->path, sizeof(o->path));
}

int oci_task(struct step *s, const struct task *t, struct child *c, struct envlist *env,
             struct oci_start *o)
{
    int r;

    *o = (struct oci_start){ .give = { -1, -1 } };
    r = start_program(o, c->argv);
    if (r < 0)
        return r;
    if (c->keep_fd > 0) { /* PMI_FD: numbers are dealt anew */
        o->give[1] = helper_fd(fcntl(c->keep_fd, F_DUPFD_CLOEXEC, 0));
        if (o->give[1] < 0)
            return o->give[1];
        c->keep_fd = 0;
        envlist_set(env, "PMI_FD", "4");
    }
    o->give[0] = make_message(s, t, !s->launch, o->give[1] >= 0, false);
    if (o->give[0] < 0)
        return o->give[0];
    c->paths = o->paths;
    c->along_path = false;
    c->argv = o->argv;
    c->give = o->give;
    c->n_give = o->give[1] >= 0 ? 2 : 1;
    return 0;
}

void oci_started(struct oci_start *o)
{
    for (size_t i = 0; i < ARRAY_SIZE(o->give); i++)
        if (o->give[i] >= 0)
            (void)close(o->give[i]);
    free(o->argv);
}

/* ---- what a killed task leaves --------------------------------------------------------------- */

static int remove_container(struct step *s, const struct task *t)
{
    _cleanup_val_(oci_started) struct oci_start o = { .give = { -1, -1 } };
    _cleanup_val_(envlist_done) struct envlist env = ENVLIST_INIT;
    _cleanup_close_ int null_fd = helper_fd(open("/dev/null", O_RDWR | O_CLOEXEC));
    struct child c = { .step = s,
                       .fds = { null_fd, null_fd, null_fd },
                       .tty = -1,
                       .any_dir = true,
                       .give = o.give,
                       .n_give = 1 };
    pid_t pid;
    int r = start_program(&o, NULL);

    if (r < 0 || null_fd < 0)
        return -ENOMEM;
    o.give[0] = make_message(s, t, false, false, true);
    envlist_borrow(&env, &s->env);
    c.paths = o.paths;
    c.argv = o.argv;
    c.envp = envlist_array(&env);
    if (o.give[0] < 0 || !c.envp)
        return -ENOMEM;
    return child_start(&c, &pid);
}

bool oci_cleaned(struct step *s, int64_t now_mono)
{
    if (!oci_wanted(s) || s->oci_clean == OCI_CLEAN)
        return true;
    if (s->oci_clean == OCI_USED) {
        s->oci_clean = OCI_CLEANING;
        s->oci_mono_us = now_mono + CLEAN_US;
        for (size_t i = 0; i < s->n_tasks; i++)
            if (WIFSIGNALED(s->tasks[i].status))
                (void)remove_container(s,
                                       &s->tasks[i]); /* without memory it stays: the user's own */
    }
    if (step_reap(s)) {
        s->oci_clean = OCI_CLEAN;
        return true;
    }
    if (now_mono >= s->oci_mono_us) {
        (void)stepcg_signal(s, SIGKILL);
        s->oci_mono_us = now_mono + USEC_PER_SEC;
    }
    return false;
}

int64_t oci_deadline(const struct step *s)
{
    return s->oci_clean == OCI_CLEANING ? s->oci_mono_us : 0;
}
