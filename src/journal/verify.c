/* verify.c - journal_verify(): read every file and say what is wrong
 *
 * Changes nothing and takes no lock, so it may run beside a live journal, whose unfinished last
 * write it reports as that.  Design note 0001, "Operators". */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "journal/files.h"
#include "journal/logwalk.h"

#define LINE_BYTES 512

struct verify {
    int dir_fd;
    struct file_list files;
    struct walk_opts opts;
    uint64_t records, damages, complete_snapshots;
    void (*report)(void *ctx, const char *line);
    void *ctx;
};

static void verify_done(struct verify *v)
{
    file_list_done(&v->files);
}

static void say_finding(const struct verify *v, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
static void say_finding(const struct verify *v, const char *fmt, ...)
{
    char line[LINE_BYTES];
    va_list ap;

    va_start(ap, fmt);
    (void)vsnprintf(line, sizeof(line), fmt, ap); /* cut is fine */
    va_end(ap);
    v->report(v->ctx, line);
}

static int verify_snapshots(struct verify *v)
{
    for (size_t i = 0; i < v->files.snapshots.n; i++) {
        char name[FILE_NAME_BYTES], reason[WALK_REASON_BYTES] = "";
        uint64_t puts = 0;
        int r = walk_snapshot(v->dir_fd, v->files.snapshots.lsn[i], &v->opts, NULL, NULL, &puts,
                              reason);

        if (r == -ENOENT) /* let go meanwhile */
            continue;
        if (r == -ENOMEM)
            return r;
        snapshot_name(v->files.snapshots.lsn[i], name);
        if (r < 0) {
            v->damages++;
            say_finding(v, "%s: damaged: %s", name, reason);
        } else {
            v->complete_snapshots++;
            say_finding(v, "%s: complete, stands for record %" PRIu64 ", %" PRIu64 " puts", name,
                        v->files.snapshots.lsn[i], puts);
        }
    }
    return 0;
}

static void say_segment(struct verify *v, const char *name, const struct walk *w)
{
    switch (w->state) {
    case WALK_DAMAGE:
        v->damages++;
        say_finding(v, "%s: damaged at offset %" PRIu64 ", record %" PRIu64 ": %s", name, w->offset,
                    w->lsn, w->reason);
        break;
    case WALK_TORN:
        say_finding(v,
                    "%s: %" PRIu64 " records from %" PRIu64 ", then an unfinished write of %" PRIu64
                    " bytes at offset %" PRIu64 " (a crash leaves one; the next start cuts it off)",
                    name, w->records, w->segment, w->torn, w->offset);
        break;
    case WALK_END:
        say_finding(v, "%s: %" PRIu64 " records from %" PRIu64 "%s", name, w->records, w->segment,
                    w->marked ? ", closed properly" : "");
        break;
    }
}

static int verify_segments(struct verify *v)
{
    const struct lsn_list *segs = &v->files.segments;

    v->opts.proven_lsn =
        v->files.snapshots.n ? v->files.snapshots.lsn[v->files.snapshots.n - 1] : 0;
    for (size_t i = 0; i < segs->n; i++) {
        char name[FILE_NAME_BYTES];
        struct walk w = { 0 };
        int r = walk_segment(v->dir_fd, &v->files, i, segs->lsn[i], &v->opts, NULL, NULL, &w);

        if (r == -ENOENT)
            continue;
        if (r == -ENOMEM)
            return r;
        segment_name(segs->lsn[i], segs->term[i], name);
        if (r < 0) {
            v->damages++;
            say_finding(v, "%s: cannot be read: %s", name,
                        w.reason[0] ? w.reason : strerrordesc_np(-r));
            continue;
        }
        v->records += w.records;
        say_segment(v, name, &w);
    }
    return 0;
}

/* Is there a way from some complete state to the log? */
static void verify_reach(struct verify *v)
{
    const struct lsn_list *segs = &v->files.segments, *snaps = &v->files.snapshots;

    if (!segs->n && !snaps->n) {
        say_finding(v, "the journal is empty");
    } else if (!segs->n) {
        v->damages++;
        say_finding(v, "there are snapshots but no log files");
    } else if (segs->lsn[0] > 1 && !v->complete_snapshots) {
        v->damages++;
        say_finding(v,
                    "the log begins at record %" PRIu64
                    " and no snapshot is complete: the state cannot be "
                    "rebuilt",
                    segs->lsn[0]);
    } else if (snaps->n && snaps->lsn[snaps->n - 1] + 1 < segs->lsn[0]) {
        v->damages++;
        say_finding(v,
                    "records %" PRIu64 " to %" PRIu64
                    " between the newest snapshot and the log are missing",
                    snaps->lsn[snaps->n - 1] + 1, segs->lsn[0] - 1);
    }
}

int journal_verify(const char *dir, void (*report)(void *ctx, const char *line), void *ctx)
{
    _cleanup_val_(verify_done) struct verify v = { .report = report, .ctx = ctx };
    _cleanup_close_ int dir_fd = -1;
    struct err err = { .text = "" };
    int r = journal_dir_open(dir, false, &dir_fd, &err);

    if (r < 0) {
        say_finding(&v, "%s", err.text);
        return r;
    }
    v.dir_fd = dir_fd;
    r = file_list_read(dir_fd, &v.files);
    if (r == 0)
        r = verify_snapshots(&v);
    if (r == 0)
        r = verify_segments(&v);
    if (r < 0)
        return r;
    verify_reach(&v);
    for (size_t i = 0; i < v.files.stale.n; i++)
        say_finding(&v,
                    "%016" PRIx64 ", term %" PRIu32
                    ": does not count, the log of a later term begins before it",
                    v.files.stale.lsn[i], v.files.stale.term[i]);
    if (v.damages)
        say_finding(&v,
                    "%" PRIu64
                    " damaged places; `penstock journal repair %s` makes the journal usable "
                    "again, with the controller stopped",
                    v.damages, dir);
    else
        say_finding(&v, "clean: %zu segments, %" PRIu64 " records, %zu snapshots",
                    v.files.segments.n, v.records, v.files.snapshots.n);
    return v.damages ? 1 : 0;
}
