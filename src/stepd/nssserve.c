/* nssserve.c - see nssserve.h
 *
 * Nothing is read from whoever connects, and nothing waits for him: the text is one packet, which
 * fits into the buffer of a new connection.  One connection a turn of the loop, so that a user who
 * connects without pause only slows his own step. */
#include "stepd/nssserve.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "stepd/shared/ctl.h"
#include "stepd/shared/spool.h"
#include "stepd/step.h"

#define PATH_BYTES 32

static const char *socket_path(const struct step *s, char *buf)
{
    char num[16];
    const char *name = step_id_name(s->sf->step_id, num, sizeof(num));

    (void)snprintf(buf, PATH_BYTES, "../nss/%s%s", name == num ? "step" : "", name);
    return buf;
}

void nssserve_start(struct step *s)
{
    char path[PATH_BYTES];
    int r;

    if (!s->sf->nss_text.len)
        return;
    (void)unlink(socket_path(s, path)); /* of a step daemon that was killed */
    r = ctl_listen(path, &s->nss_fd);
    /* the folder is root's: the user can connect, not put another socket there */
    if (r == 0 && geteuid() == 0 && lchown(path, s->uid, (gid_t)-1) < 0)
        r = -errno;
    if (r < 0) {
        log_error("no answers for nss_slurm: %s", strerror(-r));
        nssserve_done(s);
    }
}

void nssserve_tell(struct step *s)
{
    _cleanup_close_ int fd = accept4(s->nss_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    struct ucred cred;
    socklen_t len = sizeof(cred);

    if (fd < 0 || getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) < 0 ||
        (cred.uid != 0 && cred.uid != s->uid && cred.uid != getuid()))
        return;
    (void)send(fd, s->sf->nss_text.data, s->sf->nss_text.len,
               MSG_NOSIGNAL | MSG_DONTWAIT); /* he is gone, or asks again */
}

void nssserve_done(struct step *s)
{
    char path[PATH_BYTES];

    if (s->nss_fd < 0)
        return;
    (void)close(s->nss_fd);
    s->nss_fd = -1;
    (void)unlink(socket_path(s, path));
}
