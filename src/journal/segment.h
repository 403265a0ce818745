/* segment.h - the write side of one log file
 *
 * One thread at a time per object.  Files are made under a temporary name and renamed when their
 * header is on disk, so a segment that exists has a sound header. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SEGMENT_CHUNK_MAX (16u << 20)
#define SEGMENT_CHUNK_MIN (64u << 10)
#define SEGMENT_CHUNK_FIRST (256u << 10) /* a file is doubled from there on */

struct segment_policy {
    int dir_fd;    /* borrowed */
    uint32_t term; /* of the files that are made */
    uint64_t cluster_id;
    uint64_t segment_bytes;
    uint64_t reserve_bytes; /* leave this much free on the disk */
    bool unsynced;          /* what is appended is safe elsewhere */
};

struct segment {
    int fd; /* -1: none */
    uint64_t first_lsn;
    uint64_t offset;    /* end of what is synced; the next batch goes here */
    uint64_t allocated; /* file size; zeros from offset on */
    uint64_t zeroed;    /* those up to here have been written, those behind it are only promised */
    bool suspect;       /* a write or sync failed: nothing more may be trusted to this file */
};

/* Make the file of first_lsn and the policy's term, replacing one of that name.  Errors: -ENOSPC
 * (the reserve included), I/O. */
int segment_create(const struct segment_policy *p, uint64_t first_lsn, struct segment *ret_seg);
/* Open an existing one to append at offset, cutting off what follows, and sync it. */
int segment_reopen(const struct segment_policy *p, uint64_t first_lsn, uint32_t term,
                   uint64_t offset, struct segment *ret_seg);
/* Append n bytes and sync.  After a failed write or sync the segment is suspect and offset has not
 * moved; a failure to grow leaves it usable. */
int segment_write(struct segment *s, const struct segment_policy *p, const void *data, size_t n,
                  uint64_t *ret_sync_us);
/* Give back the preallocated space and close. */
void segment_close(struct segment *s);
