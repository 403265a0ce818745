/* usermount.c - are there file systems on this node that programs of users may serve? */
#include "stepd/io/usermount.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/readfile.h"

#define MOUNTS_MOST (4u << 20) /* some 30,000 mounts */

/* "36 35 98:0 /root /place rw,noatime shared:1 - fuse.sshfs source rw": the type stands behind the
 * first " - "; blanks in the fields before are written as \040. */
static bool is_served(const char *line, size_t len)
{
    const char *type = memmem(line, len, " - ", 3);

    return type && strncmp(type + 3, "fuse", 4) == 0 && strncmp(type + 3, "fusectl", 7) != 0;
}

bool usermount_in(const char *mountinfo)
{
    for (const char *line = mountinfo; *line;) {
        size_t len = strcspn(line, "\n");

        if (is_served(line, len))
            return true;
        line += len + (line[len] == '\n');
    }
    return false;
}

bool usermount_any(void)
{
    _cleanup_free_ char *text = NULL;
    size_t len;

    if (readfile("/proc/self/mountinfo", MOUNTS_MOST, &text, &len) < 0)
        return true;
    return usermount_in(text);
}
