/* restore.h - penstock restore: a backup becomes a StateSaveLocation
 *
 * Every checksum is compared before anything appears under its name: the folder is made beside
 * StateSaveLocation and renamed at the end. */
#pragma once

/* Of the folder `from`, into `state`, which must be missing or empty.  key_path: where the
 * cluster's key belongs, when none is there; NULL: it stays in the backup.  An exit status; a
 * sentence on stderr. */
int restore_make(const char *from, const char *state, const char *key_path, unsigned owner);
