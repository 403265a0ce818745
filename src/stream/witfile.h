/* witfile.h - the witness's record on the disk: one file of WITFILE_BYTES, with a hash
 *
 * A new one is written beside the old one, synced, and put in its place. */
#pragma once

#include "base/err.h"
#include "stream/pactwire.h"

#define WITFILE_BYTES 1280u
#define WITFILE_NAME "witness"

/* out is all of the file.  cluster: at most 63 bytes count. */
void witfile_encode(const char *cluster, const struct witness_state *s,
                    uint8_t out[static WITFILE_BYTES]);
/* -EBADMSG damaged, -EPROTONOSUPPORT of another version, -EXDEV of another cluster. */
int witfile_decode(const uint8_t in[static WITFILE_BYTES], const char *cluster,
                   struct witness_state *ret);

/* dir: the folder.  load: -ENOENT there is none. */
int witfile_load(const char *dir, const char *cluster, struct witness_state *ret, struct err *err);
/* When this fails the file may be the old one or the new one. */
int witfile_store(const char *dir, const char *cluster, const struct witness_state *s,
                  struct err *err);
