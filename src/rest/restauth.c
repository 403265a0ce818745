/* restauth.c - whose request it is; see restauth.h */
#include "rest/restauth.h"

#include <arpa/inet.h>
#include <microhttpd.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "cli/query/out_users.h"

#define BEARER "Bearer "
#define WORD_MAX 8192u

static int socket_of(struct MHD_Connection *conn)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(conn, MHD_CONNECTION_INFO_CONNECTION_FD);

    return info ? info->connect_fd : -1;
}

/* The address that the caller reached, as meta shows it: "[::1]:6820(fd:9)". */
static void tell_source(int fd, char *text, size_t size)
{
    union {
        struct sockaddr any;
        struct sockaddr_in in;
        struct sockaddr_in6 in6;
        struct sockaddr_un un;
        struct sockaddr_storage room;
    } a = { .any.sa_family = AF_UNSPEC };
    socklen_t len = sizeof(a);
    char host[INET6_ADDRSTRLEN] = "";

    if (getsockname(fd, &a.any, &len) < 0)
        len = 0;
    if (a.any.sa_family == AF_INET && inet_ntop(AF_INET, &a.in.sin_addr, host, sizeof(host)))
        (void)snprintf(text, size, "%s:%u(fd:%d)", host, ntohs(a.in.sin_port), fd);
    else if (a.any.sa_family == AF_INET6 &&
             inet_ntop(AF_INET6, &a.in6.sin6_addr, host, sizeof(host)))
        (void)snprintf(text, size, "[%s]:%u(fd:%d)", host, ntohs(a.in6.sin6_port), fd);
    else
        (void)snprintf(text, size, "unix:%.90s(fd:%d)",
                       a.any.sa_family == AF_UNIX && len > sizeof(sa_family_t) ? a.un.sun_path : "",
                       fd);
}

static const char *header_of(struct MHD_Connection *conn, const char *name)
{
    const char *value = MHD_lookup_connection_value(conn, MHD_HEADER_KIND, name);

    return value && value[0] && strlen(value) <= WORD_MAX ? value : NULL;
}

static const char *token_of(struct MHD_Connection *conn)
{
    const char *bearer = header_of(conn, "Authorization");
    const char *token = header_of(conn, "X-SLURM-USER-TOKEN");

    if (token)
        return token;
    return bearer && strncasecmp(bearer, BEARER, strlen(BEARER)) == 0 && bearer[strlen(BEARER)]
               ? bearer + strlen(BEARER)
               : NULL;
}

/* The plain end of an encrypted connection is a UNIX socket too, and its other end is ourselves:
 * the address that came with it is the caller's. */
static bool is_from_unix(struct MHD_Connection *conn)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(conn, MHD_CONNECTION_INFO_CLIENT_ADDRESS);

    return info && info->client_addr && info->client_addr->sa_family == AF_UNIX;
}

/* The user at the other end of a UNIX socket, when that is enough. */
static bool is_local(const struct rest *rest, struct MHD_Connection *conn, int fd,
                     struct rest_caller *caller)
{
    struct ucred cred;
    socklen_t len = sizeof(cred);

    if (!rest->config.local || !is_from_unix(conn) ||
        getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) < 0 || len != sizeof(cred) ||
        cred.pid <= 0)
        return false;
    if (cred.uid == geteuid() || (cred.uid == 0 && !rest->config.become_user))
        return true;
    if (!rest->config.become_user)
        return false;
    caller->name = user_name_of(cred.uid);
    return strcmp(caller->name, "nobody") != 0;
}

void restauth_nobody(struct MHD_Connection *conn, struct rest_caller *caller)
{
    tell_source(socket_of(conn), caller->source, sizeof(caller->source));
}

bool restauth_caller(struct rest *rest, struct MHD_Connection *conn, struct rest_caller *caller)
{
    int fd = socket_of(conn);

    tell_source(fd, caller->source, sizeof(caller->source));
    caller->token = rest->config.jwt ? token_of(conn) : NULL;
    if (!caller->token)
        return is_local(rest, conn, fd, caller);
    caller->name = header_of(conn, "X-SLURM-USER-NAME");
    return true;
}
