/* jobcomp_file.c - finished runs as lines of a file, and as calls of a program
 *
 * The file is opened for each batch, so it may be moved away at any time.  The program runs once a
 * run, one after the other, with the facts in its environment; how it ends is logged and changes
 * nothing. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/safetext.h"
#include "base/process/spawnprog.h"
#include "base/timefmt.h"
#include "ctld/notify/jobcomp.h"
#include "model/words/names.h"

#define DEFAULT_FILE "/var/log/slurm_jobcomp.log"
#define STOP_GRACE_MS 3000 /* what a program that runs gets when the controller ends */

/* ---- jobcomp/filetxt ------------------------------------------------------------------------- */

struct filetxt {
    char *path, *cluster;
    struct strbuf lines; /* of the batch */
};

static int open_file(const char *path, struct err *err)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY, 0600);

    return fd < 0 ? err_set(err, -errno, "cannot write %s: %s", path, strerror(errno)) : fd;
}

static void filetxt_close(void *sink)
{
    struct filetxt *f = sink;

    strbuf_done(&f->lines);
    free(f->path);
    free(f->cluster);
    free(f);
}

static int filetxt_open(const struct conf *conf, void **ret, struct err *err)
{
    const char *path = conf_str(conf, CONF_JOB_COMP_LOC);
    struct filetxt *f;
    int fd;

    if (path && *path && *path != '/')
        return err_set(err, -EINVAL, "JobCompLoc=%.128s: jobcomp/filetxt wants an absolute path",
                       path);
    f = calloc(1, sizeof(*f));
    if (!f)
        return -ENOMEM;
    f->path = strdup(path && *path ? path : DEFAULT_FILE);
    f->cluster = strdup(conf_str(conf, CONF_CLUSTER_NAME));
    fd = f->path && f->cluster ? open_file(f->path, err) : -ENOMEM;
    if (fd < 0) {
        if (err->text[0])
            err_prefix(err, "JobCompLoc");
        filetxt_close(f);
        return fd;
    }
    (void)close(fd); /* nothing was written */
    *ret = f;
    return 0;
}

static int filetxt_put(void *sink, uint64_t lsn, const Pst__JobNote *note, struct err *err)
{
    struct filetxt *f = sink;

    (void)lsn;
    return note->has_began && note->began ? 0 : jobcomp_line(note, f->cluster, &f->lines);
}

static int write_all(int fd, const char *p, size_t len)
{
    while (len) {
        ssize_t n = write(fd, p, len);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        p += n;
        len -= (size_t)n;
    }
    return fdatasync(fd) < 0 && errno != EINVAL && errno != EROFS ? -errno
                                                                  : 0; /* a pipe cannot be synced */
}

/* A batch is there whole or, after a failed write, not at all. */
static int filetxt_flush(void *sink, const atomic_bool *stop, uint64_t *ret_done, struct err *err)
{
    struct filetxt *f = sink;
    _cleanup_close_ int fd = open_file(f->path, err);
    off_t was = fd < 0 ? 0 : lseek(fd, 0, SEEK_END);
    int r = fd < 0 ? fd : write_all(fd, strbuf_str(&f->lines), f->lines.len);

    (void)stop;
    (void)ret_done;
    if (fd >= 0 && r < 0) {
        err_set(err, r, "cannot write %s: %s", f->path, strerrordesc_np(-r));
        if (was >= 0)
            (void)!ftruncate(fd, was); /* else lines come twice */
    }
    strbuf_reset(&f->lines);
    return r;
}

const struct jobcomp_sink jobcomp_filetxt = { .type = "jobcomp/filetxt",
                                              .batch = 1000,
                                              .retry_ms = 5000,
                                              .open = filetxt_open,
                                              .put = filetxt_put,
                                              .flush = filetxt_flush,
                                              .close = filetxt_close };

/* ---- jobcomp/script -------------------------------------------------------------------------- */

struct env {
    char **list;
    size_t n, cap;
    bool failed;
};

struct call {
    struct env env;
    uint32_t job_id;
    uint64_t lsn;
};

struct script {
    char *path, *cluster;
    struct call *calls; /* of the batch */
    size_t n, cap;
};

static void env_done(struct env *e)
{
    for (size_t i = 0; i < e->n; i++)
        free(e->list[i]);
    free(e->list);
    *e = (struct env){ 0 };
}

static void __attribute__((format(printf, 3, 4)))
env_put(struct env *e, const char *name, const char *fmt, ...)
{
    _cleanup_val_(strbuf_done) struct strbuf sb = STRBUF_INIT;
    va_list ap;

    if (e->n + 2 > e->cap) {
        size_t cap = e->cap ? e->cap * 2 : 64;
        char **bigger = realloc(e->list, cap * sizeof(*bigger));

        if (!bigger) {
            e->failed = true;
            return;
        }
        e->list = bigger;
        e->cap = cap;
    }
    strbuf_addf(&sb, "%s=", name);
    va_start(ap, fmt);
    strbuf_addv(&sb, fmt, ap);
    va_end(ap);
    if (strbuf_detach(&sb, &e->list[e->n]) < 0)
        e->failed = true;
    else
        e->list[++e->n] = NULL;
}

/* Scripts write what they get into files with lines. */
static void env_text(struct env *e, const char *name, const char *value)
{
    size_t n = e->n;

    env_put(e, name, "%s", value ? value : "");
    if (e->n > n)
        safetext_clean(e->list[n]);
}

static void env_number(struct env *e, const char *name, int64_t value)
{
    env_put(e, name, "%lld", (long long)value);
}

static void env_identity(struct env *e, const Pst__JobRecord *r)
{
    env_number(e, "JOBID", r->job_id);
    env_text(e, "SLUID", r->sluid);
    env_text(e, "ORIGINAL_SLUID", r->sluid);
    if (r->has_array_job_id)
        env_number(e, "ARRAYJOBID", r->array_job_id);
    if (r->has_array_task_id)
        env_number(e, "ARRAYTASKID", r->array_task_id);
    if (r->has_het_job_id && r->het_job_id) {
        env_number(e, "PACKJOBID", r->het_job_id);
        env_number(e, "PACKJOBOFFSET", r->het_offset);
        env_number(e, "HETJOBID", r->het_job_id);
        env_number(e, "HETJOBOFFSET", r->het_offset);
    }
    env_number(e, "UID", r->uid);
    env_number(e, "GID", r->gid);
    env_text(e, "USERNAME", r->user_name);
    env_text(e, "GROUPNAME", r->group_name);
    env_text(e, "JOBNAME", r->name);
    env_text(e, "ACCOUNT", r->account);
    env_text(e, "PARTITION", r->partition);
    env_text(e, "QOS", r->qos);
    env_text(e, "RESERVATION", r->reservation);
}

static void env_result(struct env *e, const Pst__JobRecord *r)
{
    char code[JOBCOMP_EXIT_MAX];

    env_text(e, "JOBSTATE", jobcomp_state(r));
    env_text(e, "EXITCODE", jobcomp_exit(r->has_exit_status, r->exit_status, code));
    env_text(e, "DERIVED_EC",
             jobcomp_exit(r->has_derived_exit_status, r->derived_exit_status, code));
    env_number(e, "START", jobcomp_start_us(r) / USEC_PER_SEC);
    env_number(e, "END", r->end_us / USEC_PER_SEC);
    env_number(e, "SUBMIT", (r->has_requeue_us ? r->requeue_us : r->submit_us) / USEC_PER_SEC);
    env_number(e, "ELIGIBLE", (r->has_eligible_us ? r->eligible_us : 0) / USEC_PER_SEC);
    env_number(e, "PROCS", jobcomp_cpus(r));
    env_number(e, "NODECNT", r->alloc ? jobcomp_nodes(r) : 0);
    env_text(e, "NODES", r->alloc ? r->alloc->nodes : "(null)");
    env_text(e, "STATEREASONPREV", names_reason(r->has_reason ? r->reason : 0));
}

static void env_fill(struct env *e, const Pst__JobRecord *r, const char *cluster)
{
    const char *path = getenv("PATH"), *tz = getenv("TZ");

    env_identity(e, r);
    env_result(e, r);
    env_text(e, "CLUSTER", cluster);
    env_text(e, "BATCH", r->has_batch && r->batch ? "yes" : "no");
    env_text(e, "DB_FLAGS", "");
    env_text(e, "CONSTRAINTS", r->features);
    env_text(e, "DEPENDENCY", r->dependency);
    env_text(e, "WORK_DIR", r->work_dir);
    env_text(e, "STDIN", r->std_in);
    env_text(e, "STDOUT", r->std_out);
    env_text(e, "STDERR", r->std_err);
    if (r->has_time_unlimited && r->time_unlimited)
        env_text(e, "LIMIT", "UNLIMITED");
    else
        env_number(e, "LIMIT", r->has_time_limit_min ? r->time_limit_min : 0);
    if (tz)
        env_text(e, "TZ", tz);
    env_text(e, "PATH", path ? path : "/usr/sbin:/usr/bin:/sbin:/bin");
}

static void script_clear(struct script *s)
{
    for (size_t i = 0; i < s->n; i++)
        env_done(&s->calls[i].env);
    s->n = 0;
}

static void script_close(void *sink)
{
    struct script *s = sink;

    script_clear(s);
    free(s->calls);
    free(s->path);
    free(s->cluster);
    free(s);
}

static int script_open(const struct conf *conf, void **ret, struct err *err)
{
    const char *path = conf_str(conf, CONF_JOB_COMP_LOC);
    struct script *s;

    if (!path || *path != '/')
        return err_set(err, -EINVAL,
                       "JobCompLoc=%.128s: jobcomp/script wants the absolute path of a program",
                       path ? path : "");
    if (access(path, R_OK | X_OK) < 0)
        return err_set(err, -errno, "JobCompLoc=%.128s: cannot be run: %s", path, strerror(errno));
    s = calloc(1, sizeof(*s));
    if (!s)
        return -ENOMEM;
    s->path = strdup(path);
    s->cluster = strdup(conf_str(conf, CONF_CLUSTER_NAME));
    if (!s->path || !s->cluster) {
        script_close(s);
        return -ENOMEM;
    }
    *ret = s;
    return 0;
}

static int script_put(void *sink, uint64_t lsn, const Pst__JobNote *note, struct err *err)
{
    struct script *s = sink;

    (void)err;
    if (note->has_began && note->began)
        return 0;
    if (s->n == s->cap) {
        size_t cap = s->cap ? s->cap * 2 : 16;
        struct call *bigger = realloc(s->calls, cap * sizeof(*bigger));

        if (!bigger)
            return -ENOMEM;
        s->calls = bigger;
        s->cap = cap;
    }
    s->calls[s->n] = (struct call){ .job_id = note->job->job_id, .lsn = lsn };
    env_fill(&s->calls[s->n].env, note->job, s->cluster);
    return s->calls[s->n++].env.failed ? -ENOMEM : 0;
}

/* Until it has ended, or the controller ends and it does not. */
static void see_through(const struct script *s, pid_t pid, uint32_t job_id, const atomic_bool *stop)
{
    struct pollfd pfd = { .fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN };
    int64_t until = 0;
    int status = 0;

    while (pfd.fd >= 0 && poll(&pfd, 1, 100) <= 0) {
        if (!atomic_load(stop))
            continue;
        until = until ? until : now_mono_us() + STOP_GRACE_MS * 1000;
        if (now_mono_us() > until)
            (void)kill(-pid, SIGKILL); /* the status tells the rest */
    }
    if (pfd.fd >= 0)
        (void)close(pfd.fd);
    (void)waitpid(pid, &status, 0); /* it is ours */
    if (status != 0)
        log_error("jobcomp: %s: %s %d job=%u", s->path,
                  WIFSIGNALED(status) ? "signal" : "exit code",
                  WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status), job_id);
}

static int script_flush(void *sink, const atomic_bool *stop, uint64_t *ret_done, struct err *err)
{
    struct script *s = sink;
    int r = 0;

    for (size_t i = 0; i < s->n && r == 0; i++) {
        pid_t pid = 0;

        struct spawn program = { .path = s->path, .envp = s->calls[i].env.list };

        r = atomic_load(stop) ? -ECANCELED : spawn_program(&program, &pid);
        if (r < 0)
            err_set(err, r, "cannot run %s: %s", s->path, strerrordesc_np(-r));
        else
            see_through(s, pid, s->calls[i].job_id, stop);
        if (r == 0 && (i + 1 == s->n || s->calls[i + 1].lsn > s->calls[i].lsn))
            *ret_done = s->calls[i].lsn;
    }
    script_clear(s);
    return r;
}

const struct jobcomp_sink jobcomp_script = { .type = "jobcomp/script",
                                             .batch = 100,
                                             .retry_ms = 5000,
                                             .open = script_open,
                                             .put = script_put,
                                             .flush = script_flush,
                                             .close = script_close };
