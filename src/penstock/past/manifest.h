/* manifest.h - MANIFEST: what a backup holds
 *
 * Lines of text: `penstock-backup 1`; `cluster NAME`; `record N`; `time MICROSECONDS`; for each
 * file `file MODE SIZE SHA256 PATH`; `end NUMBER-OF-FILES`.  A reader takes nothing else, and no
 * path that leads out of the folder.  Pure. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/digest.h"
#include "base/err.h"
#include "base/strbuf.h"

#define MANIFEST_NAME "MANIFEST"
#define MANIFEST_BYTES_MAX (4u << 20)
#define MANIFEST_FILES_MAX 16384u
#define MANIFEST_PATH_BYTES 200

struct manifest_file {
    char path[MANIFEST_PATH_BYTES]; /* under the backup: state/..., keys/... */
    unsigned mode;                  /* 0600 or 0644 */
    uint64_t size;
    struct digest digest;
};

struct manifest {
    char cluster[128];
    uint64_t record;
    int64_t time_us;
    struct manifest_file *files; /* owned */
    size_t n;
};

/* May a file of a backup be called so?  Words of letters, digits and `._-` that begin with none of
 * these, joined by one or two slashes; the first is state or keys. */
bool manifest_path_good(const char *path);
/* Errors: -ENOMEM, -E2BIG too many files. */
int manifest_add(struct manifest *m, const struct manifest_file *file);
void manifest_write(const struct manifest *m, struct strbuf *out);
/* Errors: -EINVAL with a sentence that names the line, -E2BIG, -ENOMEM. */
int manifest_parse(const char *text, size_t len, struct manifest *ret, struct err *err);
void manifest_done(struct manifest *m);
