/* syslogsink.c - lines of the log for the system's log too; see syslogsink.h
 *
 * The socket is not connected: the system's log may start after us, and again.  <syslog.h> is not
 * included: its names are those of base/log.h. */
#include "base/sink/syslogsink.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define DATAGRAM_MAX_BYTES 2048u /* what old system logs take */
#define FACILITY_DAEMON (3 << 3)

void syslogsink_set(struct syslogsink *s, int level, const char *path)
{
    if (strlen(path) >= sizeof(s->addr.sun_path))
        level = 0;
    (void)pthread_mutex_lock(&s->lock); /* fails only on misuse */
    if (level > 0) {
        s->addr = (struct sockaddr_un){ .sun_family = AF_UNIX };
        memcpy(s->addr.sun_path, path, strlen(path) + 1);
    }
    if (level > 0 && s->fd < 0)
        s->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    atomic_store(&s->level, s->fd < 0 ? 0 : level);
    (void)pthread_mutex_unlock(&s->lock);
}

int syslogsink_level(const struct syslogsink *s)
{
    return atomic_load_explicit(&s->level, memory_order_relaxed);
}

void syslogsink_send(struct syslogsink *s, const char *program, int severity, const char *text,
                     size_t n)
{
    char line[DATAGRAM_MAX_BYTES];
    size_t head =
        (size_t)snprintf(line, sizeof(line), "<%d>%.60s[%d]: ", FACILITY_DAEMON | severity,
                         program ? program : "", (int)getpid());

    if (n > sizeof(line) - head)
        n = sizeof(line) - head;
    memcpy(line + head, text, n);
    (void)pthread_mutex_lock(&s->lock);
    if (s->fd >= 0) /* a line that cannot be sent has nowhere to be told */
        (void)sendto(s->fd, line, head + n, MSG_NOSIGNAL, (const struct sockaddr *)&s->addr,
                     sizeof(s->addr));
    (void)pthread_mutex_unlock(&s->lock);
}
