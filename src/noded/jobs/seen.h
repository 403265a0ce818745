/* seen.h - what this node must not take again: credentials that were used, jobs that are over
 *
 * Kept in a file as well, so that a slurmd that was killed knows it again: a credential lives for
 * minutes, and the order to end a job comes once.  Entries are dropped when the credentials that
 * they are about have expired. Nothing is synced: a power loss ends what the credentials were for.
 * Main thread; times are of now_us(). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SEEN_KEY 32     /* bytes: a whole signature, or what seen_job_key() makes */
#define SEEN_MAX 65536u /* entries of a kind */
#define SEEN_USER_MAX (SEEN_MAX / 4 * 3) /* of one user, as far as it is known */

enum seen_kind {
    SEEN_USED,    /* by signature */
    SEEN_RELAYED, /* by signature, of credentials used to relay */
    SEEN_OVER,    /* by job and run */
    SEEN_KINDS,
};

struct err;
struct seen;

/* Read the file and write it anew without what has expired.  What cannot be read ends the list.
 * *ret_fresh: there was no such file, so nothing is known of earlier times.  Errors: -ENOMEM, those
 * of files. */
int seen_open(const char *path, int64_t now, struct seen **ret, bool *ret_fresh, struct err *err);
struct seen *seen_free(struct seen *s);

/* How often it was noted. */
unsigned seen_count(struct seen *s, enum seen_kind kind, const uint8_t key[static SEEN_KEY],
                    int64_t now);
/* Note it until a time.  Errors: -ENOSPC there are SEEN_MAX, -ENOMEM, those of the file; it is not
 * noted then. */
int seen_note(struct seen *s, enum seen_kind kind, const uint8_t key[static SEEN_KEY],
              int64_t until_us, int64_t now);
/* The same on account of a user, whose share leaves room for others.  -EDQUOT: it is used up. */
int seen_note_of(struct seen *s, enum seen_kind kind, const uint8_t key[static SEEN_KEY],
                 uint32_t uid, int64_t until_us, int64_t now);

void seen_job_key(uint32_t job_id, uint64_t run_id, uint8_t ret[static SEEN_KEY]);
