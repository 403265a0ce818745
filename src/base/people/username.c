/* username.c - see username.h */
#include "base/people/username.h"

#include <errno.h>
#include <pwd.h>
#include <stdio.h>

#define ENTRY_BYTES 4096

int username_of(uid_t uid, char *buf, size_t size)
{
    char bytes[ENTRY_BYTES];
    struct passwd pw, *found = NULL;
    int r = getpwuid_r(uid, &pw, bytes, sizeof(bytes), &found), len;

    if (r == 0 && found) {
        len = snprintf(buf, size, "%s", pw.pw_name);
    } else {
        len = snprintf(buf, size, "%u", uid);
        if (getpwnam_r(buf, &pw, bytes, sizeof(bytes), &found) != 0 || found)
            return -ENOENT;
    }
    return len >= 0 && (size_t)len < size ? 0 : -ENOENT;
}
