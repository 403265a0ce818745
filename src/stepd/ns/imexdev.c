/* imexdev.c - see imexdev.h
 *
 * Whoever can open a channel's device shares memory with everybody else who can.  So a step sees
 * the device of its own job, and the folder is empty for processes of no job. */
#include "stepd/ns/imexdev.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "stepd/ns/jobns.h"
#include "stepd/step.h"

/* What is mounted from now on stays with the step, and what the node mounts comes to it. */
static int leave_node(void)
{
    if (unshare(CLONE_NEWNS) < 0)
        return -errno;
    return mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) < 0 ? -errno : 0;
}

static int make_device(const struct step *s)
{
    const char *dir = s->sf->imex_dir;
    char path[NS_PATH_MAX];

    if (mount("tmpfs", dir, "tmpfs", MS_NOSUID | MS_NOEXEC, "size=0,mode=0755") < 0)
        return -errno;
    if (snprintf(path, sizeof(path), "%s/channel%u", dir, s->sf->imex_channel) >= (int)sizeof(path))
        return -ENAMETOOLONG;
    if (mknod(path, S_IFCHR | 0666, makedev(s->sf->imex_major, s->sf->imex_channel)) < 0)
        return -errno;
    return chmod(path, 0666) < 0 ? -errno : 0; /* whatever our umask is */
}

void imexdev_make(struct step *s)
{
    int r = 0;

    if (!s->sf->has_imex_channel || s->error || (s->ns_fd >= 0 && !s->ext))
        return;
    if (s->ns_fd < 0)
        r = leave_node();
    if (r == 0)
        r = make_device(s);
    if (r < 0)
        step_fail(s, "Could not make the device of IMEX channel %u: %s", s->sf->imex_channel,
                  strerror(-r));
}
