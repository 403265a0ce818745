/* threadname.h - names of a daemon's threads, for ps, top and the log */
#pragma once

#include <pthread.h>

/* Give the thread its name, of which the system keeps 15 bytes.  With DebugFlags=Thread the log has
 * a line.  Any thread may call. */
void threadname_set(pthread_t thread, const char *name);
