/* closeout.c - see closeout.h */
#include "base/process/closeout.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

/* A stream keeps no reason of a write that failed before.  Whoever ends at once after one leaves
 * it in errno.  0: it is not known. */
static int known_reason(int at_exit)
{
    static const int reasons[] = { ENOSPC, EDQUOT, EFBIG, EPIPE, EIO };

    for (size_t i = 0; i < ARRAY_SIZE(reasons); i++)
        if (at_exit == reasons[i])
            return at_exit;
    return 0;
}

/* What is left is written, and what the system has is on its way.  0 or the errno. */
static int write_rest(void)
{
    int fd;

    if (fflush(stdout) != 0)
        return errno;
    fd = dup(STDOUT_FILENO);
    if (fd >= 0 && close(fd) < 0) /* a file of another machine may tell only now */
        return errno;
    return 0;
}

static void close_output(int status, void *program)
{
    const int before = ferror(stdout) ? known_reason(errno) : 0;
    const bool failed = ferror(stdout);
    int why = write_rest();

    if (!failed && !why)
        return;
    why = why ? why : before;
    if (why != EPIPE)
        (void)fprintf(stderr, "%s: error: the output is not complete: %s\n", (const char *)program,
                      why ? strerror(why) : "a write failed");
    __fpurge(stdout);
    clearerr(stdout);
    if (status == 0)
        _exit(EXIT_FAILURE);
}

int closeout_begin(const char *program)
{
    return on_exit(close_output, (void *)program) == 0 ? 0 : -ENOMEM;
}
