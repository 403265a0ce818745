/* files.h - the journal's directory: names, listing, lock
 *
 * Names: <16 hex lsn>.log of term 0, <16 hex lsn>-<8 hex term>.log of the others,
 * <16 hex lsn>.snap; the same with .tmp while being made, .bad for a snapshot found damaged.
 * Functions returning int give 0 or a negative errno. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/err.h"

#define JOURNAL_SUBDIR "journal"
#define JOURNAL_ID_NAME "stream.id" /* which log it is to other controllers (stream/streamid.h) */
#define JOURNAL_COPY_NAME "etcd.id" /* the folder is a copy of that log in etcd */
#define FILE_NAME_BYTES 40
#define FILES_MAX (1u << 20) /* directory entries looked at */

enum file_kind { FILE_SEGMENT, FILE_SNAPSHOT, FILE_TEMPORARY, FILE_BAD, FILE_KIND_MAX };

struct lsn_list {
    uint64_t *lsn;  /* ascending */
    uint32_t *term; /* of each; 0 of snapshots */
    size_t n, cap;
};

/* What the directory holds, by kind. */
struct file_list {
    struct lsn_list segments, snapshots;
    /* segments that do not count: a later term's log begins at or before them, so their writer had
     * lost its term when it made them, or had written nothing to them */
    struct lsn_list stale;
    char (*others)[FILE_NAME_BYTES]; /* temporary and bad files */
    size_t n_others, cap_others;
};

void segment_name(uint64_t lsn, uint32_t term, char out[static FILE_NAME_BYTES]);
void snapshot_name(uint64_t lsn, char out[static FILE_NAME_BYTES]);
/* Which kind of journal file is this?  FILE_KIND_MAX: none. */
enum file_kind file_name_parse(const char *name, uint64_t *ret_lsn, uint32_t *ret_term);

/* Open <dir>/journal; `create` makes it first.  Caller closes.  err names the path. */
int journal_dir_open(const char *dir, bool create, int *ret_fd, struct err *err);
/* Take the lock file; held until *ret_fd is closed.  -EBUSY: another process has it. */
int journal_dir_lock(int dir_fd, const char *dir, int *ret_fd, struct err *err);
/* Has nobody the lock file?  It is not touched: who takes it meanwhile must not find it taken. */
bool journal_dir_is_free(int dir_fd);
/* Take a lock file of our own in its place: that of a writer whose term is over stays with it.
 * One that another such writer has just made is replaced as well: the later term counts. */
int journal_dir_relock(int dir_fd, const char *dir, int *ret_fd, struct err *err);
/* Read the directory; the caller frees with file_list_done(). */
int file_list_read(int dir_fd, struct file_list *ret_list);
void file_list_done(struct file_list *l);
/* Index of the segment that would hold lsn: the last that starts at or below it; -1 none. */
long file_list_find(const struct file_list *l, uint64_t lsn);
/* Remove what an interrupted process left half made. */
void file_list_remove_temporary(int dir_fd, const struct file_list *l);

#define AWAY_NAME_BYTES 48
/* Make <prefix>-<UTC time>/ for files that are put aside, with a number behind when there is one of
 * this second, unless *fd is open already.  name: what it is called.  The caller closes *fd. */
int journal_away_open(int dir_fd, const char *prefix, char name[static AWAY_NAME_BYTES], int *fd);

int segment_open_read(int dir_fd, uint64_t lsn, uint32_t term, int *ret_fd);
int snapshot_open_read(int dir_fd, uint64_t lsn, int *ret_fd);
