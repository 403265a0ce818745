/* output.c - the files of a step's streams, opened with the user's rights; see step.h
 *
 * The step daemon is root on a real node: it takes on the user's identity for the open itself,
 * so that a name can neither reach where the user may not nor fail where root may not
 * (root-squashed mounts).  Nothing here waits for another process of the user: what would make
 * an opener wait is opened by one of the user (opener.c). */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/timefmt.h"
#include "stepd/shared/spool.h"
#include "stepd/step.h"

#define FOLDER_WAIT_MS 2000
#define FOLDER_LOOK_MS 20

int output_as_user(struct step *s)
{
    if (!s->switch_user)
        return 0;
    if (setgroups(s->n_gids, s->gids) < 0 || setegid(s->gid) < 0 || seteuid(s->uid) < 0) {
        int r = -errno;

        output_as_self(s);
        return r;
    }
    return 0;
}

void output_as_self(struct step *s)
{
    int saved = errno;

    if (s->switch_user && (seteuid(0) < 0 || setegid(0) < 0 || setgroups(0, NULL) < 0))
        _exit(1); /* going on half as the user would be worse than anything */
    errno = saved;
}

void output_vars(const struct step *s, uint32_t task_id, struct pattern_vars *ret)
{
    const Pst__JobRecord *j = s->job;

    *ret = (struct pattern_vars){
        .job_id = s->job_id,
        .array_job_id = j->has_array_job_id && j->array_job_id ? j->array_job_id : s->job_id,
        .array_task_id = j->has_array_task_id ? j->array_task_id : PATTERN_NO_ARRAY,
        .step_id = s->step_id,
        .step_name = s->step_name,
        .batch = !s->launch,
        .node_name = s->sf->job->node_name,
        .node_index = s->launch ? s->launch->node_index : s->sf->job->node_index,
        .task_id = task_id,
        .restarts = j->restart_count,
        .user = j->user_name,
        .job_name = j->name,
        .sluid = j->sluid,
    };
}

/* The name in full: relative ones belong to the work directory. */
static int expand_path(struct step *s, const char *pattern, uint32_t task_id, char **ret_path)
{
    _cleanup_free_ char *name = NULL;
    struct pattern_vars vars;
    char *path;
    int r;

    if (strcmp(pattern, "none") == 0)
        pattern = "/dev/null";
    output_vars(s, task_id, &vars);
    r = pattern_expand(pattern, &vars, &name);
    if (r < 0)
        return r;
    if (name[0] == '/') {
        *ret_path = TAKE_PTR(name);
        return 0;
    }
    if (asprintf(&path, "%s/%s", s->work_dir, name) < 0)
        return -ENOMEM;
    *ret_path = path;
    return 0;
}

/* -EWOULDBLOCK: to open the file may block. */
static int try_open(const struct step *s, const char *path, int flags)
{
    struct stat st;
    mode_t old;
    int fd;

    /* Do not open a FIFO here: the process at its other end would take us for the reader or the
     * writer. */
    if (stat(path, &st) == 0 && S_ISFIFO(st.st_mode))
        return -EWOULDBLOCK;
    old = umask(s->umask);
    /* Without O_NOCTTY a terminal named as output would become ours. */
    fd = open(path, flags | O_NONBLOCK | O_CLOEXEC | O_NOCTTY, 0666);
    if (fd < 0)
        /* became a FIFO meanwhile, or cannot be opened in any way */
        fd = errno == ENXIO ? -EWOULDBLOCK : -errno;
    (void)umask(old);
    return fd;
}

static int open_as_user(struct step *s, const char *path, int flags)
{
    int fd, r = output_as_user(s);

    if (r < 0)
        return r;
    fd = try_open(s, path, flags);
    output_as_self(s);
    if (fd == -EWOULDBLOCK)
        return opener_open(s, path, flags);
    /* tasks expect to wait */
    if (fd >= 0 && fcntl(fd, F_SETFL, flags & (O_ACCMODE | O_APPEND)) < 0) {
        r = -errno;
        (void)close(fd);
        return r;
    }
    return fd;
}

/* A client may make the folder of a job's output only after sbatch has told it the number, and a
 * job that starts at once is faster; so a missing folder is looked for again for a while. */
static int create_as_user(struct step *s, const char *path, int flags)
{
    int64_t deadline = now_mono_us() + FOLDER_WAIT_MS * 1000;
    int fd;

    while ((fd = open_as_user(s, path, flags)) == -ENOENT && now_mono_us() < deadline)
        (void)poll(NULL, 0, FOLDER_LOOK_MS); /* nothing to wait for but time */
    return fd;
}

int output_open(struct step *s, const char *pattern, uint32_t task_id, bool append, int *ret_fd)
{
    _cleanup_free_ char *path = NULL;
    int fd, r = expand_path(s, pattern, task_id, &path);

    if (r < 0)
        return r;
    fd = create_as_user(s, path, O_WRONLY | O_CREAT | (append ? O_APPEND : O_TRUNC));
    if (fd < 0) {
        step_fail(s, "Could not open stdout file %s: %s", path, strerror(-fd));
        return fd;
    }
    *ret_fd = fd;
    return 0;
}

int output_open_input(struct step *s, const char *pattern, uint32_t task_id, int *ret_fd)
{
    _cleanup_free_ char *path = NULL;
    int fd, r = expand_path(s, pattern, task_id, &path);

    if (r < 0)
        return r;
    fd = open_as_user(s, path, O_RDONLY);
    if (fd < 0) {
        step_fail(s, "Could not open stdin file %s: %s", path, strerror(-fd));
        return fd;
    }
    *ret_fd = fd;
    return 0;
}

/* The user's stream may be anything that he could open.  What can make a writer wait is written
 * through a descriptor of our own that does not wait; the user's stays as it is. */
void output_tell(int fd, const char *text, size_t len)
{
    _cleanup_close_ int own = -1;
    char path[32];
    struct stat st;

    if (fd < 0 || fstat(fd, &st) < 0)
        return;
    if (!S_ISREG(st.st_mode)) {
        (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
        own = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
        if (own < 0)
            return;
        fd = own;
    }
    if (write(fd, text, len) < 0)
        return; /* there is no other place for the line */
}
