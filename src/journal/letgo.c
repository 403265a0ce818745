/* letgo.c - see letgo.h.  Any thread, one at a time for each folder. */
#include "journal/letgo.h"

#include <errno.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/process/failpoint.h"
#include "journal/files.h"

/* Remove snapshots but the two newest, and segments nobody needs, oldest first, so that a crash in
 * between leaves no gap.  Failures only cost space: the next snapshot tries again. */
int journal_dir_let_go(int dir_fd, uint64_t keep_lsn, size_t *ret_segments)
{
    _cleanup_val_(file_list_done) struct file_list l = { 0 };
    int r = file_list_read(dir_fd, &l);
    uint64_t need = l.snapshots.n >= 2 ? l.snapshots.lsn[l.snapshots.n - 2] + 1 : 0;
    char name[FILE_NAME_BYTES];

    *ret_segments = 0;
    if (r < 0)
        return r;
    need = MIN(need, keep_lsn);
    for (size_t i = 0; i + 2 < l.snapshots.n; i++) {
        snapshot_name(l.snapshots.lsn[i], name);
        (void)unlinkat(dir_fd, name, 0);
        failpoint_crash("journal.crash.let_go");
    }
    for (size_t i = 0; i < l.n_others && l.snapshots.n >= 2; i++) {
        uint64_t lsn;
        uint32_t term;

        if (file_name_parse(l.others[i], &lsn, &term) == FILE_BAD)
            (void)unlinkat(dir_fd, l.others[i], 0);
    }
    for (size_t i = 0; i < l.stale.n && l.stale.lsn[i] < need; i++) {
        segment_name(l.stale.lsn[i], l.stale.term[i], name);
        (void)unlinkat(dir_fd, name, 0);
    }
    for (size_t i = 0; i + 1 < l.segments.n && l.segments.lsn[i + 1] <= need; i++) {
        segment_name(l.segments.lsn[i], l.segments.term[i], name);
        if (unlinkat(dir_fd, name, 0) < 0)
            return -errno;
        ++*ret_segments;
        failpoint_crash("journal.crash.let_go");
    }
    return 0;
}
