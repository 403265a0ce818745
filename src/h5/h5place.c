/* h5place.c - see h5place.h
 *
 * A file is written under a name of its own and renamed when it is whole: nobody sees half of one,
 * and a full disk leaves nothing behind. */
#include "h5/h5place.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

#define OLDER_MAX 1000u
#define FOLDER (O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

static int say_errno(struct err *err, const char *what)
{
    int r = -errno;

    return err_set(err, r, "%s: %s", what, strerror(-r));
}

int h5place_root(const char *dir, int *ret_fd, struct err *err)
{
    _cleanup_close_ int fd = -1;
    char what[512];
    struct stat st;

    (void)snprintf(what, sizeof(what), "ProfileHDF5Dir=%s", dir); /* cut is fine */
    fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT && (mkdir(dir, 0755) == 0 || errno == EEXIST))
        fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) < 0)
        return say_errno(err, what);
    if ((st.st_uid != 0 && st.st_uid != geteuid()) || (st.st_mode & 022))
        return err_set(err, -EPERM, "%s: it must belong to root, and nobody else may write to it",
                       what);
    *ret_fd = TAKE_FD(fd);
    return 0;
}

int h5place_user(int root_fd, const struct h5head *head, int *ret_fd, struct err *err)
{
    _cleanup_close_ int fd = openat(root_fd, head->user, FOLDER);
    struct stat st;

    if (fd < 0 && errno == ENOENT && (mkdirat(root_fd, head->user, 0700) == 0 || errno == EEXIST))
        fd = openat(root_fd, head->user, FOLDER);
    if (fd < 0 || fstat(fd, &st) < 0)
        return say_errno(err, head->user);
    if (st.st_uid != head->uid && st.st_uid == geteuid() && !(st.st_mode & 077)) {
        if (fchownat(fd, "", head->uid, head->gid, AT_EMPTY_PATH) < 0)
            return say_errno(err, head->user);
        st.st_uid = head->uid;
    }
    if (st.st_uid != head->uid)
        return err_set(err, -EPERM, "the folder %s is not that of user %u", head->user, head->uid);
    *ret_fd = TAKE_FD(fd);
    return 0;
}

int h5place_become(const struct h5head *head, struct err *err)
{
    if (geteuid() != 0)
        return 0;
    if (setgroups(0, NULL) < 0 || setresgid(head->gid, head->gid, head->gid) < 0 ||
        setresuid(head->uid, head->uid, head->uid) < 0)
        return say_errno(err, head->user);
    return 0;
}

static int write_all(int fd, const char *data, size_t len)
{
    while (len) {
        ssize_t n = write(fd, data, len);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        data += n;
        len -= (size_t)n;
    }
    return 0;
}

/* What has this name gets another one. */
static int move_older(int dir_fd, const char *name)
{
    char older[NAME_MAX + 16];

    for (unsigned i = 1; i <= OLDER_MAX; i++) {
        (void)snprintf(older, sizeof(older), "%s.%u", name, i);
        if (faccessat(dir_fd, older, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
            continue;
        if (renameat(dir_fd, name, dir_fd, older) == 0 || errno == ENOENT)
            return 0;
        return -errno;
    }
    return -EEXIST;
}

int h5place_put(int user_fd, const char *name, const void *data, size_t len, struct err *err)
{
    char temp[NAME_MAX + 32];
    _cleanup_close_ int fd = -1;
    int r;

    (void)snprintf(temp, sizeof(temp), ".%s.%d", name, (int)getpid());
    (void)unlinkat(user_fd, temp, 0); /* of a process that had our number, if any */
    fd = openat(user_fd, temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return say_errno(err, name);
    r = write_all(fd, data, len);
    if (r == 0 && close(TAKE_FD(fd)) < 0)
        r = -errno;
    if (r == 0)
        r = move_older(user_fd, name);
    if (r == 0 && renameat(user_fd, temp, user_fd, name) < 0)
        r = -errno;
    if (r < 0) {
        (void)unlinkat(user_fd, temp, 0); /* best effort */
        return err_set(err, r, "%s: %s", name, strerror(-r));
    }
    return 0;
}
