/* confserver.h - which controllers have the configuration of this host
 *
 * Main thread of a program that starts: DNS blocks. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define CONFSERVER_MAX 8u
#define CONFSERVER_PORT 6817u

struct confserver {
    char host[256];
    uint16_t port;
};
struct confservers {
    struct confserver list[CONFSERVER_MAX];
    size_t n;
};

/* "host[:port],...": names, IPv4 addresses, IPv6 addresses in brackets.  Errors: -EINVAL. */
int confserver_parse(const char *text, struct confservers *ret, struct err *err);

/* The SRV records of _slurmctld._tcp in the domain of this host, the lowest priority first.
 * Errors: -ENOENT there are none, -EAGAIN no name server answers, -EBADMSG its answer cannot be
 * read. */
int confserver_from_dns(struct confservers *ret, struct err *err);

/* The same from the answer of a name server.  Errors: -EBADMSG, -ENOENT. */
int confserver_read_answer(const uint8_t *answer, size_t len, struct confservers *ret);
