/* journalat.h - penstock journal at: a command that sees the cluster as it was */
#pragma once

/* Run argv (ended by NULL) with the cluster of the moment `when`, by the log in `state`: a
 * StateSaveLocation, NULL: that of the site's slurm.conf.  Gives the command's exit status, or ours
 * when it did not run, with a sentence on stderr. */
int journalat_run(const char *when, const char *state, char **argv);
