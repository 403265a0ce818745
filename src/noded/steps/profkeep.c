/* profkeep.c - see profkeep.h
 *
 * What is kept is on disk and nowhere else, so that a slurmd that is started anew goes on where its
 * forerunner was.  Main loop. */
#include "noded/steps/profkeep.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "base/process/beside.h"
#include "base/process/capture.h"
#include "base/process/spawnprog.h"
#include "base/strbuf.h"
#include "h5/h5head.h"
#include "noded/hw/profsocket.h"
#include "stepd/shared/spool.h"

#define NAME_SIZE 64u
#define OVER ".over"
#define SAID_MAX 512u

struct writer {
    pid_t pid;            /* 0: none */
    int said_fd;          /* what it prints */
    char name[NAME_SIZE]; /* "": it only looks whether it could write */
    off_t size;           /* of what it reads, and empties */
};

struct profkeep {
    struct noded *d;
    struct profsocket *socket;
    char *dir, *exe;
    int fd;         /* of PROFKEEP_FOLDER */
    uint64_t bytes; /* that are kept */
    struct writer writers[PROFKEEP_WRITERS];
};

struct kept { /* a file's name */
    uint32_t job_id, step_id;
    uint64_t run_id;
    bool over;
};

static void name_kept(const struct kept *f, char *buf)
{
    (void)snprintf(buf, NAME_SIZE, "%u.%" PRIu64 ".%u%s", f->job_id, f->run_id, f->step_id,
                   f->over ? OVER : "");
}

static bool read_kept(const char *name, struct kept *ret)
{
    char again[NAME_SIZE];

    if (sscanf(name, "%10u.%20" SCNu64 ".%10u", &ret->job_id, &ret->run_id, &ret->step_id) != 3)
        return false;
    ret->over =
        strlen(name) > strlen(OVER) && strcmp(name + strlen(name) - strlen(OVER), OVER) == 0;
    name_kept(ret, again);
    return strcmp(again, name) == 0;
}

/* ---- writers --------------------------------------------------------------------------------- */

static bool is_written(const struct profkeep *k, const char *name)
{
    for (size_t i = 0; i < PROFKEEP_WRITERS; i++)
        if (k->writers[i].pid && strcmp(k->writers[i].name, name) == 0)
            return true;
    return false;
}

static struct writer *free_writer(struct profkeep *k)
{
    for (size_t i = 0; i < PROFKEEP_WRITERS; i++)
        if (!k->writers[i].pid)
            return &k->writers[i];
    return NULL;
}

static off_t size_of(const struct profkeep *k, const char *name)
{
    struct stat st;

    return fstatat(k->fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 ? st.st_size : 0;
}

/* name "": only to look. */
static int start_writer(struct profkeep *k, struct writer *w, const char *name)
{
    _cleanup_close_ int in = -1, said = capture_open(SAID_MAX);
    char *argv[] = { (char *)"slurmstepd-profile", k->dir, NULL };
    int fds[3], r;

    if (said < 0)
        return said;
    if (*name && (in = openat(k->fd, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC)) < 0)
        return -errno;
    w->size = *name ? size_of(k, name) : 0; /* before it is emptied */
    fds[0] = in;
    fds[1] = -1;
    fds[2] = said;
    r = spawn_program(
        &(struct spawn){
            .path = k->exe, .argv = argv, .dir = "/", .fds = fds, .n_fds = ARRAY_SIZE(fds) },
        &w->pid);
    if (r < 0) {
        w->pid = 0;
        return r;
    }
    w->said_fd = TAKE_FD(said);
    (void)snprintf(w->name, sizeof(w->name), "%s", name); /* it has room */
    return 0;
}

static void drop_kept(struct profkeep *k, const struct writer *w)
{
    (void)unlinkat(k->fd, w->name, 0); /* what stays is written again by the next slurmd */
    k->bytes -= MIN(k->bytes, (uint64_t)w->size);
}

static void start_writers(struct profkeep *k)
{
    int fd = openat(k->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    const struct dirent *e;
    struct writer *w;
    struct kept f;

    if (!dir && fd >= 0)
        (void)close(fd);
    while (dir && (w = free_writer(k)) && (e = readdir(dir))) {
        int r;

        if (!read_kept(e->d_name, &f) || !f.over || is_written(k, e->d_name))
            continue;
        r = start_writer(k, w, e->d_name);
        if (r < 0) { /* it is tried again when the next step is over */
            log_seldom(LOG_ERROR, "%s cannot be started: %s", k->exe, strerror(-r));
            break;
        }
    }
    if (dir)
        (void)closedir(dir);
}

static void say_end(const struct writer *w, int status)
{
    _cleanup_free_ char *said = NULL;
    char num[16], quoted[2 * SAID_MAX];
    struct kept f;

    if (capture_text(w->said_fd, &said) < 0 || !said || !*said)
        said = WIFSIGNALED(status) ? strdup("slurmstepd-profile was ended by a signal") : NULL;
    if (said)
        said[strcspn(said, "\n")] = '\0';
    (void)log_quote(said ? said : "no reason was given", quoted, sizeof(quoted));
    if (!read_kept(w->name, &f))
        log_error("steps cannot be profiled: %s", quoted);
    else
        log_error("the profile of a step is lost: %s job=%u step=%s", quoted, f.job_id,
                  step_id_name(f.step_id, num, sizeof(num)));
}

bool profkeep_child_exited(struct noded *d, pid_t pid, int status)
{
    struct profkeep *k = d->profkeep;
    struct writer *w = NULL;

    for (size_t i = 0; k && i < PROFKEEP_WRITERS; i++)
        if (k->writers[i].pid == pid)
            w = &k->writers[i];
    if (!w)
        return false;
    if (status != 0)
        say_end(w, status);
    if (w->name[0])
        drop_kept(k, w);
    (void)close(w->said_fd);
    w->pid = 0;
    start_writers(k);
    return true;
}

/* ---- samples --------------------------------------------------------------------------------- */

static void lose_lines(const char *why)
{
    log_seldom(LOG_ERROR, "samples of steps are lost: %s", why);
}

static int write_whole(int fd, const char *data, size_t len)
{
    ssize_t n = write(fd, data, len);

    return n < 0 ? -errno : (size_t)n < len ? -ENOSPC : 0;
}

static int put_lines(struct profkeep *k, const struct kept *f, const struct strbuf *head,
                     const char *lines, size_t len)
{
    _cleanup_close_ int fd = -1;
    char name[NAME_SIZE];
    struct stat st;
    size_t more;
    int r = 0;

    name_kept(f, name);
    fd = openat(k->fd, name, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0 || fstat(fd, &st) < 0)
        return -errno;
    more = len + (st.st_size ? 0 : head->len);
    if ((uint64_t)st.st_size + more > PROFKEEP_STEP_MAX || k->bytes + more > PROFKEEP_ALL_MAX)
        return -EFBIG;
    if (!st.st_size)
        r = write_whole(fd, strbuf_str(head), head->len);
    if (r == 0)
        r = write_whole(fd, lines, len);
    if (r < 0) /* whole lines alone; one that is cut is passed over when it is read */
        return ftruncate(fd, st.st_size) < 0 ? -errno : r;
    k->bytes += more;
    return 0;
}

struct wanted {
    uint32_t job_id, step_id;
    const struct nstep *found;
};

/* An earlier run of the job may not be forgotten yet. */
static void look_at_job(void *ctx, struct njob *job)
{
    struct wanted *w = ctx;
    const struct nstep *step = job->job_id == w->job_id ? job_find_step(job, w->step_id) : NULL;

    if (step && step->phase == STEP_RUNS)
        w->found = step;
}

/* The step that a line names, if it runs. */
static const struct nstep *find_step(struct noded *d, const char *lines, size_t len)
{
    const char *at = memmem(lines, len, ",job=", 5);
    struct wanted w = { 0 };
    char text[48];
    int step_id;

    if (!at)
        return NULL;
    len = MIN(len - (size_t)(at - lines), sizeof(text) - 1);
    memcpy(text, at, len);
    text[len] = '\0';
    if (sscanf(text, ",job=%10u,step=%11d,", &w.job_id, &step_id) != 2)
        return NULL;
    w.step_id = (uint32_t)step_id;
    jobs_each(&d->jobs, look_at_job, &w);
    return w.found;
}

static void take_lines(void *ctx, const char *lines, size_t len)
{
    struct profkeep *k = ctx;
    const struct nstep *step = find_step(k->d, lines, len);
    const Pst__JobRecord *job = step ? step->job->on->job : NULL;
    struct strbuf text = STRBUF_INIT;
    struct h5head head = { 0 };
    char num[16];
    struct kept f;
    int r;

    if (!job)
        return;
    f = (struct kept){ step->job->job_id, step->step_id, step->job->run_id, false };
    head.name.job_id = f.job_id;
    (void)snprintf(head.name.step, sizeof(head.name.step), "%s",
                   step_id_name(f.step_id, num, sizeof(num)));
    (void)snprintf(head.name.node, sizeof(head.name.node), "%s", k->d->name); /* cut: no name */
    head.uid = job->uid;
    head.gid = job->gid;
    h5head_user(&head, job->user_name);
    h5head_write(&head, &text);
    r = text.failed ? -ENOMEM : put_lines(k, &f, &text, lines, len);
    strbuf_done(&text);
    if (r == -EFBIG)
        lose_lines("too many are kept already");
    else if (r < 0)
        lose_lines(strerror(-r));
}

/* ---- steps that are over --------------------------------------------------------------------- */

/* False: it had no samples. */
static bool mark_over(struct profkeep *k, struct kept f)
{
    char name[NAME_SIZE], over[NAME_SIZE];

    name_kept(&f, name);
    f.over = true;
    name_kept(&f, over);
    if (renameat(k->fd, name, k->fd, over) == 0)
        return true;
    if (errno != ENOENT)
        lose_lines(strerror(errno));
    return false;
}

void profkeep_step_over(struct noded *d, const struct nstep *step)
{
    struct profkeep *k = d->profkeep;

    if (!k)
        return;
    profsocket_drain(k->socket); /* its last words */
    if (mark_over(k, (struct kept){ step->job->job_id, step->step_id, step->job->run_id, false }))
        start_writers(k);
}

/* What an earlier slurmd has left. */
static void look_around(struct profkeep *k)
{
    int fd = openat(k->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    const struct dirent *e;
    const struct nstep *step;
    struct njob *job;
    struct kept f;

    if (!dir && fd >= 0)
        (void)close(fd);
    while (dir && (e = readdir(dir))) {
        if (!read_kept(e->d_name, &f))
            continue;
        k->bytes += (uint64_t)size_of(k, e->d_name);
        job = jobs_find(&k->d->jobs, f.job_id, f.run_id);
        step = job ? job_find_step(job, f.step_id) : NULL;
        if (!f.over && (!step || step->phase == STEP_ENDED))
            (void)mark_over(k, f); /* it is there */
    }
    if (dir)
        (void)closedir(dir);
}

/* ---- life ------------------------------------------------------------------------------------ */

static void free_profkeep(struct profkeep *k)
{
    if (k->fd >= 0)
        (void)close(k->fd);
    for (size_t i = 0; i < PROFKEEP_WRITERS; i++)
        if (k->writers[i].pid)
            (void)close(k->writers[i].said_fd);
    free(k->dir);
    free(k->exe);
    free(k);
}

static int open_folder(struct profkeep *k, struct err *err)
{
    char path[SPOOL_PATH_MAX];
    int r;

    (void)snprintf(path, sizeof(path), "%s/" PROFKEEP_FOLDER, k->d->spool);
    if (mkdir(path, 0700) == 0 || errno == EEXIST)
        k->fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    r = k->fd < 0 ? -errno : 0;
    return r < 0 ? err_set(err, r, "%s: %s", path, strerror(-r)) : 0;
}

static int find_writer(struct profkeep *k, struct err *err)
{
    static const char *const places[] = { "slurmstepd-profile", "../h5/slurmstepd-profile" };
    char path[PATH_MAX];

    if (beside_find(places, ARRAY_SIZE(places), path, sizeof(path)) < 0)
        return err_set(err, -ENOENT, "slurmstepd-profile is not installed");
    k->exe = strdup(path);
    return k->exe ? 0 : err_nomem(err);
}

static int open_profkeep(struct noded *d, struct err *err)
{
    struct profkeep *k = calloc(1, sizeof(*k));
    int r = k ? 0 : err_nomem(err);

    if (r < 0)
        return r;
    k->d = d;
    k->fd = -1;
    r = find_writer(k, err);
    if (r == 0)
        r = open_folder(k, err);
    if (r == 0)
        r = profsocket_open(&d->loop, d->spool, take_lines, k, &k->socket, err);
    if (r < 0) {
        free_profkeep(k);
        return r;
    }
    d->profkeep = k;
    return 0;
}

struct profkeep *profkeep_close(struct profkeep *k)
{
    if (!k)
        return NULL;
    k->socket = profsocket_close(k->socket);
    free_profkeep(k);
    return NULL;
}

/* Say at the start, not when the first step is over, that nothing can be written. */
static void try_folder(struct profkeep *k)
{
    struct writer *w = free_writer(k);
    int r = w ? start_writer(k, w, "") : 0; /* else writers are there, and say it */

    if (r < 0)
        log_error("%s cannot be started: %s", k->exe, strerror(-r));
}

void profkeep_configure(struct noded *d)
{
    const char *dir = conf_gather_hdf5(d->conf);
    struct err err = { .text = "" };
    bool first = !d->profkeep;
    char *copy;

    if (!dir) {
        d->profkeep = profkeep_close(d->profkeep);
        return;
    }
    copy = strdup(dir);
    if (!copy || (first && open_profkeep(d, &err) < 0)) {
        log_error("steps are not profiled: %s", copy ? err.text : strerror(ENOMEM));
        free(copy);
        return;
    }
    free(d->profkeep->dir);
    d->profkeep->dir = copy;
    try_folder(d->profkeep);
    if (first)
        look_around(d->profkeep);
    start_writers(d->profkeep);
}
