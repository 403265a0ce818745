/* copyparts.c - which files are a whole journal at one moment; see copyparts.h
 *
 * Snapshots and all segments but the last do not change any more.  Of the last one what is sound
 * counts: a plain copy could catch a batch half written and the next one whole, which recovery
 * takes for damage. */
#include "journal/copyparts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "journal/files.h"
#include "journal/logwalk.h"
#include "journal/term.h"

void journal_parts_done(struct journal_parts *p)
{
    free(p->items);
    *p = (struct journal_parts){ 0 };
}

/* bytes: UINT64_MAX for the whole file. */
static int add_part(int dir_fd, struct journal_parts *p, const char *name, uint64_t bytes)
{
    struct journal_part *more = realloc(p->items, (p->n + 1) * sizeof(*more));
    struct stat st;

    if (!more)
        return -ENOMEM;
    p->items = more;
    if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return -errno;
    more[p->n] =
        (struct journal_part){ .bytes = bytes == UINT64_MAX ? (uint64_t)st.st_size : bytes };
    (void)snprintf(more[p->n].name, sizeof(more[p->n].name), "%s", name);
    p->n++;
    return 0;
}

static int add_segments(int dir_fd, const struct file_list *files, struct journal_parts *p)
{
    const struct lsn_list *segs = &files->segments;
    struct walk_opts opts = { .cluster_id = 0 };
    struct walk w = { .lsn = 1 };
    char name[FILE_NAME_BYTES];
    int r = 0;

    for (size_t i = 0; r == 0 && i + 1 < segs->n; i++) {
        segment_name(segs->lsn[i], segs->term[i], name);
        r = add_part(dir_fd, p, name, UINT64_MAX);
    }
    if (r == 0)
        r = walk_segment(dir_fd, files, segs->n - 1, segs->lsn[segs->n - 1], &opts, NULL, NULL, &w);
    if (r == 0 && w.state == WALK_DAMAGE)
        r = -EUCLEAN;
    if (r < 0)
        return r;
    segment_name(segs->lsn[segs->n - 1], segs->term[segs->n - 1], name);
    p->last = w.lsn - 1;
    return add_part(dir_fd, p, name, w.offset);
}

static int add_term(int dir_fd, struct journal_parts *p)
{
    struct term_record rec;
    char name[FILE_NAME_BYTES];
    int r = term_newest(dir_fd, &rec);

    if (r == -ENOENT)
        return 0;
    (void)snprintf(name, sizeof(name), "%08x.term", rec.term);
    return add_part(dir_fd, p, name, UINT64_MAX);
}

int journal_parts_list(const char *dir, struct journal_parts *ret, struct err *err)
{
    _cleanup_val_(file_list_done) struct file_list files = { 0 };
    _cleanup_val_(journal_parts_done) struct journal_parts p = { 0 };
    _cleanup_close_ int fd = -1;
    char name[FILE_NAME_BYTES];
    int r = journal_dir_open(dir, false, &fd, err);

    if (r < 0)
        return r;
    r = file_list_read(fd, &files);
    if (r == 0 && !files.segments.n)
        r = -ENOENT;
    for (size_t i = 0; r == 0 && i < files.snapshots.n; i++) {
        snapshot_name(files.snapshots.lsn[i], name);
        r = add_part(fd, &p, name, UINT64_MAX);
    }
    if (r == 0)
        r = add_segments(fd, &files, &p);
    if (r == 0)
        r = add_term(fd, &p);
    if (r < 0)
        return err_set(
            err, r, "journal: the log in %s/%s cannot be copied: %s", dir, JOURNAL_SUBDIR,
            r == -EUCLEAN ? "it is damaged; see `penstock journal verify`" : strerrordesc_np(-r));
    *ret = p;
    p = (struct journal_parts){ 0 };
    return 0;
}
