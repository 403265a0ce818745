/* stream.h - reading the records of one file in order
 *
 * One thread at a time per object.  Memory stays below JOURNAL_MAX_RECORD plus a window of 256 KiB,
 * whatever the bytes say. */
#pragma once

#include "journal/format.h"

struct stream {
    int fd;            /* borrowed */
    uint64_t offset;   /* of the next record */
    uint8_t *buf;      /* a window of the file */
    size_t cap, ahead; /* bytes of it, and to read next */
    uint64_t buf_offset;
    size_t buf_len;
};

/* Read fd from offset on.  fd stays the caller's. */
void stream_init(struct stream *s, int fd, uint64_t offset);
void stream_done(struct stream *s);
/* Forget what was read ahead: the file may have grown. */
void stream_refresh(struct stream *s);

/* The next record: 1 with it (the payload is borrowed until the next call), 0 where nothing was
 * written (end of file or zeros), both without moving past it.  Errors: -EBADMSG bytes that are no
 * sound record, -ENOMEM, or what pread(2) reports. */
int stream_next(struct stream *s, struct record_header *ret_header, const uint8_t **ret_data);

/* The same for a log segment: skips marks and wants the record `lsn`.  A sound record with another
 * lsn is -EBADMSG.  Without a record s->offset is behind the last sound one.  *marked (may be NULL)
 * is set when a mark was passed, and cleared by a record. */
int stream_next_lsn(struct stream *s, uint64_t lsn, const uint8_t **ret_data, size_t *ret_len,
                    bool *marked);

/* What stands behind a place where record `lsn` should be but is not. */
struct tail {
    bool synced; /* a later sound record proves that `lsn` had been synced: damage, not a torn
                    write */
    uint64_t proof_lsn; /* that record */
    uint64_t dirty;     /* bytes up to the last word that is not zero */
};
int stream_judge_tail(int fd, uint64_t offset, uint64_t lsn, struct tail *ret_tail);

/* Check the 32-byte header of a segment or snapshot.  Errors: as file_header_decode, I/O. */
int stream_read_header(int fd, uint32_t magic, struct file_header *ret, const char **ret_reason);

/* pread(2) until n bytes or the end of the file; bytes read, or negative errno. */
long pread_full(int fd, void *buf, size_t n, uint64_t offset);
