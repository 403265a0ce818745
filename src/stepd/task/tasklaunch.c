/* tasklaunch.c - from a step file to running tasks; see step.h
 *
 * Opens the streams, builds each task's environment and command, starts it.  What fails for one
 * task (program missing) is that task's exit status; what fails for all (identity, output file) is
 * the step's. */
#include <errno.h>
#include <fcntl.h>
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/strbuf.h"
#include "base/timefmt.h"
#include "stepd/io/labelfile.h"
#include "stepd/io/usermount.h"
#include "stepd/io/userwrite.h"
#include "stepd/ns/imexdev.h"
#include "stepd/task/bind.h"
#include "stepd/nicservice.h"
#include "stepd/task/gpu.h"
#include "stepd/task/memory.h"
#include "stepd/task/mpi.h"
#include "stepd/task/ocitask.h"
#include "stepd/shared/spool.h"
#include "stepd/step.h"
#include "stepd/task/taskepilog.h"
#include "stepd/task/gpuclock.h"
#include "stepd/task/taskfreq.h"

#define PATHS_MAX 128

struct streams {
    int null_fd;
    int shared[3]; /* files that all tasks of the node use; -1 not open */
};

static void streams_done(struct streams *st)
{
    if (st->null_fd >= 0)
        (void)close(st->null_fd);
    for (int i = 0; i < 3; i++)
        if (st->shared[i] >= 0)
            usermount_close(st->shared[i]);
}

static bool append_mode(const struct step *s, const char *mode)
{
    if (mode && (*mode == 'a' || *mode == 'A'))
        return true;
    return !mode && s->sf->append_default;
}

/* ---- the batch script ------------------------------------------------------------------------ */

/* Two patterns that name one file must share one open description, or they overwrite each other. */
static bool same_name(const struct step *s, const char *a, const char *b)
{
    _cleanup_free_ char *x = NULL, *y = NULL;
    struct pattern_vars vars;

    output_vars(s, 0, &vars);
    return pattern_expand(a, &vars, &x) == 0 && pattern_expand(b, &vars, &y) == 0 &&
           strcmp(x, y) == 0;
}

static int batch_streams(struct step *s, int fds[3])
{
    const char *out = pattern_of_batch(s->job->std_out, s->job->has_array_task_id);
    const char *err = s->job->std_err;
    const char *in = s->job->std_in && *s->job->std_in ? s->job->std_in : "/dev/null";
    bool append = append_mode(s, s->job->open_mode);
    int r;

    r = output_open_input(s, in, 0, &fds[0]);
    if (r < 0)
        return r;
    r = output_open(s, "stdout", out, 0, append, &fds[1]);
    if (r < 0)
        return r;
    if (!err || same_name(s, out, err)) {
        fds[2] = fds[1];
    } else {
        r = output_open(s, "stderr", err, 0, append, &fds[2]);
        if (r < 0)
            return r;
    }
    s->out_fd = fcntl(fds[1], F_DUPFD_CLOEXEC, 10);
    s->err_fd = fcntl(fds[2], F_DUPFD_CLOEXEC, 10);
    return 0;
}

static char **batch_argv(const struct step *s, const char *script)
{
    size_t n = s->job->n_argv ? s->job->n_argv : 1;
    char **argv = calloc(n + 1, sizeof(*argv));

    if (!argv)
        return NULL;
    argv[0] = (char *)script;
    for (size_t i = 1; i < n; i++)
        argv[i] = s->job->argv[i];
    return argv;
}

/* The interpreter that the first line of a script names; empty when there is none. */
static void read_interpreter(struct step *s, const char *path, char buf[OPENER_HEAD])
{
    int n = opener_head(s, path, buf);

    if (n < 3 || buf[0] != '#' || buf[1] != '!') {
        buf[0] = '\0';
        return;
    }
    buf[MIN(n, OPENER_HEAD - 1)] = '\0';
    memmove(buf, buf + 2, strlen(buf + 2) + 1);
    memmove(buf, buf + strspn(buf, " \t"), strlen(buf + strspn(buf, " \t")) + 1);
    buf[strcspn(buf, " \t\r\n")] = '\0';
}

static void tell_exec(struct step *s, const struct task *t, const char *name, int err)
{
    char interpreter[OPENER_HEAD] = "", label[24] = "";
    const char *labels = s->launch && s->launch->has_label && s->launch->label ? label : "";

    if (err == ENOENT && name[0] == '/')
        read_interpreter(s, name, interpreter);
    (void)snprintf(label, sizeof(label), "%u: ", t->rank);
    if (interpreter[0])
        step_notice_of(s, labels, "execve(): bad interpreter(%s): %s", interpreter, strerror(err));
    else
        step_notice_of(s, labels, "execve(): %s: %s", name, strerror(err));
}

static void failed_start(struct step *s, struct task *t, const struct child *c, const char *name)
{
    switch (c->stage) {
    case CHILD_EXEC:
        tell_exec(s, t, name, -c->err);
        t->exited = true;
        t->status = (-c->err & 0xff) << 8;
        if (t->status > s->worst)
            s->worst = t->status;
        epilog_begin(s, t);
        return;
    case CHILD_CHDIR:
        step_fail(s, "Could not chdir to %s: %s", s->work_dir, strerror(-c->err));
        return;
    case CHILD_IDENTITY:
        step_fail(s, "Could not become user %u: %s", s->uid, strerror(-c->err));
        return;
    default:
        step_fail(s, "Could not start a process: %s", strerror(-c->err));
        s->launch_failed = true;
        return;
    }
}

/* Plugins of the site, and PAM, come in when the tasks' environment is known, and before anything
 * of theirs starts. */
static bool plugins_begin(struct step *s)
{
    if (!s->plug_ops)
        return true;
    if (s->sf->use_pam && !s->plug_ops->open_session(s))
        return false;
    return !s->sf->plugstack || s->plug_ops->begin(s);
}

/* PropagatePrioProcess.  The variable is the user's word: nothing below 0 is taken of it. */
static void take_nice(const struct step *s, const struct envlist *env, struct child *c)
{
    const char *text = s->sf->propagate_prio ? envlist_get(env, "SLURM_PRIO_PROCESS") : NULL;
    int least = s->sf->propagate_prio > 1 ? getpriority(PRIO_PROCESS, 0) + 1 : 0;
    int64_t nice;

    if (!text || parse_i64(text, -20, 19, &nice) < 0)
        return;
    c->has_nice = true;
    c->nice = MAX((int)nice, MAX(least, 0));
}

static void run_child(struct step *s, struct task *t, struct child *c, struct envlist *env,
                      const char *name)
{
    c->env = s->plug ? env : NULL;
    take_nice(s, env, c);
    c->pid_slot = envlist_slot(env, "SLURM_TASK_PID", 16);
    c->envp = envlist_array(env);
    if (!c->envp) {
        step_fail(s, ERR_NOMEM);
        s->launch_failed = true;
    } else if (child_start(c, &t->pid) < 0) {
        failed_start(s, t, c, name);
    } else {
        t->start_ticks = c->start_ticks;
        s->n_running++;
    }
}

/* The step was ordered to end before the task's program began: the task ends as those that run. */
static void ended_early(struct step *s, struct task *t)
{
    t->exited = true;
    t->status = s->stage == KILL_ALL ? SIGKILL : SIGTERM;
    t->nth_end = s->n_ended++;
    s->worst = MAX(s->worst, t->status);
    if (t->epilog.told)
        epilog_begin(s, t);
}

/* The task's program, in a container where it asks for one. */
static void run_program(struct step *s, struct task *t, struct child *c, struct envlist *env,
                        const char *name)
{
    struct oci_start o;
    int r;

    if (s->stage != KILL_NONE) { /* the order came with the end of what the task waited for */
        ended_early(s, t);
        return;
    }
    env_tmpdir(env);
    if (!oci_wanted(s)) {
        run_child(s, t, c, env, name);
        return;
    }
    r = oci_task(s, t, c, env, &o);
    if (r == 0)
        run_child(s, t, c, env, "slurmstepd-oci");
    else
        step_fail(s, "Could not start a container: %s",
                  r == -ENOENT ? "slurmstepd-oci is not installed" : strerror(-r));
    oci_started(&o);
}

/* One of the two prologs; who: "slurm" or "user", named: as its failure is told.  The task's exit
 * status, 0 to go on. */
static int run_prolog(struct step *s, const char *path, const char *who, const char *named,
                      struct envlist *env, const int fds[3])
{
    bool relative = path[0] != '/';
    int r = relative ? -EINVAL : taskscript_prolog(s, path, env, fds[1]);

    if (r == 0 || r == -ECANCELED)
        return r;
    if (relative)
        task_notice(s, fds[2], "run_command: %s task_prolog is not a fully qualified pathname (%s)",
                    who, path);
    else if (r < 0)
        task_notice(s, fds[2], "run_command: %s task_prolog can not be executed (%s) %s", who, path,
                    strerror(-r));
    if (r < 0 || r >= SCRIPT_SIGNALLED)
        task_notice(s, fds[2], "%s task_prolog did not exit normally. reason: %s", who,
                    r < 0 ? "Run command failed - configuration error" : "");
    r = r < 0 || r >= SCRIPT_SIGNALLED ? 1 : r;
    task_notice(s, fds[2], "%s failed status=%d", named, r);
    return r;
}

/* TaskProlog is told the number that its task will have.  Containers and plugins make processes of
 * their own later: they go without. */
static void reserve_number(struct step *s, struct envlist *env, struct child *c)
{
    const char *site = s->sf->task_prolog, *users = s->launch ? s->launch->task_prolog : NULL;

    if (!((site && *site) || (users && *users)) || oci_wanted(s) || s->plug)
        return;
    if (child_reserve(c) == 0)
        envlist_setu(env, "SLURM_TASK_PID", c->number);
}

/* The site's, then the user's.  False: the task is not to run. */
static bool task_prolog(struct step *s, struct envlist *env, struct task *t, const int fds[3])
{
    const char *site = s->sf->task_prolog, *users = s->launch ? s->launch->task_prolog : NULL;
    int r = 0;

    if (epilog_wanted(s))
        epilog_keep(t, fds[2]);
    if (site && *site)
        r = run_prolog(s, site, "slurm", "TaskProlog", env, fds);
    if (r == 0 && users && *users)
        r = run_prolog(s, users, "user", "--task-prolog", env, fds);
    if (r == 0)
        return true;
    if (r == -ECANCELED) {
        ended_early(s, t);
        return false;
    }
    t->exited = true;
    t->status = (r & 0xff) << 8;
    s->worst = MAX(s->worst, t->status);
    epilog_begin(s, t);
    return false;
}

/* May the user work in that folder?  0 or a negative errno; -ECANCELED: the step is to end.  Where
 * looking may take a wait, or a user's program serves the folder, a process of the user looks;
 * else we do, at the price of a process less. */
static int look_at_folder(struct step *s, const char *path)
{
    _cleanup_close_ int fd = -1;

    if (output_as_user(s) < 0)
        return 0; /* child_start() reports it */
    fd = usermount_enter(path);
    output_as_self(s);
    if (fd == -EAGAIN || (fd >= 0 && usermount_has(fd)))
        return opener_enter(s, path);
    return MIN(fd, 0);
}

/* Slurm's rule: a work directory that is missing on the node is replaced by /tmp. */
static void check_work_dir(struct step *s)
{
    char label[24] = "";
    int r = look_at_folder(s, s->work_dir);

    if (r == 0 || r == -ECANCELED)
        return;
    if (s->launch && s->launch->has_label && s->launch->label && s->n_tasks)
        (void)snprintf(label, sizeof(label), "%u: ", s->tasks[0].rank);
    /* Once of the step, once of its tasks, as users of srun know it. */
    for (int i = 0; i < (s->launch ? 2 : 1); i++)
        step_notice_of(s, label, "couldn't chdir to `%s': %s: going to /tmp instead", s->work_dir,
                       strerror(-r));
    s->work_dir = "/tmp";
}

static void launch_batch(struct step *s)
{
    _cleanup_free_ char **argv = NULL;
    char script[SPOOL_PATH_MAX];
    int fds[3] = { -1, -1, -1 };

    if (s->job->has_get_user_env && s->job->get_user_env && !loginenv_load(s))
        return;
    env_batch(s->sf, s->host, &s->env);
    spool_script(s->sf->step_dir, s->job_id, script, sizeof(script));
    argv = batch_argv(s, script);
    if (!argv) {
        step_fail(s, ERR_NOMEM);
        return;
    }
    if (batch_streams(s, fds) == 0 && plugins_begin(s)) {
        char *paths[] = { script, NULL };
        struct child c = { .step = s,
                           .task = &s->tasks[0],
                           .paths = paths,
                           .argv = argv,
                           .tty = -1,
                           .any_dir = true,
                           .limits = true,
                           .tmpdir = true };

        memcpy(c.fds, fds, sizeof(fds));
        reserve_number(s, &s->env, &c);
        if (task_prolog(s, &s->env, &s->tasks[0], fds)) {
            bind_task(s, 0, &c);
            if (!oci_wanted(s))
                /* after the output is open: its place is relative to the one asked for */
                check_work_dir(s);
            run_program(s, &s->tasks[0], &c, &s->env, script);
        }
        child_release(&c);
    }
    for (int i = 0; i < 3; i++)
        if (fds[i] >= 0 && (i != 2 || fds[2] != fds[1]))
            usermount_close(fds[i]);
}

/* ---- tasks of srun --------------------------------------------------------------------------- */

static int dup_fd(int fd)
{
    int d = fcntl(fd, F_DUPFD_CLOEXEC, 10);

    return d < 0 ? -errno : d;
}

/* A pipe whose other end goes to t. */
static int out_pipe(struct task *t, int i)
{
    int p[2];

    if (pipe2(p, O_CLOEXEC) < 0)
        return -errno;
    (void)fcntl(p[0], F_SETFL, O_NONBLOCK);
    t->fd[i] = p[0];
    return p[1];
}

/* Lines of files that get labels come through us.  Not for what could make us wait. */
static int label_stream(struct step *s, struct task *t, int i, int fd)
{
    const Pst__LaunchStep *l = s->launch;
    uint32_t tasks = l->has_het_tasks ? l->het_tasks : s->sf->step->num_tasks;
    struct stat st;

    if (fd < 0 || !l->has_label || !l->label)
        return fd;
    if (usermount_has(fd))
        return userwrite_lines(s, t, fd, tasks);
    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
        return fd;
    t->file[i] = labelfile_new(fd, t->rank, tasks);
    return t->file[i] ? out_pipe(t, i) : -ENOMEM;
}

/* The child's side of output stream i: a file, or a pipe. */
static int out_stream(struct step *s, struct streams *st, struct task *t, int i,
                      const char *pattern)
{
    int fd, r;

    if (!pattern)
        return out_pipe(t, i);
    if (!pattern_per_task(pattern) && st->shared[i] >= 0)
        return label_stream(s, t, i, dup_fd(st->shared[i]));
    r = output_open(s, i == 2 ? "stderr" : "stdout", pattern, t->rank,
                    append_mode(s, s->launch->open_mode), &fd);
    if (r < 0)
        return r;
    if (!pattern_per_task(pattern))
        st->shared[i] = dup_fd(fd);
    return label_stream(s, t, i, fd);
}

static int in_stream(struct step *s, struct streams *st, struct task *t)
{
    const Pst__LaunchStep *l = s->launch;
    int p[2], fd, r;

    if (l->std_in) {
        r = output_open_input(s, l->std_in, t->rank, &fd);
        return r < 0 ? r : fd;
    }
    if (!s->srun || (l->has_stdin_task && l->stdin_task != t->rank))
        return dup_fd(st->null_fd);
    if (pipe2(p, O_CLOEXEC) < 0)
        return -errno;
    (void)fcntl(p[1], F_SETFL, O_NONBLOCK);
    t->fd[0] = p[1];
    return p[0];
}

static int task_pty(struct step *s, struct task *t, int fds[3])
{
    struct winsize ws = { .ws_row = (unsigned short)s->launch->pty_rows,
                          .ws_col = (unsigned short)s->launch->pty_cols };
    int master, slave;

    if (openpty(&master, &slave, NULL, NULL, &ws) < 0)
        return -errno;
    if (s->switch_user && fchown(slave, s->uid, (gid_t)-1) < 0)
        step_notice(s, "could not give the terminal to the user: %s", strerror(errno));
    (void)fcntl(master, F_SETFD, FD_CLOEXEC);
    (void)fcntl(master, F_SETFL, O_NONBLOCK);
    t->pty = true;
    t->fd[1] = master;
    t->fd[0] = dup_fd(master);
    fds[0] = slave;
    fds[1] = dup_fd(slave);
    fds[2] = dup_fd(slave);
    return 0;
}

/* A step without srun has its own lines in the file where its tasks tell of errors. */
static void keep_notices(struct step *s, int err_fd)
{
    struct stat st;

    if (s->srun || s->err_fd >= 0 || err_fd < 0)
        return;
    if (usermount_has(err_fd) || (fstat(err_fd, &st) == 0 && S_ISREG(st.st_mode)))
        s->err_fd = dup_fd(err_fd); /* < 0: they are told to nobody */
}

static int task_streams(struct step *s, struct streams *st, struct task *t, int fds[3])
{
    const Pst__LaunchStep *l = s->launch;
    bool merge =
        l->stderr_to_stdout || (l->std_out && l->std_err && strcmp(l->std_out, l->std_err) == 0);

    if (l->pty && t->rank == 0)
        return task_pty(s, t, fds);
    fds[0] = in_stream(s, st, t);
    if (fds[0] < 0)
        return fds[0];
    fds[1] = out_stream(s, st, t, 1, l->std_out);
    if (fds[1] < 0)
        return fds[1];
    fds[2] = merge ? dup_fd(fds[1]) : out_stream(s, st, t, 2, l->std_err);
    if (fds[2] < 0)
        return fds[2];
    keep_notices(s, fds[2]);
    return 0;
}

char *const *launch_paths(struct step *s, const char *program, const struct envlist *env,
                          struct envlist *store, const char **ret_shown)
{
    const char *path = envlist_get(env, "PATH");
    char name[16];
    unsigned n = 0;

    *ret_shown = program;
    if (strchr(program, '/')) {
        char *slot = envlist_slot(store, "P", strlen(s->work_dir) + strlen(program) + 2);

        if (slot)
            (void)snprintf(slot, strlen(s->work_dir) + strlen(program) + 2, "%s%s%s",
                           program[0] == '/' ? "" : s->work_dir, program[0] == '/' ? "" : "/",
                           program);
        *ret_shown = slot;
    }
    while (!strchr(program, '/') && path && *path && n < PATHS_MAX) {
        size_t len = strcspn(path, ":"), size = len + strlen(program) + 3;
        char *slot;

        (void)snprintf(name, sizeof(name), "P%u", n++);
        slot = envlist_slot(store, name, size);
        if (slot)
            (void)snprintf(slot, size, "%.*s/%s", len ? (int)len : 1, len ? path : ".", program);
        path += len + (path[len] == ':');
    }
    if (!strchr(program, '/')) { /* last, the working directory */
        char *slot = envlist_slot(store, "P", strlen(program) + 1);

        if (slot)
            (void)memcpy(slot, program, strlen(program) + 1);
    }
    if (!envlist_array(store))
        return NULL;
    for (size_t i = 0; i < store->n; i++)
        store->items[i] = strchr(store->items[i], '=') + 1; /* keep the paths alone */
    return store->items;
}

DEFINE_CLEANUP(char **, multiprog_free)

static int map_argv(struct step *s, struct task *t, char ***ret_argv)
{
    const Pst__LaunchStep *l = s->launch;

    return multiprog_argv(l->multi_prog, t->rank, l->argv, l->n_argv, ret_argv);
}

static void task_refused(struct step *s, struct task *t, int r)
{
    step_notice(s, "task %u: %s", t->rank,
                r == -ENOENT   ? "No executable program specified for this task"
                : r == -EINVAL ? "The file of --multi-prog is not understood"
                               : strerror(-r));
    t->exited = true;
    t->status = 1 << 8;
    s->worst = MAX(s->worst, t->status);
}

/* The libraries that came with a program are looked for beside it first. */
static void find_libs(const char *program, struct envlist *env)
{
    const char *old = envlist_get(env, "LD_LIBRARY_PATH");

    envlist_setf(env, "LD_LIBRARY_PATH", "%s_libs%s%s", program, old ? ":" : "", old ? old : "");
}

static void launch_task(struct step *s, struct streams *st, struct task *t, char *const *plain_argv)
{
    _cleanup_(multiprog_free) char **own = NULL;
    _cleanup_val_(envlist_done) struct envlist env = ENVLIST_INIT, store = ENVLIST_INIT;
    struct child c = { .step = s,
                       .task = t,
                       .along_path = true,
                       .argv = plain_argv,
                       .fds = { -1, -1, -1 },
                       .tty = -1,
                       .any_dir = true,
                       .limits = true,
                       .tmpdir = true };
    const char *shown = "";
    int r = s->launch->multi_prog ? map_argv(s, t, &own) : 0;

    if (r < 0) {
        task_refused(s, t, r);
        return;
    }
    if (own)
        c.argv = own;
    envlist_borrow(&env, &s->env);
    env_task_rank(s->launch, (uint32_t)(t - s->tasks), &env);
    gpu_task(s, (size_t)(t - s->tasks), &env);
    if (s->launch->bcast_libs)
        find_libs(c.argv[0], &env);
    mpi_task(s, (size_t)(t - s->tasks), &env, &c);
    r = task_streams(s, st, t, c.fds);
    if (r == 0)
        reserve_number(s, &env, &c);
    if (r < 0) {
        if (!s->error)
            step_fail(s, "Could not set up the streams of task %u: %s", t->rank, strerror(-r));
    } else if (task_prolog(s, &env, t, c.fds)) {
        c.tty = t->pty ? c.fds[0] : -1;
        bind_task(s, (size_t)(t - s->tasks), &c);
        memory_task(s, (size_t)(t - s->tasks), &c);
        if (!oci_wanted(s))
            c.paths = launch_paths(s, c.argv[0], &env, &store, &shown);
        if (c.paths || oci_wanted(s))
            run_program(s, t, &c, &env, shown);
        else
            step_fail(s, ERR_NOMEM);
        if (t->pid > 0) {
            step_debug(s, LOG_VERBOSE, "task %u (%d) started", t->rank, (int)t->pid);
            bind_tell(s, (size_t)(t - s->tasks), t->pid, c.fds[2]);
            memory_tell(s, (size_t)(t - s->tasks), t->pid, c.mem_err, c.fds[2]);
            gpu_tell(s, (size_t)(t - s->tasks), c.fds[2]);
        }
    }
    child_release(&c);
    for (int i = 0; i < 3; i++)
        if (c.fds[i] >= 0)
            usermount_close(c.fds[i]);
}

static void launch_tasks(struct step *s)
{
    _cleanup_val_(streams_done) struct streams st = { .null_fd =
                                                          open("/dev/null", O_RDWR | O_CLOEXEC),
                                                      .shared = { -1, -1, -1 } };
    _cleanup_free_ char **argv = calloc(s->launch->n_argv + 1, sizeof(*argv));

    if (!argv || st.null_fd < 0 || (s->launch->n_argv == 0 && !s->launch->multi_prog)) {
        step_fail(s, "No command given to execute");
        return;
    }
    for (size_t i = 0; i < s->launch->n_argv; i++)
        argv[i] = s->launch->argv[i];
    if (!oci_wanted(s))
        check_work_dir(s);
    if (!plugins_begin(s))
        return;
    mpi_start(s);
    for (size_t i = 0; i < s->n_tasks && !s->error; i++) {
        if (s->stage == KILL_NONE)
            launch_task(s, &st, &s->tasks[i], argv);
        else
            ended_early(s, &s->tasks[i]); /* while an earlier task was being started */
    }
    mpi_started(s);
}

void step_launch(struct step *s)
{
    imexdev_make(s);
    nics_start(s);
    bind_prepare(s);
    memory_prepare(s);
    taskfreq_set(s);
    gpuclock_set(s);
    gpu_prepare(s);
    if (s->error || !oci_begin(s))
        return;
    if (s->launch)
        launch_tasks(s);
    else
        launch_batch(s);
}
