/* helper.c - see helper.h */
#include "stepd/shared/helper.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "stepd/shared/spool.h"

#define FD_SAFE 64

int helper_path(const char *name, char *path, size_t size)
{
    static const char *const places[] = { "", "../pmi/", "../oci/", "../cxi/", "../cli/" };
    char exe[2048], *slash;
    ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);

    if (n < 0)
        return -errno;
    exe[n] = '\0';
    slash = strrchr(exe, '/');
    for (size_t i = 0; slash && i < ARRAY_SIZE(places); i++) {
        (void)snprintf(path, size, "%.*s/%sslurmstepd-%s", (int)(slash - exe), exe, places[i],
                       name);
        if (access(path, X_OK) == 0)
            return 0;
    }
    return -ENOENT;
}

int helper_fd(int fd)
{
    int high = fcntl(fd, F_DUPFD_CLOEXEC, FD_SAFE), r = high < 0 ? -errno : high;

    if (fd >= 0)
        (void)close(fd); /* replaced */
    return r;
}

int helper_message(const ProtobufCMessage *msg)
{
    int fd = -1, r = spool_memfd(msg, FD_SAFE, &fd);

    return r < 0 ? r : fd;
}
