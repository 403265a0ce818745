/* term.c - records of terms in the journal's directory; see term.h.
 *
 * Owns nothing between calls.  Any thread.  A file is opened for each call: over a network file
 * system that is what asks the server anew. */
#include "journal/term.h"
#include "journal/format.h"
#include "journal/lebytes.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/cleanup.h"
#include "base/timefmt.h"

#define TERM_MAGIC 0x4d545350u /* "PSTM" */
#define TERM_VERSION 1u
#define HASH_AT (TERM_BYTES - 8u)
#define HOST_AT 64u
#define ADDR_AT (HOST_AT + TERM_HOST_BYTES)
#define SUCCESSOR_AT (ADDR_AT + TERM_ADDR_BYTES)
#define NAME_BYTES 64
#define NAME_DIGITS 8
#define KEPT_TERMS 64u /* a writer that slept through fewer still finds its successor's file */
#define DRIFT_PART 8   /* of a lease */

void term_encode(const struct term_record *t, uint8_t out[static TERM_BYTES])
{
    memset(out, 0, TERM_BYTES);
    put_u32(out, TERM_MAGIC);
    put_u32(out + 4, TERM_VERSION);
    put_u32(out + 8, t->term);
    put_u32(out + 12, t->lease_ms);
    put_u32(out + 16, t->flags);
    put_u32(out + 20, t->index);
    put_u64(out + 24, t->renewal);
    put_u64(out + 32, t->durable);
    put_u32(out + 40, t->port);
    put_u32(out + 44, LOG_LEVEL);
    memcpy(out + HOST_AT, t->host, strnlen(t->host, TERM_HOST_BYTES - 1));
    memcpy(out + ADDR_AT, t->addr, strnlen(t->addr, TERM_ADDR_BYTES - 1));
    memcpy(out + SUCCESSOR_AT, t->successor, strnlen(t->successor, TERM_HOST_BYTES - 1));
    put_u64(out + HASH_AT, XXH3_64bits(out, HASH_AT));
}

/* A text of at most size - 1 bytes that a person may read. */
static bool take_text(const uint8_t *at, size_t size, char *ret)
{
    size_t len = strnlen((const char *)at, size);

    if (len == size)
        return false;
    for (size_t i = 0; i < len; i++)
        if (at[i] <= ' ' || at[i] == 0x7f)
            return false;
    memcpy(ret, at, len + 1);
    return true;
}

int term_decode(const uint8_t in[static TERM_BYTES], struct term_record *ret)
{
    struct term_record t = {
        .term = get_u32(in + 8),
        .lease_ms = get_u32(in + 12),
        .flags = get_u32(in + 16),
        .index = get_u32(in + 20),
        .renewal = get_u64(in + 24),
        .durable = get_u64(in + 32),
        .port = (uint16_t)get_u32(in + 40),
        .level = (uint16_t)get_u32(in + 44),
    };

    if (get_u32(in) != TERM_MAGIC || get_u64(in + HASH_AT) != XXH3_64bits(in, HASH_AT))
        return -EBADMSG;
    if (get_u32(in + 4) != TERM_VERSION)
        return -EPROTONOSUPPORT;
    if (!t.term || get_u32(in + 40) > UINT16_MAX || get_u32(in + 44) > UINT16_MAX ||
        !take_text(in + HOST_AT, TERM_HOST_BYTES, t.host) ||
        !take_text(in + ADDR_AT, TERM_ADDR_BYTES, t.addr) ||
        !take_text(in + SUCCESSOR_AT, TERM_HOST_BYTES, t.successor))
        return -EBADMSG;
    *ret = t;
    return 0;
}

/* ---- files ----------------------------------------------------------------------------------- */

static void term_name(uint32_t term, char out[static NAME_BYTES])
{
    (void)snprintf(out, NAME_BYTES, "%08" PRIx32 ".term", term); /* always fits */
}

/* The term that the file is of; 0: it is no record. */
static uint32_t parse_name(const char *name)
{
    char again[NAME_BYTES];
    uint32_t term;

    if (strspn(name, "0123456789abcdef") != NAME_DIGITS)
        return 0;
    term = (uint32_t)strtoul(name, NULL, 16);
    term_name(term, again);
    return strcmp(name, again) == 0 ? term : 0;
}

/* fn for every term that has a record. */
static int each_term(int dir_fd, void (*fn)(void *ctx, uint32_t term), void *ctx)
{
    int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    struct dirent *e;
    int r = d ? 0 : -errno;

    if (!d) {
        if (fd >= 0)
            (void)close(fd); /* was only a handle */
        return r;
    }
    errno = 0;
    while ((e = readdir(d)))
        if (parse_name(e->d_name))
            fn(ctx, parse_name(e->d_name));
    r = -errno;
    (void)closedir(d); /* was only read */
    return r;
}

static void note_newest(void *ctx, uint32_t term)
{
    uint32_t *newest = ctx;

    *newest = MAX(*newest, term);
}

static int read_record(int dir_fd, uint32_t term, struct term_record *ret)
{
    _cleanup_close_ int fd = -1;
    uint8_t buf[TERM_BYTES];
    char name[NAME_BYTES];
    ssize_t n;
    int r;

    term_name(term, name);
    fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    n = pread(fd, buf, sizeof(buf), 0);
    if (n < 0)
        return -errno;
    r = n == (ssize_t)sizeof(buf) ? term_decode(buf, ret) : -EBADMSG;
    return r == 0 && ret->term != term ? -EBADMSG : r;
}

int term_newest(int dir_fd, struct term_record *ret)
{
    uint32_t newest = 0;
    int r = each_term(dir_fd, note_newest, &newest);

    if (r < 0)
        return r;
    *ret = (struct term_record){ .term = newest };
    if (!newest)
        return -ENOENT;
    r = read_record(dir_fd, newest, ret);
    if (r < 0)
        *ret = (struct term_record){ .term = newest };
    return r == -ENOENT ? -EBADMSG : r;
}

/* Write t to the open file, whole, and on to the disk. */
static int write_record(int fd, const struct term_record *t)
{
    uint8_t buf[TERM_BYTES];
    ssize_t n;

    term_encode(t, buf);
    n = pwrite(fd, buf, sizeof(buf), 0);
    if (n < 0)
        return -errno;
    if (n != (ssize_t)sizeof(buf))
        return -EIO;
    return fdatasync(fd) < 0 ? -errno : 0;
}

int term_claim(int dir_fd, const struct term_record *t)
{
    _cleanup_close_ int fd = -1;
    char name[NAME_BYTES], tmp[2 * NAME_BYTES];
    int r;

    term_name(t->term, name);
    /* a name of our own: of two that claim one term, each has its file */
    (void)snprintf(tmp, sizeof(tmp), "%s.%.63s.%d", name, t->host, (int)getpid());
    if (strchr(tmp, '/'))
        return -EINVAL;
    fd = openat(dir_fd, tmp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0)
        return -errno;
    r = write_record(fd, t);
    if (r == 0 && linkat(dir_fd, tmp, dir_fd, name, 0) < 0)
        r = -errno;
    (void)unlinkat(dir_fd, tmp, 0); /* costs a file when it stays */
    if (r == 0 && fsync(dir_fd) < 0)
        r = -errno;
    return r;
}

int term_renew(int dir_fd, const struct term_record *t)
{
    _cleanup_close_ int fd = -1;
    char name[NAME_BYTES];

    term_name(t->term, name);
    fd = openat(dir_fd, name, O_WRONLY | O_CLOEXEC);
    return fd < 0 ? -errno : write_record(fd, t);
}

bool term_is_over(int dir_fd, uint32_t term)
{
    char name[NAME_BYTES];
    int fd;

    term_name(term + 1, name);
    fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return errno != ENOENT;
    (void)close(fd); /* it is there: that is all */
    return true;
}

struct forgetting {
    int dir_fd;
    uint32_t newest;
};

static void forget_old(void *ctx, uint32_t term)
{
    const struct forgetting *f = ctx;
    char name[NAME_BYTES];

    if (term >= f->newest || f->newest - term < KEPT_TERMS)
        return;
    term_name(term, name);
    (void)unlinkat(f->dir_fd, name, 0); /* costs a file when it stays */
}

/* Remove records that nobody needs any more, seen from the newest term. */
static void term_forget(int dir_fd, uint32_t newest)
{
    struct forgetting f = { dir_fd, newest };

    (void)each_term(dir_fd, forget_old, &f); /* the next writer tries again */
}

/* ---- as a store ------------------------------------------------------------------------------ */

static int files_newest(void *ctx, struct term_record *ret)
{
    return term_newest((int)(intptr_t)ctx, ret);
}

static int files_claim(void *ctx, const struct term_record *t)
{
    return term_claim((int)(intptr_t)ctx, t);
}

static int files_renew(void *ctx, const struct term_record *t)
{
    return term_renew((int)(intptr_t)ctx, t);
}

static bool files_is_over(void *ctx, uint32_t term)
{
    return term_is_over((int)(intptr_t)ctx, term);
}

static void files_forget(void *ctx, uint32_t newest)
{
    term_forget((int)(intptr_t)ctx, newest);
}

struct term_store term_files(int dir_fd)
{
    return (struct term_store){ files_newest,  files_claim,  files_renew,
                                files_is_over, files_forget, (void *)(intptr_t)dir_fd };
}

/* ---- leases ---------------------------------------------------------------------------------- */

int64_t term_clock_us(void)
{
    struct timespec ts;

    (void)clock_gettime(CLOCK_BOOTTIME, &ts); /* cannot fail */
    return ts.tv_sec * USEC_PER_SEC + ts.tv_nsec / 1000;
}

static int64_t lease_us(const struct term_record *t)
{
    return (int64_t)t->lease_ms * 1000;
}

int64_t lease_until_us(const struct term_record *t, int64_t began_us)
{
    return t->lease_ms ? began_us + lease_us(t) - lease_us(t) / DRIFT_PART : INT64_MAX;
}

void lease_watch_see(struct lease_watch *w, const struct term_record *t, int64_t now_us)
{
    if (w->seen_us && w->term == t->term && w->renewal == t->renewal)
        return;
    *w = (struct lease_watch){ .term = t->term, .renewal = t->renewal, .seen_us = now_us };
}

int64_t lease_watch_left_us(const struct lease_watch *w, const struct term_record *t,
                            int64_t now_us)
{
    if (!t->lease_ms)
        return INT64_MAX;
    if (!w->seen_us)
        return lease_us(t);
    return w->seen_us + lease_us(t) - now_us;
}
