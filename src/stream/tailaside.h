/* tailaside.h - logs that were put aside: how many there are, and when the oldest goes
 *
 * A standby keeps what its log had and nobody acknowledged, and a log that a copy replaced, in
 * folders of their own beside the log, for an administrator to look at. */
#pragma once

#include <stdint.h>

#define ASIDE_CUT "unacknowledged" /* what the names of the folders begin with */
#define ASIDE_REPLACED "replaced"
#define ASIDE_FOLDERS_MAX 8u         /* of each kind; the older ones are removed */
#define ASIDE_BYTES_MAX (1ull << 30) /* of each kind, but the newest stays whatever it has */

struct aside {
    uint32_t folders;
    uint64_t bytes; /* that a removal would give back, or is to when the log lets go of them too */
};

/* dir_fd: the open <dir>/journal.  Remove what is beyond the bounds, the oldest first, and count
 * the rest.  What cannot be removed is counted, and tried again the next time. */
void aside_trim(int dir_fd, struct aside *ret);
