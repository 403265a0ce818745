/* segment.c - writing one log file; see segment.h.
 *
 * Owns the descriptor of the segment being written.  Space is preallocated in chunks, and zeros are
 * written ahead of the records, so that the sync of a batch writes neither the file's size nor that
 * its blocks are in use now; the zeros behind the last record mean "the end". After a failed
 * fdatasync the kernel may report the same pages clean although they never reached the disk, hence
 * `suspect`.  Writer thread (or journal_open/close while that does not run). Design note 0001,
 * "Writing". */
#include "journal/segment.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/statvfs.h>

#include "base/process/failpoint.h"
#include "base/timefmt.h"
#include "journal/files.h"
#include "journal/format.h"

#define ZEROS_AHEAD (256u << 10)

static uint64_t round_up(uint64_t n, uint64_t to)
{
    return (n + to - 1) / to * to;
}

static int check_reserve(int fd, uint64_t reserve, uint64_t more)
{
    struct statvfs vfs;

    if (!reserve)
        return 0;
    if (fstatvfs(fd, &vfs) < 0)
        return -errno;
    return (uint64_t)vfs.f_bavail * vfs.f_frsize < reserve + more ? -ENOSPC : 0;
}

static int extend_file(struct segment *s, const struct segment_policy *p, uint64_t to)
{
    int r = check_reserve(s->fd, p->reserve_bytes, to - s->allocated);

    if (r < 0)
        return r;
    if (failpoint("journal.grow.enospc"))
        return -ENOSPC;
    do {
        r = fallocate(s->fd, 0, (off_t)s->allocated, (off_t)(to - s->allocated)) < 0 ? -errno : 0;
    } while (r == -EINTR);
    if (r == -EOPNOTSUPP)
        return 0; /* then every write grows the file: slower, as safe */
    if (r == 0)
        s->allocated = to;
    return r;
}

/* Have space for everything below `end`: a whole chunk, or near a full disk just what is needed.
 * Chunks grow with the file: of a controller that was killed soon, and whose term is over, little
 * stays behind. */
static int grow_file(struct segment *s, const struct segment_policy *p, uint64_t end)
{
    uint64_t chunk = MIN(MAX(p->segment_bytes / 4, SEGMENT_CHUNK_MIN), SEGMENT_CHUNK_MAX);
    int r;

    if (end <= s->allocated)
        return 0;
    chunk = MIN(chunk, MAX(SEGMENT_CHUNK_FIRST, round_up(s->allocated, SEGMENT_CHUNK_MIN)));
    r = extend_file(s, p, round_up(end, chunk));
    if (r == -ENOSPC || r == -EFBIG || r == -EDQUOT)
        r = extend_file(s, p, end);
    return r;
}

/* Have zeros written from the end of what was before up to well behind `end`, within the space that
 * is there.  The sync of a batch takes them to the disk, one in many batches.  Where that fails the
 * next syncs are slower, and as safe. */
static void write_zeros(struct segment *s, uint64_t end)
{
    static const uint8_t zeros[16u << 10];
    uint64_t from = MAX(s->zeroed, s->offset), to = MIN(round_up(end, ZEROS_AHEAD), s->allocated);

    while (end > from && from < to) {
        ssize_t r = pwrite(s->fd, zeros, (size_t)MIN(to - from, sizeof(zeros)), (off_t)from);

        if (r < 0 && errno == EINTR)
            continue;
        if (r <= 0)
            break;
        from += (uint64_t)r;
    }
    s->zeroed = from;
}

static int write_full(int fd, const uint8_t *data, size_t n, uint64_t offset)
{
    while (n) {
        size_t part = failpoint("journal.write.short") ? (n + 1) / 2 : n;
        ssize_t r;

        if (failpoint("journal.write.enospc"))
            return -ENOSPC;
        if (failpoint("journal.write.eio"))
            return -EIO;
        if (failpoint("journal.crash.mid_write")) {
            (void)!pwrite(fd, data, n / 2, (off_t)offset); /* the process dies half-way */
            _exit(FAILPOINT_EXIT);
        }
        r = pwrite(fd, data, part, (off_t)offset);
        if (r < 0 && errno == EINTR)
            continue;
        if (r < 0)
            return -errno;
        data += r;
        n -= (size_t)r;
        offset += (uint64_t)r;
    }
    return 0;
}

static int sync_data(int fd)
{
    if (failpoint("journal.sync.eio"))
        return -EIO;
    return fdatasync(fd) < 0 ? -errno : 0;
}

/* Put the finished temporary file in its place. */
static int publish_file(const struct segment_policy *p, const char *tmp, const char *name)
{
    failpoint_crash("journal.crash.segment_before_rename");
    if (renameat(p->dir_fd, tmp, p->dir_fd, name) < 0)
        return -errno;
    failpoint_crash("journal.crash.segment_after_rename");
    return fsync(p->dir_fd) < 0 ? -errno : 0;
}

int segment_create(const struct segment_policy *p, uint64_t first_lsn, struct segment *ret_seg)
{
    struct segment s = { .fd = -1, .first_lsn = first_lsn, .offset = FILE_HEADER_BYTES };
    char name[FILE_NAME_BYTES], tmp[FILE_NAME_BYTES + 4];
    uint8_t head[FILE_HEADER_BYTES];
    int r;

    segment_name(first_lsn, p->term, name);
    (void)snprintf(tmp, sizeof(tmp), "%s.tmp", name); /* fits */
    s.fd = openat(p->dir_fd, tmp, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (s.fd < 0)
        return -errno;
    file_header_encode(SEGMENT_MAGIC, p->cluster_id, first_lsn, head);
    r = grow_file(&s, p, sizeof(head));
    if (r == 0)
        r = write_full(s.fd, head, sizeof(head), 0);
    if (r == 0)
        r = sync_data(s.fd);
    if (r == 0)
        r = publish_file(p, tmp, name);
    if (r < 0) {
        (void)unlinkat(p->dir_fd, tmp, 0); /* gone already when the rename took place */
        (void)close(s.fd);
        return r;
    }
    *ret_seg = s;
    return 0;
}

int segment_reopen(const struct segment_policy *p, uint64_t first_lsn, uint32_t term,
                   uint64_t offset, struct segment *ret_seg)
{
    _cleanup_close_ int fd = -1;
    char name[FILE_NAME_BYTES];

    segment_name(first_lsn, term, name);
    fd = openat(p->dir_fd, name, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    if (ftruncate(fd, (off_t)offset) < 0 || fsync(fd) < 0)
        return -errno;
    *ret_seg = (struct segment){ .fd = TAKE_FD(fd),
                                 .first_lsn = first_lsn,
                                 .offset = offset,
                                 .allocated = offset,
                                 .zeroed = offset };
    return 0;
}

int segment_write(struct segment *s, const struct segment_policy *p, const void *data, size_t n,
                  uint64_t *ret_sync_us)
{
    int64_t start;
    int r = grow_file(s, p, s->offset + n);

    if (r < 0)
        return r;
    write_zeros(s, s->offset + n);
    failpoint_crash("journal.crash.before_write");
    r = write_full(s->fd, data, n, s->offset);
    failpoint_crash("journal.crash.after_write");
    start = now_mono_us();
    if (r == 0 && !p->unsynced)
        r = sync_data(s->fd);
    *ret_sync_us = (uint64_t)(now_mono_us() - start);
    if (r < 0) {
        s->suspect = true;
        /* Better that a reader finds nothing there; recovery does not depend on it. */
        (void)!ftruncate(s->fd, (off_t)s->offset);
        return r;
    }
    failpoint_crash("journal.crash.after_sync");
    s->offset += n;
    return 0;
}

void segment_close(struct segment *s)
{
    if (s->fd < 0)
        return;
    (void)!ftruncate(s->fd, (off_t)s->offset); /* zeros are as good an end */
    (void)close(s->fd);                        /* synced */
    s->fd = -1;
}
