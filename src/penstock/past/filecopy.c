/* filecopy.c - files copied with their checksums; see filecopy.h */
#include "penstock/past/filecopy.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

#define PIECE 65536

static int write_all(int fd, const uint8_t *buf, size_t n)
{
    while (n) {
        ssize_t w = write(fd, buf, n);

        if (w < 0 && errno != EINTR)
            return -errno;
        if (w > 0) {
            buf += w;
            n -= (size_t)w;
        }
    }
    return 0;
}

/* To no file when `to` is negative. */
static int copy_bytes(int from, int to, uint64_t bytes, uint64_t *ret_bytes, struct digest_run *run)
{
    uint8_t buf[PIECE];
    uint64_t done = 0;
    int r = 0;

    while (r == 0 && done < bytes) {
        ssize_t n = read(from, buf, MIN(bytes - done, (uint64_t)sizeof(buf)));

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        if (n == 0)
            break;
        done += (uint64_t)n;
        r = digest_add(run, buf, (size_t)n);
        if (r == 0 && to >= 0)
            r = write_all(to, buf, (size_t)n);
    }
    *ret_bytes = done;
    return r < 0 ? r : bytes != UINT64_MAX && done < bytes ? -EIO : 0;
}

static int open_regular(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    struct stat st;

    if (fd < 0)
        return -errno;
    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
        (void)close(fd);
        return -EINVAL;
    }
    return fd;
}

static int copy_open(int from, int to, uint64_t bytes, uint64_t *ret_bytes,
                     struct digest *ret_digest)
{
    struct digest_run *run = NULL;
    uint64_t n = 0;
    int r = digest_begin(&run);

    if (r == 0)
        r = copy_bytes(from, to, bytes, &n, run);
    if (r == 0 && to >= 0 && fsync(to) < 0)
        r = -errno;
    if (r < 0) {
        (void)digest_drop(run); /* always NULL */
        return r;
    }
    *ret_bytes = n;
    return digest_end(run, ret_digest);
}

int filecopy(const char *from, const char *to, uint64_t bytes, unsigned mode, uint64_t *ret_bytes,
             struct digest *ret_digest, struct err *err)
{
    _cleanup_close_ int in = open_regular(from), out = -1;
    int r;

    if (in < 0)
        return err_set(err, in, "%s: %s", from,
                       in == -EINVAL ? "not a file" : strerrordesc_np(-in));
    out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
    if (out < 0 || fchmod(out, mode) < 0)
        return err_set(err, -errno, "%s: %s", to, strerror(errno));
    r = copy_open(in, out, bytes, ret_bytes, ret_digest);
    return r < 0 ? err_set(err, r, "%s cannot be copied to %s: %s", from, to, strerrordesc_np(-r))
                 : 0;
}

int filecopy_digest(const char *path, uint64_t *ret_bytes, struct digest *ret_digest,
                    struct err *err)
{
    _cleanup_close_ int in = open_regular(path);
    int r = in < 0 ? in : copy_open(in, -1, UINT64_MAX, ret_bytes, ret_digest);

    return r < 0 ? err_set(err, r, "%s: %s", path, strerrordesc_np(-r)) : 0;
}

int filecopy_sync_folder(const char *path, struct err *err)
{
    _cleanup_close_ int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    return fd < 0 || fsync(fd) < 0 ? err_set(err, -errno, "%s: %s", path, strerror(errno)) : 0;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    (void)remove(path); /* what stays is told by its being there */
    return 0;
}

void filecopy_remove(const char *path)
{
    (void)nftw(path, remove_one, 8, FTW_DEPTH | FTW_PHYS); /* likewise */
}
