/* backup.h - penstock backup: log, accounting and keys of a controller, as of one moment
 *
 * Beside a running controller, whose files are read only.  The folder that comes out:
 *
 *     MANIFEST            what is in it, with checksums (manifest.h)
 *     state/              StateSaveLocation: journal/, accounting.sqlite, the controller's key
 *     keys/slurm.key      the cluster's key
 *
 * Accounting is copied before the log: its place in the log is one that the copy of the log has. */
#pragma once

/* Make the folder `to` (new, or empty) of StateSaveLocation `state` and the configuration at
 * conf_path.  An exit status; a sentence on stderr. */
int backup_make(const char *conf_path, const char *state, const char *to);
