/* nspath.c - see nspath.h
 *
 * One name after the other, so that what was looked at is what is gone into. */
#include "stepd/ns/nspath.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "stepd/ns/jobns.h"

#define LINKS_MAX 40u

struct walk {
    int fd;
    unsigned links;
    char left[NS_PATH_MAX];
};

static int go_to(struct walk *w, int fd)
{
    if (w->fd >= 0)
        (void)close(w->fd); /* was only a handle */
    w->fd = fd;
    return fd < 0 ? -errno : 0;
}

static int begin_at_root(struct walk *w)
{
    return go_to(w, open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
}

/* What the link says, and then what is left of the path. */
static int follow_link(struct walk *w, int link_fd, const struct stat *st, const char *rest)
{
    char text[NS_PATH_MAX];
    ssize_t n;
    size_t len = strlen(rest);

    if (st->st_uid != 0 && st->st_uid != geteuid())
        return -EPERM;
    if (++w->links > LINKS_MAX)
        return -ELOOP;
    n = readlinkat(link_fd, "", text, sizeof(text));
    if (n < 0)
        return -errno;
    if ((size_t)n + 1 + len >= sizeof(w->left))
        return -ENAMETOOLONG;
    memmove(w->left + n + 1, rest, len + 1);
    memcpy(w->left, text, (size_t)n);
    w->left[n] = '/';
    return w->left[0] == '/' ? begin_at_root(w) : 0;
}

static int take_name(struct walk *w)
{
    char name[NAME_MAX + 1], *rest = w->left + strspn(w->left, "/");
    size_t len = strcspn(rest, "/");
    _cleanup_close_ int fd = -1;
    struct stat st;

    if (len >= sizeof(name))
        return -ENAMETOOLONG;
    memcpy(name, rest, len);
    name[len] = '\0';
    rest += len;
    fd = openat(w->fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) < 0)
        return -errno;
    if (S_ISLNK(st.st_mode))
        return follow_link(w, fd, &st, rest);
    if (!S_ISDIR(st.st_mode))
        return -ENOTDIR;
    memmove(w->left, rest, strlen(rest) + 1);
    return go_to(w, TAKE_FD(fd));
}

int nspath_open(const char *path, int *ret_fd)
{
    struct walk w = { .fd = -1 };
    int r = path[0] == '/' ? 0 : -EINVAL;

    if (r == 0 && snprintf(w.left, sizeof(w.left), "%s", path) >= (int)sizeof(w.left))
        r = -ENAMETOOLONG;
    if (r == 0)
        r = begin_at_root(&w);
    while (r == 0 && w.left[strspn(w.left, "/")])
        r = take_name(&w);
    if (r == 0)
        *ret_fd = w.fd;
    else if (w.fd >= 0)
        (void)close(w.fd); /* as above */
    return r;
}
