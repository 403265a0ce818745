/* threadname.c - names of a daemon's threads; see threadname.h */
#include "base/process/threadname.h"

#include <stdio.h>

#include "base/logflags.h"

void threadname_set(pthread_t thread, const char *name)
{
    char cut[16];

    (void)snprintf(cut, sizeof(cut), "%s", name); /* cut is fine */
    (void)pthread_setname_np(thread, cut);        /* a label for people only */
    log_flag(THREAD, "%s has begun", name);
}
