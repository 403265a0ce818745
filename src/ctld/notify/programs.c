/* programs.c - the thread that runs programs of the site; see programs.h
 *
 * spawn_program() and one poll(2) over their pidfds: a slow script delays no other script.  The
 * queue's lock is held for list work only.  Programs get nothing of ours but the environment built
 * for them. */
#include "ctld/notify/programs.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/logflags.h"
#include "base/must.h"
#include "base/text/owntext.h"
#include "base/safetext.h"
#include "base/process/capture.h"
#include "base/process/spawnprog.h"
#include "base/timefmt.h"
#include "base/process/threadname.h"
#include "ctld/ctld.h"

#define RUNNING_MAX 64u /* at a time; the others wait their turn */
/* Beyond that, programs whose end no job waits for (mail) are dropped, with a line in the log. */
#define QUEUE_MAX 100000u
#define NOT_RUN (127 << 8) /* as a shell says that there is no such program */

struct leftover { /* the file of a program that has ended */
    struct leftover *next;
    char *path;
    int64_t until_mono_us;
};

struct programs {
    struct ctld *ctld;
    pthread_t thread;
    pthread_mutex_t lock; /* of the queue, durable, ending */
    struct program *head, *tail;
    size_t queued;
    uint64_t durable;
    bool ending;
    int wake_fd;
    struct program *running[RUNNING_MAX]; /* the thread's own */
    size_t nrunning;
    struct leftover *leftovers; /* likewise */
};

/* ---- building -------------------------------------------------------------------------------- */

struct program *program_new(struct ctld *ctld, const char *what)
{
    struct program *p = must(calloc(1, sizeof(*p)));

    p->ctld = ctld;
    p->what = what;
    p->pidfd = p->output_fd = -1;
    return p;
}

static void add_text(struct program *p, char ***list, size_t *n, char *text)
{
    char **bigger = text ? realloc(*list, (*n + 2) * sizeof(*bigger)) : NULL;

    if (!bigger) {
        free(text);
        p->failed = true;
        return;
    }
    bigger[(*n)++] = text;
    bigger[*n] = NULL;
    *list = bigger;
}

void program_path(struct program *p, const char *path)
{
    add_text(p, &p->paths, &p->npaths, strdup(path));
}

static char *clean_copy(const char *text)
{
    char *copy = strdup(text);

    if (copy)
        safetext_clean(copy);
    return copy;
}

void program_arg(struct program *p, const char *arg)
{
    if (p->nargs == 0)
        add_text(p, &p->args, &p->nargs, strdup(p->what)); /* its own name */
    add_text(p, &p->args, &p->nargs, clean_copy(arg));
}

void program_arg_text(struct program *p, const char *arg)
{
    if (p->nargs == 0)
        add_text(p, &p->args, &p->nargs, strdup(p->what)); /* its own name */
    add_text(p, &p->args, &p->nargs, strdup(arg));
}

void program_env(struct program *p, const char *name, const char *value)
{
    char *text;

    add_text(p, &p->env, &p->nenv, asprintf(&text, "%s=%s", name, value) < 0 ? NULL : text);
}

void program_env_line(struct program *p, const char *name, const char *value)
{
    _cleanup_free_ char *line = clean_copy(value);

    p->failed = p->failed || !line;
    if (line)
        program_env(p, name, line);
}

void program_input(struct program *p, const char *text)
{
    free(p->input);
    p->input = strdup(text);
    p->failed = p->failed || !p->input;
}

void program_output(struct program *p, size_t max)
{
    p->output_max = max;
}

void program_file(struct program *p, const char *env, const char *path, const char *text)
{
    free(p->file_path);
    free(p->file_text);
    p->file_path = strdup(path);
    p->file_text = strdup(text);
    p->failed = p->failed || !p->file_path || !p->file_text;
    program_env(p, env, path);
}

const char *program_arg_nth(const struct program *p, size_t i)
{
    return i + 1 < p->nargs ? p->args[i + 1] : NULL; /* the first is its own name */
}

const char *program_status_text(const struct program *p, char *buf, size_t size)
{
    if (p->status == NOT_RUN)
        (void)snprintf(buf, size, "it could not be run"); /* as a shell says it */
    else if (WIFSIGNALED(p->status))
        (void)snprintf(buf, size, "signal %d", WTERMSIG(p->status));
    else
        (void)snprintf(buf, size, "exit code %d", WEXITSTATUS(p->status));
    return buf;
}

static void list_free(char **list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        free(list[i]);
    free(list);
}

void program_free(struct program *p)
{
    list_free(p->paths, p->npaths);
    list_free(p->args, p->nargs);
    list_free(p->env, p->nenv);
    free(p->input);
    free(p->file_path);
    free(p->file_text);
    wipe_text(&p->output); /* it may be a secret */
    if (p->pidfd >= 0)
        (void)close(p->pidfd);
    if (p->output_fd >= 0)
        (void)close(p->output_fd);
    free(p);
}

/* ---- running --------------------------------------------------------------------------------- */

/* Patterns become the files they match; what matches nothing stays, and fails when it is run. */
static void expand_paths(struct program *p)
{
    glob_t found = { 0 };
    char **paths = NULL;
    size_t n = 0;

    for (size_t i = 0; i < p->npaths; i++)
        if (glob(p->paths[i], GLOB_NOCHECK | (i ? GLOB_APPEND : 0), NULL, &found) != 0)
            p->failed = true;
    for (size_t i = 0; i < found.gl_pathc; i++)
        add_text(p, &paths, &n, strdup(found.gl_pathv[i]));
    globfree(&found);
    list_free(p->paths, p->npaths);
    p->paths = paths;
    p->npaths = p->left = n;
}

/* The file that the program is told of. */
static bool write_file(struct program *p)
{
    _cleanup_close_ int fd = -1;
    size_t len = strlen(p->file_text);

    (void)unlink(p->file_path); /* of a controller that was killed */
    fd = open(p->file_path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd >= 0 && write(fd, p->file_text, len) == (ssize_t)len) {
        p->file_until_mono_us = now_mono_us() + PROGRAM_FILE_S * USEC_PER_SEC;
        return true;
    }
    log_error("%s: %s cannot be written: %s", p->what, p->file_path, strerror(errno));
    return false;
}

static void keep_file(struct programs *ps, struct program *p)
{
    struct leftover *l = p->file_path ? malloc(sizeof(*l)) : NULL;

    if (!l) {
        if (p->file_path)
            (void)unlink(p->file_path); /* no memory: a little early */
        return;
    }
    *l = (struct leftover){ ps->leftovers, TAKE_PTR(p->file_path), p->file_until_mono_us };
    ps->leftovers = l;
}

static void drop_files(struct programs *ps, int64_t now)
{
    for (struct leftover **at = &ps->leftovers; *at;) {
        struct leftover *l = *at;

        if (l->until_mono_us > now) {
            at = &l->next;
            continue;
        }
        (void)unlink(l->path); /* gone already: good */
        *at = l->next;
        free(l->path);
        free(l);
    }
}

/* A file in memory with the program's input, at its beginning; -1: there is none. */
static int input_file(const struct program *p)
{
    int fd = p->input ? memfd_create("input", MFD_CLOEXEC) : -1;
    size_t len = p->input ? strlen(p->input) : 0;

    if (fd >= 0 && (write(fd, p->input, len) != (ssize_t)len || lseek(fd, 0, SEEK_SET) != 0)) {
        log_error("%s: its input does not fit into memory job=%u", p->what, p->job_id);
        (void)close(TAKE_FD(fd));
    }
    return fd;
}

/* An empty file for what is printed. */
static int renew_output(struct program *p)
{
    int fd = capture_open(p->output_max);

    if (fd < 0)
        return fd;
    if (p->output_fd >= 0)
        (void)close(p->output_fd);
    p->output_fd = fd;
    return 0;
}

static void read_output(struct program *p)
{
    if (p->output_fd >= 0 && capture_text(p->output_fd, &p->output) < 0)
        log_error("%s: what it printed is no text", p->what);
}

static int spawn_path(struct program *p, const char *path)
{
    _cleanup_close_ int input = input_file(p);
    int fds[] = { input, -1 };
    struct spawn s = { .path = path, .argv = p->args, .envp = p->env, .fds = fds, .n_fds = 2 };
    pid_t pid = 0;
    int r = p->output_max ? renew_output(p) : 0;

    fds[1] = p->output_fd;
    if (r == 0)
        r = spawn_program(&s, &pid);
    if (r < 0)
        return r;
    p->pid = pid;
    p->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (p->pidfd < 0) {
        r = -errno;
        (void)kill(-pid, SIGKILL);
        (void)waitpid(pid, NULL, 0);
        return r;
    }
    (void)fcntl(p->pidfd, F_SETFD, FD_CLOEXEC); /* it is so from birth */
    return 0;
}

static void call_done(void *arg)
{
    struct program *p = arg;

    p->done(p->ctld, p);
    program_free(p);
}

/* The controller ends before its `done` could run. */
static void drop_program(void *arg)
{
    program_free(arg);
}

static void finish_program(struct program *p, int status)
{
    struct cmd *cmd;

    log_flag(SCRIPT, "JobId=%u %s is over: wait status %d", p->job_id, p->what, status);
    keep_file(p->programs, p);
    p->status = status;
    if (status == 0)
        read_output(p);
    if (!p->done) {
        program_free(p);
        return;
    }
    cmd = must(calloc(1, sizeof(*cmd)));
    cmd->kind = CMD_CALL;
    cmd->fn = call_done;
    cmd->drop = drop_program;
    cmd->arg = p;
    (void)core_post(p->ctld, cmd); /* never refused: it is no request */
}

/* The next of the series.  True when one runs now. */
static bool run_next(struct program *p)
{
    while (p->left > 0 && !p->failed) {
        const char *path = p->paths[--p->left];
        int r = spawn_path(p, path);

        if (r == 0) {
            log_flag(SCRIPT, "JobId=%u %s %s runs, pid %d", p->job_id, p->what, path, p->pid);
            return true;
        }
        log_error("%s %s: %s job=%u", p->what, path, strerror(-r), p->job_id);
        finish_program(p, NOT_RUN);
        return false;
    }
    finish_program(p, p->failed ? NOT_RUN : 0);
    return false;
}

static void begin_program(struct programs *ps, struct program *p)
{
    p->programs = ps;
    expand_paths(p);
    if (p->file_path && !write_file(p))
        p->failed = true;
    p->deadline_mono_us = p->limit_us ? now_mono_us() + p->limit_us : 0;
    if (run_next(p))
        ps->running[ps->nrunning++] = p;
}

/* Has it ended?  Then the next of its series runs, or it is over and not ours any more. */
static bool collect_program(struct program *p)
{
    int status = 0;

    if (waitpid(p->pid, &status, WNOHANG) == 0)
        return false;
    (void)close(TAKE_FD(p->pidfd));
    p->pid = 0;
    if (status == 0)
        return !run_next(p);
    log_error("%s failed: %s %d job=%u", p->what, WIFSIGNALED(status) ? "signal" : "exit code",
              WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status), p->job_id);
    finish_program(p, status);
    return true;
}

static void look_after(struct programs *ps, int64_t now)
{
    for (size_t i = 0; i < ps->nrunning;) {
        struct program *p = ps->running[i];

        if (p->deadline_mono_us && now >= p->deadline_mono_us) {
            log_error("%s ran too long job=%u", p->what, p->job_id);
            (void)kill(-p->pid, SIGKILL); /* its session; the status tells the rest */
            p->deadline_mono_us = 0;
        }
        if (collect_program(p))
            ps->running[i] = ps->running[--ps->nrunning];
        else
            i++;
    }
}

/* What may start, or NULL.  Sets *ret_end when the thread should end. */
static struct program *take_program(struct programs *ps, bool *ret_end)
{
    struct program *p = NULL;

    pthread_mutex_lock(&ps->lock);
    *ret_end = ps->ending;
    if (ps->head && ps->head->lsn <= ps->durable && ps->nrunning < RUNNING_MAX && !ps->ending) {
        p = ps->head;
        ps->head = p->next;
        if (!ps->head)
            ps->tail = NULL;
        ps->queued--;
    }
    pthread_mutex_unlock(&ps->lock);
    return p;
}

static int wait_ms(const struct programs *ps, int64_t now)
{
    int64_t first = INT64_MAX;

    for (size_t i = 0; i < ps->nrunning; i++)
        if (ps->running[i]->deadline_mono_us)
            first = MIN(first, ps->running[i]->deadline_mono_us);
    for (const struct leftover *l = ps->leftovers; l; l = l->next)
        first = MIN(first, l->until_mono_us);
    return first == INT64_MAX ? -1 : (int)MIN(MAX(first - now, 0) / 1000 + 1, 3600 * 1000);
}

static void *thread_main(void *arg)
{
    struct programs *ps = arg;
    bool end = false;

    while (!end) {
        struct pollfd fds[RUNNING_MAX + 1];
        struct program *p;
        uint64_t count;

        look_after(ps, now_mono_us());
        drop_files(ps, now_mono_us());
        while ((p = take_program(ps, &end)))
            begin_program(ps, p);
        if (end)
            break;
        fds[0] = (struct pollfd){ .fd = ps->wake_fd, .events = POLLIN };
        for (size_t i = 0; i < ps->nrunning; i++)
            fds[i + 1] = (struct pollfd){ .fd = ps->running[i]->pidfd, .events = POLLIN };
        if (poll(fds, ps->nrunning + 1, wait_ms(ps, now_mono_us())) > 0 && fds[0].revents)
            (void)!read(ps->wake_fd, &count, sizeof(count)); /* only wakes */
    }
    return NULL;
}

/* ---- the queue ------------------------------------------------------------------------------- */

int programs_new(struct ctld *ctld, struct programs **ret)
{
    struct programs *ps = calloc(1, sizeof(*ps));
    int r;

    if (!ps)
        return -ENOMEM;
    ps->ctld = ctld;
    ps->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (ps->wake_fd < 0) {
        r = -errno;
        free(ps);
        return r;
    }
    pthread_mutex_init(&ps->lock, NULL);
    r = -pthread_create(&ps->thread, NULL, thread_main, ps);
    if (r < 0) {
        (void)close(ps->wake_fd);
        pthread_mutex_destroy(&ps->lock);
        free(ps);
        return r;
    }
    threadname_set(ps->thread, "programs");
    *ret = ps;
    return 0;
}

static void wake_thread(struct programs *ps)
{
    const uint64_t one = 1;

    (void)!write(ps->wake_fd, &one, sizeof(one)); /* full: it is awake already */
}

void programs_add_take(struct programs *ps, struct program *p)
{
    bool full;

    if (!ps) {
        program_free(p);
        return;
    }
    pthread_mutex_lock(&ps->lock);
    full = ps->queued >= QUEUE_MAX && !p->done;
    if (!full) {
        if (ps->tail)
            ps->tail->next = p;
        else
            ps->head = p;
        ps->tail = p;
        ps->queued++;
    }
    pthread_mutex_unlock(&ps->lock);
    if (full) {
        log_error("%s dropped: %u programs wait already job=%u", p->what, QUEUE_MAX, p->job_id);
        program_free(p);
        return;
    }
    wake_thread(ps);
}

void programs_release(struct programs *ps, uint64_t lsn)
{
    bool due;

    if (!ps)
        return;
    pthread_mutex_lock(&ps->lock);
    due = ps->head && ps->head->lsn > ps->durable && ps->head->lsn <= lsn;
    if (lsn > ps->durable)
        ps->durable = lsn;
    pthread_mutex_unlock(&ps->lock);
    if (due)
        wake_thread(ps);
}

struct programs *programs_free(struct programs *ps)
{
    if (!ps)
        return NULL;
    pthread_mutex_lock(&ps->lock);
    ps->ending = true;
    pthread_mutex_unlock(&ps->lock);
    wake_thread(ps);
    pthread_join(ps->thread, NULL);
    while (ps->head) {
        struct program *p = ps->head;

        ps->head = p->next;
        program_free(p);
    }
    for (size_t i = 0; i < ps->nrunning; i++)
        program_free(ps->running[i]);
    drop_files(ps, INT64_MAX);
    (void)close(ps->wake_fd);
    pthread_mutex_destroy(&ps->lock);
    free(ps);
    return NULL;
}
