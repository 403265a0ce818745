/* beside.c - programs that are installed beside this one, or stand near it in a build folder */
#include "base/process/beside.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int beside_find(const char *const *places, size_t n, char *path, size_t size)
{
    char exe[4096];
    const char *slash;
    ssize_t len = readlink("/proc/self/exe", exe, sizeof(exe) - 1);

    if (len < 0)
        return -errno;
    if ((size_t)len == sizeof(exe) - 1)
        return -ENAMETOOLONG; /* cut: it would name another folder */
    exe[len] = '\0';
    slash = strrchr(exe, '/');
    for (size_t i = 0; slash && i < n; i++) {
        int need = snprintf(path, size, "%.*s/%s", (int)(slash - exe), exe, places[i]);

        if (need > 0 && (size_t)need < size && access(path, X_OK) == 0)
            return 0;
    }
    return -ENOENT;
}
