/* streamid.h - which log a folder has: the file journal/stream.id
 *
 * `own` names the log as a member of the witness's set: whoever puts an older log in its place, or
 * cuts it, has to remove the file.  `log` is what all copies of one log have in common. */
#pragma once

#include <stdint.h>

#include "base/err.h"
#include "journal/files.h"

struct streamid {
    uint64_t own;
    uint64_t log;      /* 0: none yet */
    uint32_t promised; /* no stream of an earlier term is taken */
};

/* dir_fd: the open <dir>/journal.  Load: a file that is not there or is damaged gives a new `own`,
 * which is kept at once. */
int streamid_load(int dir_fd, struct streamid *ret, struct err *err);
int streamid_store(int dir_fd, const struct streamid *id, struct err *err);
int streamid_random(uint64_t *ret, struct err *err); /* never 0 */
