/* bench_journal.c - what durable appends cost, against the machine's own limit in the same run
 *
 *     bench_journal [DIR [SECONDS]]
 *
 * For each batch size: a plain loop of one pwrite and one fdatasync of as many bytes on a
 * preallocated file, then the journal with an appender that waits for each batch ("wait"), and one
 * that only keeps up to `window` batches in flight, as a controller does ("stream").  One JSON
 * object a line; `ratio` is records a second over the plain loop's. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/timefmt.h"
#include "journal/files.h"
#include "journal/journal.h"

#define RECORD_BYTES 300
#define STORED_BYTES 328 /* with header and padding */
#define WINDOW 256       /* batches in flight when streaming */
#define ROUNDS 5
#define RAW_BYTES (256 << 20)

static const unsigned batch_sizes[] = { 1, 8, 64 };

/* What one way of writing did, summed over its rounds. */
struct tally {
    uint64_t records, syncs, us, worst_us;
};

static void die(const char *what, int error)
{
    (void)fprintf(stderr, "bench_journal: %s: %s\n", what, strerror(error));
    exit(1);
}

/* The limit: the same bytes, one write and one sync at a time, into preallocated space never
 * used. */
static void raw_round(const char *dir, unsigned batch, int64_t for_us, struct tally *t)
{
    size_t n = (size_t)batch * STORED_BYTES;
    _cleanup_free_ uint8_t *buf = calloc(1, n);
    _cleanup_close_ int fd = -1;
    char path[4096];
    int64_t start, now;
    off_t at = 0;

    (void)snprintf(path, sizeof(path), "%s/raw", dir);
    fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (!buf || fd < 0)
        die(path, errno);
    (void)unlink(path); /* gone with the descriptor */
    if (fallocate(fd, 0, 0, RAW_BYTES) < 0 || fsync(fd) < 0)
        die("fallocate", errno);
    start = now = now_mono_us();
    while (now - start < for_us && at + (off_t)n <= RAW_BYTES) {
        if (pwrite(fd, buf, n, at) != (ssize_t)n || fdatasync(fd) < 0)
            die("write", errno);
        at += (off_t)n;
        t->syncs++;
        t->records += batch;
        now = now_mono_us();
    }
    t->us += (uint64_t)(now - start);
}

/* Append batches, with at most `window` of them not yet on disk. */
static void journal_round(struct journal *j, unsigned batch, unsigned window, int64_t for_us,
                          struct tally *t)
{
    uint8_t record[RECORD_BYTES] = { 0 };
    uint64_t first = journal_last(j), lsn = first;
    struct journal_stats before, after;
    int64_t start = now_mono_us(), now = start;

    journal_get_stats(j, &before);
    while (now - start < for_us) {
        for (unsigned i = 0; i < batch; i++) {
            memcpy(record, &lsn, sizeof(lsn));
            if (journal_append(j, record, sizeof(record), &lsn) < 0)
                die("append", EIO);
        }
        journal_commit(j);
        if (lsn - first >= (uint64_t)window * batch &&
            journal_wait_durable(j, lsn - (uint64_t)(window - 1) * batch) < 0)
            die("wait", EIO);
        now = now_mono_us();
    }
    if (journal_wait_durable(j, lsn) < 0)
        die("wait", EIO);
    t->us += (uint64_t)(now_mono_us() - start);
    journal_get_stats(j, &after);
    t->records += lsn - first;
    t->syncs += after.syncs - before.syncs;
    t->worst_us = after.worst_sync_us;
}

static double per_second(uint64_t n, const struct tally *t)
{
    return (double)n * 1e6 / (double)t->us;
}

static void print(const char *mode, unsigned batch, const struct tally *t, const struct tally *raw)
{
    printf("{\"bench\":\"journal\",\"mode\":\"%s\",\"batch\":%u,\"records_per_s\":%.0f,"
           "\"syncs_per_s\":%.0f,\"worst_sync_us\":%" PRIu64 ",\"raw_records_per_s\":%.0f,"
           "\"raw_syncs_per_s\":%.0f,\"ratio\":%.3f}\n",
           mode, batch, per_second(t->records, t), per_second(t->syncs, t), t->worst_us,
           per_second(raw->records, raw), per_second(raw->syncs, raw),
           per_second(t->records, t) / per_second(raw->records, raw));
    (void)fflush(stdout); /* shown as it comes */
}

/* All three ways in turn, several times, so that a busy machine slows each alike. */
static void measure(const char *dir, struct journal *j, unsigned batch, int64_t for_us)
{
    struct tally raw = { 0 }, wait = { 0 }, stream = { 0 };

    for (int round = 0; round < ROUNDS; round++) {
        raw_round(dir, batch, for_us / ROUNDS, &raw);
        journal_round(j, batch, 1, for_us / ROUNDS, &wait);
        journal_round(j, batch, WINDOW, for_us / ROUNDS, &stream);
    }
    print("wait", batch, &wait, &raw);
    print("stream", batch, &stream, &raw);
}

/* Remove what journal_open() made in our own fresh directory, and the directory. */
static void remove_files(const char *dir)
{
    _cleanup_val_(file_list_done) struct file_list l = { 0 };
    _cleanup_close_ int sub = -1;
    char path[4096];

    if (journal_dir_open(dir, false, &sub, NULL) == 0 && file_list_read(sub, &l) == 0) {
        for (size_t i = 0; i < l.segments.n; i++) {
            char name[FILE_NAME_BYTES];

            segment_name(l.segments.lsn[i], l.segments.term[i], name);
            (void)unlinkat(sub, name, 0); /* rmdir tells */
        }
        (void)unlinkat(sub, "lock", 0);
    }
    (void)snprintf(path, sizeof(path), "%s/" JOURNAL_SUBDIR, dir);
    if (rmdir(path) < 0 || rmdir(dir) < 0)
        die(path, errno);
}

int main(int argc, char **argv)
{
    const char *base = argc > 1 ? argv[1] : "/tmp";
    struct journal_config c = { .dir = NULL };
    struct err err = { .text = "" };
    struct journal *j = NULL;
    uint64_t seconds = 2;
    char dir[4000];

    if (argc > 3 || (argc == 3 && parse_u64(argv[2], 1, 3600, &seconds) < 0)) {
        (void)fprintf(stderr, "usage: bench_journal [DIR [SECONDS]]\n");
        return 2;
    }
    (void)snprintf(dir, sizeof(dir), "%s/bench-journal-XXXXXX", base);
    if (!mkdtemp(dir))
        die(dir, errno);
    c.dir = dir;
    if (journal_open(&c, NULL, NULL, &j, &err) < 0 || journal_start(j) < 0) {
        (void)fprintf(stderr, "bench_journal: %s\n", err.text);
        return 1;
    }
    for (size_t i = 0; i < ARRAY_SIZE(batch_sizes); i++)
        measure(dir, j, batch_sizes[i], (int64_t)seconds * USEC_PER_SEC);
    (void)journal_close(j);
    remove_files(dir);
    return 0;
}
