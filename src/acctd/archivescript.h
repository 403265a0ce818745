/* archivescript.h - ArchiveScript: a program of the site keeps old records before they are purged
 *
 * The program takes the place of the files in ArchiveDir: when it has ended with 0, what was told
 * to it is purged, and otherwise nothing is.  It gets no arguments, the environment of the
 * daemon, and
 *
 *     SLURM_ARCHIVE_EVENTS, _JOBS, _STEPS, _SUSPEND, _TXN, _USAGE
 *         1: records of this kind are to be kept, as ArchiveEvents and the like say; else 0
 *     SLURM_ARCHIVE_LAST_EVENT, _JOB, _STEP, _SUSPEND, _TXN, _USAGE
 *         records from before this time are purged, in seconds since 1970; absent: none are
 *
 * The program may run as long as it likes: requests are served meanwhile. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "acct/archive.h"

struct archivescript {
    pid_t pid;       /* 0: it does not run */
    int64_t told_us; /* when it was started: what was too old then is told to it */
};

#define ARCHIVESCRIPT_PATH_MAX 4096u

/* Is anything old enough to be purged by `what`? Without that the program is not started. */
bool archivescript_wanted(const struct archive_what *what);
/* Start it.  Errors: of posix_spawn(3), -ENOMEM; told in err. */
int archivescript_start(struct archivescript *s, const char *path, const struct archive_what *what,
                        int64_t now_us, struct err *err);
/* 1: it still runs; 0: it has ended with 0.  -EIO: it has ended otherwise, told in err. */
int archivescript_look(struct archivescript *s, const char *path, struct err *err);
/* The program has kept what it was told of: no files are written of these kinds. */
void archivescript_spare(struct archive_what *what);
/* The daemon ends: tell the program so (SIGTERM), if it runs. */
void archivescript_end(struct archivescript *s);
