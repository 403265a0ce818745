/* xhome.c - an entry in ~/.Xauthority; see xhome.h
 *
 * The lock is that of libXau: FILE-c is made by one alone, and linked to FILE-l.  The new file is
 * written beside the old one and renamed, so that a reader sees one of both whole. */
#include "stepd/xhome.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"

#define LOCK_TRIES 50
#define LOCK_PAUSE_NS 100000000L
#define LOCK_DEAD_S 600 /* as xauth(1) has it: an older lock is of a program that was killed */

struct names {
    char file[4096], created[4112], linked[4112], fresh[4112];
};

static void fill_names(const char *dir, struct names *n)
{
    (void)snprintf(n->file, sizeof(n->file), "%.4000s/.Xauthority", dir);
    (void)snprintf(n->created, sizeof(n->created), "%s-c", n->file);
    (void)snprintf(n->linked, sizeof(n->linked), "%s-l", n->file);
    (void)snprintf(n->fresh, sizeof(n->fresh), "%s-n", n->file);
}

static int try_lock(const struct names *n)
{
    int fd = open(n->created, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);

    if (fd < 0)
        return errno == EEXIST ? -EAGAIN : -errno;
    (void)close(fd);
    if (link(n->created, n->linked) < 0) {
        int r = errno == EEXIST ? -EAGAIN : -errno;

        (void)unlink(n->created);
        return r;
    }
    return 0;
}

static void unlock_file(const struct names *n)
{
    (void)unlink(n->created);
    (void)unlink(n->linked);
}

static int lock_file(const struct names *n)
{
    const struct timespec pause = { .tv_nsec = LOCK_PAUSE_NS };
    struct stat st;
    int r;

    if (stat(n->created, &st) == 0 && st.st_ctime + LOCK_DEAD_S < time(NULL))
        unlock_file(n);
    r = try_lock(n);

    for (int i = 0; r == -EAGAIN && i < LOCK_TRIES; i++) {
        (void)nanosleep(&pause, NULL);
        r = try_lock(n);
    }
    return r;
}

/* No file is an empty one. */
static int read_file(const char *path, struct strbuf *sb)
{
    _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
    char buf[8192];
    ssize_t n;

    if (fd < 0)
        return errno == ENOENT ? 0 : -errno;
    while ((n = read(fd, buf, sizeof(buf))) > 0) {
        strbuf_addn(sb, buf, (size_t)n);
        if (sb->len > XAUTH_FILE_MAX)
            return -EFBIG;
    }
    return n < 0 ? -errno : sb->failed ? -ENOMEM : 0;
}

static int replace_file(const struct names *n, const struct strbuf *sb)
{
    _cleanup_close_ int fd = -1;
    size_t at = 0;

    (void)unlink(n->fresh); /* of a writer that died with the lock */
    fd = open(n->fresh, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
    if (fd < 0)
        return -errno;
    while (at < sb->len) {
        ssize_t w = write(fd, sb->buf + at, sb->len - at);

        if (w < 0 && errno == EINTR)
            continue;
        if (w < 0)
            return -errno;
        at += (size_t)w;
    }
    return rename(n->fresh, n->file) < 0 ? -errno : 0;
}

int xhome_edit(const char *dir, const char *host, unsigned display,
               const struct xauth_cookie *cookie)
{
    _cleanup_val_(strbuf_done) struct strbuf before = STRBUF_INIT, after = STRBUF_INIT;
    struct names n;
    int r;

    fill_names(dir, &n);
    r = lock_file(&n);
    if (r < 0)
        return r;
    r = read_file(n.file, &before);
    if (r == 0) {
        xauthority_without(before.buf, before.len, host, display, &after);
        if (cookie)
            xauthority_add(&after, XAUTH_LOCAL, host, display, cookie);
        r = after.failed ? -ENOMEM : replace_file(&n, &after);
    }
    unlock_file(&n);
    return r;
}
