/* filecopy.h - files copied with their checksums, and synced */
#pragma once

#include <stdint.h>

#include "base/digest.h"
#include "base/err.h"

/* Make `to` (which must not exist) of the first `bytes` bytes of `from`, UINT64_MAX: all of it; no
 * link is followed.  *ret_bytes and *ret_digest say what was copied.  Errors: -EIO from is shorter;
 * with a sentence. */
int filecopy(const char *from, const char *to, uint64_t bytes, unsigned mode, uint64_t *ret_bytes,
             struct digest *ret_digest, struct err *err);
/* What a file holds, without copying. */
int filecopy_digest(const char *path, uint64_t *ret_bytes, struct digest *ret_digest,
                    struct err *err);
int filecopy_sync_folder(const char *path, struct err *err);
/* Remove a folder with everything in it; what cannot be removed stays. */
void filecopy_remove(const char *path);
