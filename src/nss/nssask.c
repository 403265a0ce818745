/* nssask.c - see nssask.h
 *
 * readdir() would allocate, so folders are read with getdents64().  The caller may have a file
 * limit, a sandbox or a full table of descriptors: whatever fails ends this job's part, no more. */
#include "nss/nssask.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define FOLDER (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

struct search {
    int64_t end_ms;
    unsigned connects;
    uid_t owner; /* of the spool */
    nssask_fn *fn;
    void *ctx;
    bool busy;
    char own[24]; /* "job12." */
    /* what one folder, and the answer, need */
    _Alignas(8) char jobs[16384];
    _Alignas(8) char steps[4096];
    char text[NSSTEXT_MAX + 2];
};

static int64_t clock_ms(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static bool time_over(struct search *s)
{
    if (s->connects < NSSASK_CONNECTS && clock_ms() < s->end_ms)
        return false;
    s->busy = true;
    return true;
}

/* A connection to a socket of a folder, of somebody who may tell; else a negative errno. */
static int connect_step(struct search *s, int folder, const char *name)
{
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), r;
    struct sockaddr_un sa = { .sun_family = AF_UNIX };
    struct ucred peer;
    socklen_t len = sizeof(peer);

    if (fd < 0)
        return -errno;
    s->connects++;
    r = snprintf(sa.sun_path, sizeof(sa.sun_path), "/proc/self/fd/%d/%s", folder, name);
    if (r >= (int)sizeof(sa.sun_path))
        r = -ENAMETOOLONG;
    else if (connect(fd, (struct sockaddr *)&sa, sizeof(sa)) < 0 ||
             getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0)
        r = -errno;
    else
        r = peer.uid == 0 || peer.uid == s->owner ? 0 : -EPERM;
    if (r == 0)
        return fd;
    (void)close(fd);
    return r;
}

/* The bytes of an answer; 0 none came. */
static size_t receive_text(struct search *s, int fd)
{
    struct pollfd p = { .fd = fd, .events = POLLIN };
    ssize_t n = -1;

    do {
        int64_t left = s->end_ms - clock_ms();

        if (left <= 0 || (poll(&p, 1, (int)left) < 0 && errno != EINTR))
            break;
        n = recv(fd, s->text, NSSTEXT_MAX + 1, MSG_DONTWAIT);
    } while (n < 0 && (errno == EINTR || errno == EAGAIN));
    if (n < 0)
        s->busy = true;
    return n > 0 ? (size_t)n : 0;
}

/* 1: found; 0: this step's job has been heard, or is none of the caller's; -1: ask another step. */
static int ask_step(struct search *s, int folder, const char *name)
{
    int fd = connect_step(s, folder, name);
    struct nss_user user;
    size_t len;

    if (fd < 0) {
        s->busy = s->busy || fd == -EAGAIN || fd == -EMFILE || fd == -ENFILE;
        return fd == -EACCES ? 0 : -1;
    }
    len = receive_text(s, fd);
    (void)close(fd);
    if (!len || !nsstext_parse(s->text, len, &user))
        return -1;
    return s->fn(s->ctx, &user) == 1;
}

static bool ask_job(struct search *s, int spool, const char *job)
{
    char path[300];
    int folder, r = -1;
    ssize_t n;

    if (snprintf(path, sizeof(path), "%s/nss", job) >= (int)sizeof(path))
        return false;
    folder = openat(spool, path, FOLDER);
    if (folder < 0)
        return false;
    while (r < 0 && (n = getdents64(folder, s->steps, sizeof(s->steps))) > 0) {
        for (ssize_t at = 0; r < 0 && at < n;) {
            const struct dirent64 *e = (const struct dirent64 *)(const void *)(s->steps + at);

            at += e->d_reclen;
            if (e->d_name[0] == '.')
                continue;
            if (time_over(s))
                break;
            r = ask_step(s, folder, e->d_name);
        }
        if (s->connects >= NSSASK_CONNECTS)
            break;
    }
    (void)close(folder);
    return r == 1;
}

/* The caller's own job, or all others. */
static bool ask_jobs(struct search *s, int spool, bool own)
{
    const size_t own_len = strlen(s->own);
    bool found = false;
    ssize_t n;

    if ((own && !own_len) || lseek(spool, 0, SEEK_SET) < 0)
        return false;
    while (!found && (n = getdents64(spool, s->jobs, sizeof(s->jobs))) > 0) {
        for (ssize_t at = 0; !found && at < n;) {
            const struct dirent64 *e = (const struct dirent64 *)(const void *)(s->jobs + at);

            at += e->d_reclen;
            if (strncmp(e->d_name, "job", 3) != 0 ||
                (own_len && strncmp(e->d_name, s->own, own_len) == 0) != own)
                continue;
            if (time_over(s))
                return false;
            found = ask_job(s, spool, e->d_name);
        }
    }
    return found;
}

/* A hint alone: whoever sets the variable changes the order, no more. */
static void note_own(struct search *s)
{
    const char *id = secure_getenv("SLURM_JOB_ID");

    s->own[0] = '\0';
    if (id && *id && strlen(id) <= 10 && strspn(id, "0123456789") == strlen(id))
        (void)snprintf(s->own, sizeof(s->own), "job%s.", id);
}

bool nssask_find(const char *spool, nssask_fn *fn, void *ctx, bool *ret_busy)
{
    int fd = open(spool, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct search *s = MAP_FAILED;
    struct stat st;
    bool found = false;

    if (fd < 0)
        return false;
    /* in a folder where anybody may write, anybody could be a step daemon */
    if (fstat(fd, &st) == 0 && !(st.st_mode & S_IWOTH))
        s = mmap(NULL, sizeof(*s), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (s != MAP_FAILED) {
        s->end_ms = clock_ms() + NSSASK_MS;
        s->owner = st.st_uid;
        s->fn = fn;
        s->ctx = ctx;
        note_own(s);
        found = ask_jobs(s, fd, true) || ask_jobs(s, fd, false);
        *ret_busy = *ret_busy || s->busy;
        (void)munmap(s, sizeof(*s));
    }
    (void)close(fd);
    return found;
}
