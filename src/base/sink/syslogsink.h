/* syslogsink.h - lines of the log for the system's log too
 *
 * Off at first.  Datagrams to the socket of syslog(3), without waiting: a system's log that hangs
 * or is not there holds up no daemon, and its lines are lost.  Thread-safe.  Levels are those of
 * base/log.h, as numbers: this stands below it. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/un.h>

struct syslogsink { /* held by value; its members are syslogsink.c's own */
    pthread_mutex_t lock;
    struct sockaddr_un addr;
    int fd; /* -1: none yet */
    atomic_int level;
};
#define SYSLOGSINK_INIT                                                                            \
    {                                                                                              \
        .lock = PTHREAD_MUTEX_INITIALIZER, .fd = -1                                                \
    }

/* From now on lines up to this level go to the socket at path.  0, or a path that is too long:
 * none. */
void syslogsink_set(struct syslogsink *s, int level, const char *path);

/* The least important level that is sent, 0 = none is. */
int syslogsink_level(const struct syslogsink *s);

/* Send a line, without an end of line, from a program of this name, with a severity of syslog(3),
 * 0 to 7. */
void syslogsink_send(struct syslogsink *s, const char *program, int severity, const char *text,
                     size_t n);
