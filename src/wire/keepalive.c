/* keepalive.c - how the kernel asks whether a silent peer is still there; see keepalive.h */
#include "wire/keepalive.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

void keepalive_tune(int fd, const unsigned parts[KEEPALIVE_PARTS])
{
    static const struct {
        int option, usual;
    } options[KEEPALIVE_PARTS] = { [KEEPALIVE_IDLE_S] = { TCP_KEEPIDLE, 30 },
                                   [KEEPALIVE_INTERVAL_S] = { TCP_KEEPINTVL, 10 },
                                   [KEEPALIVE_PROBES] = { TCP_KEEPCNT, 3 } };
    int one = 1;

    /* All of these are improvements only. */
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    (void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof(one));
    for (unsigned i = 0; i < KEEPALIVE_PARTS; i++) {
        int value = parts[i] ? (int)parts[i] : options[i].usual;

        (void)setsockopt(fd, IPPROTO_TCP, options[i].option, &value, sizeof(value));
    }
}
