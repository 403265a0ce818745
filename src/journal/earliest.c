/* earliest.c - how far back a journal reaches; see earliest.h
 *
 * Owns nothing; reads the directory, and snapshots whole.  May run beside a live journal. */
#include "journal/earliest.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "journal/files.h"
#include "journal/journal.h"
#include "journal/logwalk.h"

/* The oldest sound snapshot from which the log goes on. */
static int find_snapshot(int dir_fd, const struct file_list *files, uint64_t *ret_lsn)
{
    struct walk_opts opts = { .cluster_id = 0 };
    char reason[WALK_REASON_BYTES] = "";

    for (size_t i = 0; i < files->snapshots.n; i++) {
        uint64_t puts, lsn = files->snapshots.lsn[i];

        if (file_list_find(files, lsn + 1) < 0 ||
            walk_snapshot(dir_fd, lsn, &opts, NULL, NULL, &puts, reason) < 0)
            continue;
        *ret_lsn = lsn;
        return 0;
    }
    return -ENOENT;
}

int journal_earliest(const char *dir, uint64_t *ret_lsn, uint64_t *ret_first, struct err *err)
{
    _cleanup_val_(file_list_done) struct file_list files = { 0 };
    _cleanup_close_ int fd = -1;
    int r = journal_dir_open(dir, false, &fd, err);

    if (r == 0)
        r = file_list_read(fd, &files);
    if (r < 0)
        return err && err->text[0] ? r
                                   : err_set(err, r, "journal: cannot list %s/%s: %s", dir,
                                             JOURNAL_SUBDIR, strerrordesc_np(-r));
    if (!files.segments.n)
        return err_set(err, -ENOENT, "journal: there is no log in %s/%s", dir, JOURNAL_SUBDIR);
    *ret_first = files.segments.lsn[0];
    if (file_list_find(&files, 1) >= 0) {
        *ret_lsn = 1;
        return 0;
    }
    r = find_snapshot(fd, &files, ret_lsn);
    return r < 0 ? err_set(err, r, "journal: no complete snapshot in %s/%s is followed by the log",
                           dir, JOURNAL_SUBDIR)
                 : 0;
}
