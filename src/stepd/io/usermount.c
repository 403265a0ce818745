/* usermount.c - does a path lead to a file system that a program of a user serves? */
#include "stepd/io/usermount.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/readfile.h"

#define MOUNTS_MOST (4u << 20) /* some 30,000 mounts */
#define FDINFO_MOST 4096u
#define MOUNT_ID "\nmnt_id:"

/* "36 35 98:0 /root /place rw,noatime shared:1 - fuse.sshfs source rw": the type stands behind the
 * first " - "; blanks in the fields before are written as \040. */
static bool type_is_served(const char *line, size_t len)
{
    const char *type = memmem(line, len, " - ", 3);

    return !type || (strncmp(type + 3, "fuse", 4) == 0 && strncmp(type + 3, "fusectl", 7) != 0);
}

bool usermount_serves(const char *mountinfo, uint64_t mount_id)
{
    for (const char *line = mountinfo; *line;) {
        size_t len = strcspn(line, "\n");

        if (strtoull(line, NULL, 10) == mount_id)
            return type_is_served(line, len);
        line += len + (line[len] == '\n');
    }
    return true; /* of another namespace, or unmounted since */
}

/* From the kernel's own memory: asking the file system (statx) might wait for its program. */
static int mount_of(int fd, uint64_t *ret)
{
    _cleanup_free_ char *text = NULL;
    char path[sizeof("/proc/self/fdinfo/-2147483648")];
    const char *at;
    size_t len;
    int r;

    snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
    if ((r = readfile(path, FDINFO_MOST, &text, &len)) < 0)
        return r;
    if (!(at = strstr(text, MOUNT_ID)))
        return -ENODATA;
    *ret = strtoull(at + strlen(MOUNT_ID), NULL, 10);
    return 0;
}

/* A pipe or a socket without a name is the kernel's own. */
static bool is_nameless(int fd)
{
    char path[sizeof("/proc/self/fd/-2147483648")], text[16];

    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    return readlink(path, text, sizeof(text)) > 0 && text[0] != '/';
}

/* Of the kernel's devices, most often: every task has one, and the table of mounts may be long. */
static bool has_devices(uint64_t mount)
{
    _cleanup_close_ int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    uint64_t devices;

    return fd >= 0 && mount_of(fd, &devices) == 0 && devices == mount;
}

bool usermount_has(int fd)
{
    _cleanup_free_ char *mounts = NULL;
    uint64_t mount;
    size_t len;

    if (is_nameless(fd))
        return false;
    if (mount_of(fd, &mount) < 0)
        return true;
    return !has_devices(mount) &&
           (readfile("/proc/self/mountinfo", MOUNTS_MOST, &mounts, &len) < 0 ||
            usermount_serves(mounts, mount));
}

/* Kernels before 5.12 know no RESOLVE_CACHED, before 5.6 no openat2(). */
static int open_resolved(int folder, const char *path, const struct open_how *how)
{
    int fd = (int)syscall(SYS_openat2, folder, path, how, sizeof(*how));

    if (fd >= 0)
        return fd;
    return errno == EINVAL || errno == ENOSYS || errno == EPERM ? -EAGAIN : -errno;
}

int usermount_enter(const char *folder)
{
    const struct open_how how = {
        .flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
        .resolve = RESOLVE_CACHED, /* EAGAIN where a file system would have to be asked */
    };
    char inside[PATH_MAX + sizeof("/.")];

    if (strlen(folder) >= PATH_MAX)
        return -ENAMETOOLONG;
    snprintf(inside, sizeof(inside), "%s/.", folder); /* needs the right to enter, as chdir() */
    return open_resolved(AT_FDCWD, inside, &how);
}

int usermount_open(int folder, const char *name, int flags)
{
    const struct open_how how = {
        .flags = (uint64_t)flags,
        .mode = flags & O_CREAT ? 0666 : 0,
        .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV,
    };
    int fd = open_resolved(folder, name, &how);

    return fd == -ELOOP || fd == -EXDEV ? -EAGAIN : fd;
}

void usermount_close(int fd)
{
    if (usermount_has(fd)) {
        /* like fork(), but the descriptors are common: it is taken out of ours, too */
        long pid = syscall(SYS_clone, CLONE_FILES | SIGCHLD, NULL, NULL, NULL, 0L);

        if (pid == 0) {
            (void)syscall(SYS_close, fd);
            (void)syscall(SYS_exit_group, 0);
        }
        if (pid > 0)
            return;
    }
    (void)close(fd); /* nothing of ours was in it */
}
