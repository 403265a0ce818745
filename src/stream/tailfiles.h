/* tailfiles.h - the files of a standby's log: going on in a new one, cutting, replacing the log
 *
 * One thread at a time per object. */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "journal/segment.h"
#include "stream/pact.h"
#include "stream/streamid.h"
#include "stream/tailaside.h"

struct tailfiles {
    char *dir; /* StateSaveLocation */
    int dir_fd, lock_fd;
    struct segment segment; /* fd -1: none yet */
    uint32_t segment_term, newest_term;
    uint64_t last, snapshot_lsn; /* of the log; of the newest snapshot, 0: none */
    struct pact_history history; /* of the log */
    struct streamid id;
    int part_fd; /* of a snapshot that is coming, else -1 */
    uint64_t part_lsn, part_end;
    struct aside aside; /* what was put aside, and is kept */
};

/* Open, lock, read.  Errors: streamtail_open(). */
int tailfiles_open(const char *dir, struct tailfiles *f, struct err *err);
void tailfiles_close(struct tailfiles *f);

/* Append records up to `last`, of this term, and sync. */
int tailfiles_append(struct tailfiles *f, uint32_t term, const uint8_t *data, size_t n,
                     uint64_t last, struct err *err);
/* What is behind lsn does not count any more: a file of `term`, in which record lsn + 1 will be,
 * says so.  The files that have it are kept aside. */
int tailfiles_cut(struct tailfiles *f, uint64_t lsn, uint32_t term, struct err *err);
/* A part of a snapshot's file.  1: it is whole, and sound. */
int tailfiles_part(struct tailfiles *f, uint64_t lsn, uint64_t offset, uint64_t total,
                   const uint8_t *data, size_t n, struct err *err);
/* The snapshot that came is of our log: let go of what is not needed from keep_lsn on. */
int tailfiles_publish(struct tailfiles *f, uint64_t keep_lsn, struct err *err);
/* The snapshot that came (none: nothing) takes the place of the log, which is put aside, under
 * another id.  What comes next is of `term`. */
int tailfiles_replace(struct tailfiles *f, bool has_snapshot, uint32_t term, struct err *err);
