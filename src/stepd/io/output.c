/* output.c - the files of a step's streams, opened with the user's rights; see step.h
 *
 * The step daemon is root on a real node: it takes on the user's identity for the open itself,
 * so that a name can neither reach where the user may not nor fail where root may not
 * (root-squashed mounts).  Nothing here waits for another process of the user: what would make
 * who opens it wait is opened by one of the user (opener.c). */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "stepd/io/userfile.h"
#include "stepd/io/usermount.h"
#include "stepd/io/userwrite.h"
#include "stepd/shared/spool.h"
#include "stepd/step.h"

int output_as_user(const struct step *s)
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

void output_as_self(const struct step *s)
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

/* The folder of a path, as the user.  -EWOULDBLOCK: to look at it may block. */
static int enter_parent(const struct step *s, const char *path, const char *name)
{
    _cleanup_free_ char *parent = strndup(path, (size_t)(name - path));
    int fd, r = parent ? output_as_user(s) : -ENOMEM;

    if (r < 0)
        return r;
    fd = usermount_enter(parent);
    output_as_self(s);
    if (fd >= 0 && usermount_has(fd)) {
        (void)close(fd);
        return -EWOULDBLOCK;
    }
    return fd;
}

/* Do not open a FIFO here: the process at its other end would take us for the reader or the
 * writer.  -EWOULDBLOCK: to open the file may block. */
static int open_inside(const struct step *s, int folder, const char *name, int flags)
{
    struct stat st;
    mode_t old;
    int fd;

    if (fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISFIFO(st.st_mode))
        return -EWOULDBLOCK;
    old = umask(s->umask);
    fd = usermount_open(folder, name, userfile_flags(flags) | O_NONBLOCK);
    fd = userfile_take(fd, flags);
    (void)umask(old);
    /* became a FIFO meanwhile, or cannot be opened in any way */
    return fd == -ENXIO ? -EWOULDBLOCK : fd;
}

/* Where a user's program may serve the file, even to look at it may block. */
static int open_as_user(struct step *s, const char *path, int flags)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    _cleanup_close_ int folder = -1;
    int fd, r;

    if (strcmp(path, "/dev/null") == 0) /* is no user's, and most scripts read it */
        return userfile_open(path, flags);
    folder = enter_parent(s, path, name);
    fd = folder < 0 ? folder : output_as_user(s);
    if (fd == 0) {
        fd = open_inside(s, folder, name, flags);
        output_as_self(s);
    }
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

static int create_as_user(struct step *s, const char *path, int flags)
{
    int fd = open_as_user(s, path, flags);

    if (fd != -ENOENT)
        return fd;
    opener_folders(s, path);
    return open_as_user(s, path, flags);
}

int output_open(struct step *s, const char *stream, const char *pattern, uint32_t task_id,
                bool append, int *ret_fd)
{
    _cleanup_free_ char *path = NULL;
    int fd, r = expand_path(s, pattern, task_id, &path);

    if (r < 0)
        return r;
    fd = create_as_user(s, path, O_WRONLY | O_CREAT | (append ? O_APPEND : O_TRUNC));
    if (fd < 0) {
        step_fail(s, "Could not open %s file: %s", stream, strerror(-fd));
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
        step_fail(s, "Could not open stdin file: %s", strerror(-fd));
        return fd;
    }
    *ret_fd = fd;
    return 0;
}

/* A file is written with the user's rights: his quota holds, and the kernel takes set-user-ID bits
 * from the file as it does when he writes. */
static void tell_file(const struct step *s, int fd, const char *text, size_t len)
{
    if (output_as_user(s) < 0)
        return;
    (void)!write(fd, text, len); /* there is no other place for the line */
    output_as_self(s);
}

/* The user's stream may be anything that he could open.  What can make a writer wait is written
 * through a descriptor of our own that does not wait; the user's stays as it is. */
void output_tell(const struct step *s, int fd, const char *text, size_t len)
{
    _cleanup_close_ int own = -1;
    char path[32];
    struct stat st;

    if (fd < 0)
        return;
    if (usermount_has(fd)) { /* even to ask what it is may block */
        userwrite_text(s, fd, text, len);
        return;
    }
    if (fstat(fd, &st) < 0)
        return;
    if (S_ISREG(st.st_mode)) {
        tell_file(s, fd, text, len);
        return;
    }
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    own = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    if (own >= 0)
        (void)!write(own, text, len); /* there is no other place for the line */
}
