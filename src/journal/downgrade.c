/* downgrade.c - the files of a newer release, written again; see downgrade.h.
 *
 * First every new file is made under a temporary name, then each takes the place of the old one,
 * of which the other folder has a link by then.  So each name has a whole file at any time.
 * Caller's thread. */
#include "journal/downgrade.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "journal/files.h"
#include "journal/logwalk.h"
#include "journal/stream.h"
#include "journal/term.h"

#define LINE_BYTES 256
#define BUFFER_BYTES (1u << 20)

struct downgrade {
    const char *dir;
    int dir_fd, away_fd;
    char away[AWAY_NAME_BYTES];
    struct file_list files;
    journal_rewrite_fn *fn;
    void *ctx;
    void (*report)(void *ctx, const char *line);
    void *report_ctx;
    struct err *err;
};

/* A file that is read, and the one that is made of it. */
struct rewriting {
    struct downgrade *dg;
    char name[FILE_NAME_BYTES], tmp[FILE_NAME_BYTES + 4];
    bool snapshot;
    int in;
    FILE *out;
};

static void downgrade_done(struct downgrade *dg)
{
    file_list_done(&dg->files);
    if (dg->away_fd >= 0)
        (void)close(dg->away_fd); /* a folder */
}

static int fail_file(struct downgrade *dg, const char *name, int r, const char *why)
{
    return err_set(dg->err, r, "journal: %s/%s/%s cannot be written again: %s", dg->dir,
                   JOURNAL_SUBDIR, name, why[0] ? why : strerrordesc_np(-r));
}

/* Number i of segments, then snapshots. */
static void name_file(const struct downgrade *dg, size_t i, struct rewriting *rw)
{
    const struct lsn_list *segs = &dg->files.segments, *snaps = &dg->files.snapshots;

    rw->snapshot = i >= segs->n;
    if (rw->snapshot)
        snapshot_name(snaps->lsn[i - segs->n], rw->name);
    else
        segment_name(segs->lsn[i], segs->term[i], rw->name);
    (void)snprintf(rw->tmp, sizeof(rw->tmp), "%s.tmp", rw->name); /* fits */
}

/* Has the file a level that this release does not know? */
static int is_newer(struct downgrade *dg, const struct rewriting *rw, struct file_header *ret_head)
{
    uint32_t magic = rw->snapshot ? SNAPSHOT_MAGIC : SEGMENT_MAGIC;
    const char *why = "";
    int r = stream_read_header(rw->in, magic, ret_head, &why);

    if (r == -ENOTSUP)
        return 1;
    return r < 0 ? fail_file(dg, rw->name, r == -EBADMSG ? -EUCLEAN : r, why) : 0;
}

/* ---- one file -------------------------------------------------------------------------------- */

static int write_record(struct rewriting *rw, const struct record_header *h, const uint8_t *data)
{
    size_t len = h->len, bytes;
    _cleanup_free_ uint8_t *buf = NULL;
    int r = 0;

    if (h->kind == RECORD_DATA || h->kind == RECORD_PUT)
        r = rw->dg->fn(rw->dg->ctx, data, len, &data, &len);
    if (r < 0)
        return r;
    bytes = record_bytes(len);
    buf = malloc(bytes);
    if (!buf)
        return -ENOMEM;
    record_encode(buf, h->kind, h->ordinal, h->lsn, data, (uint32_t)len);
    return fwrite(buf, 1, bytes, rw->out) == bytes ? 0 : -EIO;
}

/* Copy records up to `end`, an offset in the old file behind the last sound one. */
static int copy_records(struct rewriting *rw, uint64_t end)
{
    _cleanup_val_(stream_done) struct stream s;

    stream_init(&s, rw->in, FILE_HEADER_BYTES);
    while (s.offset < end) {
        struct record_header h;
        const uint8_t *data;
        int r = stream_next(&s, &h, &data);

        if (r == 0)
            return 0;
        if (r > 0)
            r = write_record(rw, &h, data);
        if (r < 0)
            return r;
    }
    return 0;
}

static int close_synced(struct rewriting *rw)
{
    FILE *out = rw->out;
    int r = fflush(out) == 0 && fsync(fileno(out)) == 0 ? 0 : -errno;

    rw->out = NULL;
    return fclose(out) == 0 ? r : -errno;
}

static int make_new(struct rewriting *rw, const struct file_header *head, uint64_t end)
{
    uint8_t bytes[FILE_HEADER_BYTES];
    int fd, r;

    fd = openat(rw->dg->dir_fd, rw->tmp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    rw->out = fd < 0 ? NULL : fdopen(fd, "w");
    if (!rw->out) {
        r = -errno;
        if (fd >= 0)
            (void)close(fd); /* empty */
        return r;
    }
    (void)setvbuf(rw->out, NULL, _IOFBF, BUFFER_BYTES); /* else slower */
    file_header_encode(rw->snapshot ? SNAPSHOT_MAGIC : SEGMENT_MAGIC, head->cluster_id, head->lsn,
                       bytes);
    r = fwrite(bytes, 1, sizeof(bytes), rw->out) == sizeof(bytes) ? copy_records(rw, end) : -EIO;
    if (r == 0)
        return close_synced(rw);
    (void)fclose(rw->out); /* it is removed by the next start */
    return r;
}

/* Where the sound records of a file end.  A damaged one is for the newer release to repair. */
static int find_end(struct downgrade *dg, size_t i, struct rewriting *rw, uint64_t *ret_end)
{
    const struct walk_opts opts = { .any_level = true };
    const struct lsn_list *segs = &dg->files.segments, *snaps = &dg->files.snapshots;
    char reason[WALK_REASON_BYTES] = "";
    struct walk w = { 0 };
    uint64_t puts;
    int r;

    *ret_end = UINT64_MAX;
    if (rw->snapshot) {
        r = walk_snapshot(dg->dir_fd, snaps->lsn[i - segs->n], &opts, NULL, NULL, &puts, reason);
        return r < 0 ? fail_file(dg, rw->name, r == -EBADMSG ? -EUCLEAN : r, reason) : 0;
    }
    r = walk_segment(dg->dir_fd, &dg->files, i, 0, &opts, NULL, NULL, &w);
    if (r == 0 && w.state == WALK_DAMAGE)
        r = -EUCLEAN;
    *ret_end = w.offset;
    return r < 0 ? fail_file(dg, rw->name, r, w.reason) : 0;
}

static int open_old(struct downgrade *dg, size_t i, struct rewriting *rw)
{
    *rw = (struct rewriting){ .dg = dg, .in = -1 };
    name_file(dg, i, rw);
    rw->in = openat(dg->dir_fd, rw->name, O_RDONLY | O_CLOEXEC);
    return rw->in < 0 ? fail_file(dg, rw->name, -errno, "") : 0;
}

/* 1: a new file lies beside the old one. */
static int rewrite_file(struct downgrade *dg, size_t i, struct rewriting *rw)
{
    struct file_header head;
    uint64_t end = 0;
    int r = is_newer(dg, rw, &head);

    if (r <= 0)
        return r;
    r = find_end(dg, i, rw, &end);
    if (r < 0)
        return r;
    r = make_new(rw, &head, end);
    if (r == 0)
        return 1;
    return dg->err->text[0] ? r : fail_file(dg, rw->name, r, "");
}

/* ---- all of them ----------------------------------------------------------------------------- */

static int swap_file(struct rewriting *rw)
{
    struct downgrade *dg = rw->dg;
    char line[LINE_BYTES];
    int r = journal_away_open(dg->dir_fd, "newer", dg->away, &dg->away_fd);

    if (r < 0)
        return r;
    if (linkat(dg->dir_fd, rw->name, dg->away_fd, rw->name, 0) < 0)
        return -errno;
    if (fsync(dg->away_fd) < 0 || renameat(dg->dir_fd, rw->tmp, dg->dir_fd, rw->name) < 0)
        return -errno;
    (void)snprintf(line, sizeof(line), "%s is written again; the old one is in %s/", rw->name,
                   dg->away); /* fits */
    dg->report(dg->report_ctx, line);
    return fsync(dg->dir_fd) < 0 ? -errno : 0;
}

/* A standby goes by the level that the newest term's record tells. */
static int lower_term(struct downgrade *dg)
{
    struct term_record t;
    int r = term_newest(dg->dir_fd, &t);

    if (r == -ENOENT || (r == 0 && t.level <= LOG_LEVEL))
        return 0;
    return r == 0 ? term_renew(dg->dir_fd, &t) : r;
}

static int downgrade_files(struct downgrade *dg)
{
    size_t n = dg->files.segments.n + dg->files.snapshots.n;
    _cleanup_free_ bool *made = calloc(n + 1, sizeof(*made));
    int r = made ? 0 : err_nomem(dg->err);

    for (size_t i = 0; r == 0 && i < n; i++) {
        struct rewriting rw;

        r = open_old(dg, i, &rw);
        if (r < 0)
            break;
        r = rewrite_file(dg, i, &rw);
        made[i] = r > 0;
        r = MIN(r, 0);
        (void)close(rw.in); /* was only read */
    }
    for (size_t i = 0; r == 0 && i < n; i++) {
        struct rewriting rw = { .dg = dg };

        name_file(dg, i, &rw);
        r = made[i] ? swap_file(&rw) : 0;
        if (r < 0)
            (void)fail_file(dg, rw.name, r, "");
    }
    return r;
}

int journal_downgrade(const char *dir, journal_rewrite_fn *fn, void *ctx,
                      void (*report)(void *ctx, const char *line), void *report_ctx,
                      struct err *err)
{
    _cleanup_val_(downgrade_done) struct downgrade dg = { .dir = dir,
                                                          .away_fd = -1,
                                                          .fn = fn,
                                                          .ctx = ctx,
                                                          .report = report,
                                                          .report_ctx = report_ctx,
                                                          .err = err };
    _cleanup_close_ int dir_fd = -1, lock_fd = -1;
    int r = journal_dir_open(dir, false, &dir_fd, err);

    if (r == 0)
        r = journal_dir_lock(dir_fd, dir, &lock_fd, err);
    if (r < 0)
        return r;
    dg.dir_fd = dir_fd;
    if (faccessat(dir_fd, JOURNAL_COPY_NAME, F_OK, 0) == 0)
        return err_set(err, -ENOTSUP,
                       "journal: %s/%s is a copy of a log in etcd, which cannot be taken back: go "
                       "on with the newer release, or restore a backup",
                       dir, JOURNAL_SUBDIR);
    r = file_list_read(dir_fd, &dg.files);
    if (r < 0)
        return err_set(err, r, "journal: cannot list %s/%s: %s", dir, JOURNAL_SUBDIR,
                       strerrordesc_np(-r));
    r = downgrade_files(&dg);
    if (r < 0)
        return r;
    r = lower_term(&dg);
    return r < 0 ? err_set(err, r, "journal: the newest term in %s/%s cannot be written again: %s",
                           dir, JOURNAL_SUBDIR, strerrordesc_np(-r))
                 : 0;
}
