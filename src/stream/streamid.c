/* streamid.c - see streamid.h.  One line: own, log, promised, and xxh3 of what is before, in
 * hexadecimal digits. */
#include "stream/streamid.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/cleanup.h"
#include "base/log.h"

#define TEXT_BYTES 80u
#define HEAD_BYTES 43u /* 16 + 1 + 16 + 1 + 8 + 1 */
#define LINE_BYTES 60u /* and 16 + 1 */

static void write_line(const struct streamid *id, char out[static TEXT_BYTES])
{
    (void)snprintf(out, TEXT_BYTES, "%016" PRIx64 " %016" PRIx64 " %08" PRIx32 " ", id->own,
                   id->log, id->promised); /* fits */
    (void)snprintf(out + HEAD_BYTES, TEXT_BYTES - HEAD_BYTES, "%016" PRIx64 "\n",
                   (uint64_t)XXH3_64bits(out, HEAD_BYTES));
}

static bool read_line(const char *text, struct streamid *ret)
{
    char again[TEXT_BYTES];
    struct streamid id;

    if (sscanf(text, "%16" SCNx64 " %16" SCNx64 " %8" SCNx32 " ", &id.own, &id.log, &id.promised) !=
        3)
        return false;
    write_line(&id, again);
    if (strcmp(text, again) != 0 || !id.own)
        return false;
    *ret = id;
    return true;
}

int streamid_random(uint64_t *ret, struct err *err)
{
    uint64_t id = 0;

    while (!id)
        if (getrandom(&id, sizeof(id), 0) != (ssize_t)sizeof(id) && errno != EINTR)
            return err_set(err, -EIO, "no random number can be had: %s", strerrordesc_np(errno));
    *ret = id;
    return 0;
}

static int write_file(int dir_fd, const char *line)
{
    _cleanup_close_ int fd =
        openat(dir_fd, JOURNAL_ID_NAME ".tmp", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    size_t n = strlen(line);

    if (fd < 0)
        return -errno;
    if (pwrite(fd, line, n, 0) != (ssize_t)n)
        return errno ? -errno : -ENOSPC;
    if (fdatasync(fd) < 0 ||
        renameat(dir_fd, JOURNAL_ID_NAME ".tmp", dir_fd, JOURNAL_ID_NAME) < 0 || fsync(dir_fd) < 0)
        return -errno;
    return 0;
}

int streamid_store(int dir_fd, const struct streamid *id, struct err *err)
{
    char line[TEXT_BYTES];
    int r;

    write_line(id, line);
    r = write_file(dir_fd, line);
    return r < 0 ? err_set(err, r, "journal/" JOURNAL_ID_NAME " cannot be written: %s",
                           strerrordesc_np(-r))
                 : 0;
}

int streamid_load(int dir_fd, struct streamid *ret, struct err *err)
{
    _cleanup_close_ int fd = openat(dir_fd, JOURNAL_ID_NAME, O_RDONLY | O_CLOEXEC);
    char text[TEXT_BYTES] = "";
    struct streamid id = { .own = 0 };
    int r;

    if (fd < 0 && errno != ENOENT)
        return err_set(err, -errno, "journal/" JOURNAL_ID_NAME ": %s", strerrordesc_np(errno));
    if (fd >= 0 && pread(fd, text, LINE_BYTES, 0) < 0)
        return err_set(err, -errno, "journal/" JOURNAL_ID_NAME ": %s", strerrordesc_np(errno));
    if (read_line(text, ret))
        return 0;
    if (fd >= 0)
        log_error("journal/" JOURNAL_ID_NAME " is damaged: the log counts as another one");
    r = streamid_random(&id.own, err);
    if (r == 0)
        r = streamid_store(dir_fd, &id, err);
    if (r == 0)
        *ret = id;
    return r;
}
