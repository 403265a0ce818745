/* userfile.c - a file that a user has named; see userfile.h */
#include "stepd/io/userfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A memory file of ours holds what the step was started with. */
static bool is_our_own(int fd)
{
    static const char memory[] = "/memfd:";
    char link[32], path[64], own[32];
    ssize_t n;

    (void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    n = readlink(link, path, sizeof(path) - 1);
    if (n < 0)
        return true;
    path[n] = '\0';
    (void)snprintf(own, sizeof(own), "/proc/%d/", getpid());
    return strncmp(path, own, strlen(own)) == 0 || strncmp(path, memory, strlen(memory)) == 0;
}

/* Once it is known that the file is the user's. */
static int empty_file(int fd, int flags)
{
    struct stat st;

    if (!(flags & O_TRUNC) || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
        return 0;
    return ftruncate(fd, 0) < 0 ? -errno : 0;
}

/* Without O_NOCTTY a terminal named as output would become ours. */
int userfile_flags(int flags)
{
    return (flags & ~O_TRUNC) | O_CLOEXEC | O_NOCTTY;
}

int userfile_take(int fd, int flags)
{
    int r = fd < 0 ? fd : is_our_own(fd) ? -EACCES : empty_file(fd, flags);

    if (r < 0 && fd >= 0)
        (void)close(fd); /* nothing was written */
    return r < 0 ? r : fd;
}

int userfile_open(const char *path, int flags)
{
    int fd = open(path, userfile_flags(flags), 0666);

    return userfile_take(fd < 0 ? -errno : fd, flags);
}
