/* term.h - who may write the journal: terms, their records, and leases
 *
 * A term belongs to one writer; a later one has a higher number.  Its record is the file
 * <dir>/journal/<8 hex term>.term of TERM_BYTES bytes, which appears whole under a name that nobody
 * else can take (link(2)).  The writer renews its lease by writing its own file again, so that one
 * whose term is over disturbs nobody.  Clocks of two hosts are never compared: whoever waits for
 * the end of a lease counts on its own clock from the moment in which it saw the last renewal, and
 * the writer counts on its own from before it wrote it.  Design: docs/design/0017-standby.md. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define TERM_BYTES 512u
#define TERM_HOST_BYTES 64u
#define TERM_ADDR_BYTES 128u

enum term_flag {
    TERM_RELEASED = 1u << 0, /* its writer has ended in order, and writes no more */
};

struct term_record {
    uint32_t term;
    uint32_t lease_ms; /* 0: it does not run out */
    uint32_t flags;    /* enum term_flag */
    uint32_t index;    /* of its SlurmctldHost line */
    uint64_t renewal;  /* counts */
    uint64_t durable;  /* the log is on disk up to this lsn */
    uint16_t port;
    uint16_t level; /* of the log that its writer writes (format.h); set by term_encode() */
    char host[TERM_HOST_BYTES], addr[TERM_ADDR_BYTES];
    char successor[TERM_HOST_BYTES]; /* released for this controller, "": for nobody */
};

void term_encode(const struct term_record *t, uint8_t out[static TERM_BYTES]);
/* -EBADMSG: damaged, or not a record of a term; -EPROTONOSUPPORT: of another version. */
int term_decode(const uint8_t in[static TERM_BYTES], struct term_record *ret);

/* dir_fd: the open <dir>/journal. */

/* The record of the newest term.  -ENOENT: there was none yet.  -EBADMSG: it is damaged or just
 * being written; ret->term is set nonetheless. */
int term_newest(int dir_fd, struct term_record *ret);
/* Take the term t->term.  -EEXIST: another has it. */
int term_claim(int dir_fd, const struct term_record *t);
/* Write t again, to its own file, and on to the disk. */
int term_renew(int dir_fd, const struct term_record *t);
/* Has somebody taken the term behind this one?  An error of the disk counts as yes. */
bool term_is_over(int dir_fd, uint32_t term);

/* ---- where records are kept ----------------------------------------------------------------- */

/* Another place than the folder can keep the records.  Each function as that of the folder's above;
 * any but is_over is called by one thread at a time, is_over by any and without waiting for anyone.
 * newest: also -EHOSTUNREACH, nothing can be known at present. */
struct term_store {
    int (*newest)(void *ctx, struct term_record *ret);
    int (*claim)(void *ctx, const struct term_record *t);
    int (*renew)(void *ctx, const struct term_record *t);
    bool (*is_over)(void *ctx, uint32_t term);
    void (*forget)(void *ctx, uint32_t newest);
    void *ctx;
};

/* The folder; dir_fd stays open while the store is used. */
struct term_store term_files(int dir_fd);

/* ---- leases: pure; microseconds of a clock that goes on while the host sleeps ---------------- */

int64_t term_clock_us(void);

/* What the writer has: until when it may acknowledge.  Renewed with the time at which the write of
 * the renewal began.  An eighth of the lease is left for clocks that go at different speeds. */
int64_t lease_until_us(const struct term_record *t, int64_t began_us);
static inline bool lease_holds(int64_t until_us, int64_t now_us)
{
    return now_us < until_us;
}

/* What somebody who waits for the end of a lease knows.  Zero-initialised: nothing. */
struct lease_watch {
    uint32_t term;
    uint64_t renewal;
    int64_t seen_us; /* when this renewal was seen first; 0: none was */
};
/* The record as it was just read, at now_us (read the clock after the file). */
void lease_watch_see(struct lease_watch *w, const struct term_record *t, int64_t now_us);
/* How long until the lease has run out: <= 0 it has, INT64_MAX it never does. */
int64_t lease_watch_left_us(const struct lease_watch *w, const struct term_record *t,
                            int64_t now_us);
