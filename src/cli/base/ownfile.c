/* ownfile.c - see ownfile.h */
#include "cli/base/ownfile.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

/* No link is followed, and no reader of a FIFO waited for. */
#define CAREFUL (O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)

static bool is_plain(const struct stat *st)
{
    return S_ISREG(st->st_mode) && st->st_nlink == 1;
}

int ownfile_create(const char *path, mode_t mode)
{
    _cleanup_close_ int fd = open(path, O_WRONLY | O_CREAT | CAREFUL, mode);
    struct stat st;

    if (fd < 0)
        return errno == ELOOP || errno == ENXIO ? -EEXIST : -errno;
    if (fstat(fd, &st) < 0)
        return -errno;
    if (!is_plain(&st))
        return -EEXIST;
    return ftruncate(fd, 0) < 0 ? -errno : TAKE_FD(fd);
}

int ownfile_for(const char *path, bool replace, uid_t uid)
{
    _cleanup_close_ int fd = open(path, O_RDWR | O_CREAT | O_EXCL | CAREFUL, 0600);
    struct stat st;

    if (fd >= 0)
        return TAKE_FD(fd);
    if (errno != EEXIST || !replace)
        return -errno;
    fd = open(path, O_RDWR | CAREFUL);
    if (fd < 0)
        return errno == ELOOP ? -EPERM : -errno;
    if (fstat(fd, &st) < 0)
        return -errno;
    return is_plain(&st) && (geteuid() != 0 || st.st_uid == uid) ? TAKE_FD(fd) : -EPERM;
}
