/* letgo.h - removing the files that nobody needs any more */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* dir_fd: the open <dir>/journal.  Remove all but the two newest snapshots, and the segments that
 * neither the older of them nor who reads from keep_lsn on needs; of one snapshot alone every
 * segment stays.  *ret_segments is the number of those, also on failure. */
int journal_dir_let_go(int dir_fd, uint64_t keep_lsn, size_t *ret_segments);
