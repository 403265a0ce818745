/* quota.h - how many connections and bytes one peer may hold of a server (private to wire/)
 *
 * Every connection is counted for a peer: over TCP for the host with that address, on the local
 * socket for the user that the kernel names, after login for that user.  A connection waits until
 * its peer has greeted.  Few connections may wait, for each peer and in all; when there are too
 * many the oldest gives way, so that a quick peer is let in whatever others do.  Users have a
 * share of the connections, and of the memory for what they send and do not read.  Some
 * connections are never given to ordinary users.  Connections of root and of `exempt` are not
 * counted.
 *
 * A connection's thread calls for its own seat.  The table has a lock; users' bytes are atomic. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define QUOTA_YOUNG_US INT64_C(1000000)

struct quota;
struct quota_peer;

struct quota_limits {
    unsigned waiting, waiting_each; /* connections that wait: in all, and of one peer */
    unsigned users, user_each;      /* connections of ordinary users after login, likewise */
    size_t bytes, bytes_each;       /* held for ordinary peers in all; of each */
    uid_t exempt;                   /* this one beside root and ourselves */
};

struct quota_key { /* zeroed before it is filled in */
    bool is_uid;
    uid_t uid;
    uint8_t addr[16]; /* IPv6: its network of 64 bits; IPv4: mapped */
};

/* One connection's place; part of it, zeroed at first. */
struct quota_seat {
    struct quota_peer *peer;
    struct quota_seat *older, *newer; /* waiting ones of the peer */
    int64_t since_mono_us;
    bool waiting; /* not a user's; changed by the connection's thread alone */
    bool steady;  /* may not give way: something is being done about it */
    size_t bytes; /* as last told */
};

struct quota *quota_new(const struct quota_limits *limits); /* NULL: out of memory */
struct quota *quota_free(struct quota *q);                  /* no seat is taken; always NULL */

/* A connection has come: it waits.  *ret_out is the seat that gives way to it, or NULL;
 * hold(seat) is called for it under the lock, since its owner may leave at any time.  A user on
 * the local socket who has too many that came within QUOTA_YOUNG_US gets no more instead: that
 * costs less, and nobody else comes by his name.  Errors: -EBUSY nobody can give way, -ENOMEM. */
int quota_enter(struct quota *q, struct quota_seat *seat, const struct quota_key *key,
                int64_t now_mono_us, void (*hold)(struct quota_seat *seat),
                struct quota_seat **ret_out);
/* Its peer is this user.  False: he has too many, or all users have; it goes on waiting. */
bool quota_login(struct quota *q, struct quota_seat *seat, uid_t uid);
/* It is gone.  A seat that never entered is fine. */
void quota_leave(struct quota *q, struct quota_seat *seat);
void quota_steady(struct quota *q, struct quota_seat *seat, bool steady);

/* It holds so many bytes now.  Cheap when nothing changed. */
void quota_hold(struct quota *q, struct quota_seat *seat, size_t bytes);
/* Does its peer hold more than his share, `more` bytes added? */
bool quota_over(struct quota *q, const struct quota_seat *seat, size_t more);
bool quota_over_now(struct quota *q, const struct quota_seat *seat); /* the same; any thread */
bool quota_exempt(struct quota *q, const struct quota_seat *seat);
/* Has its user, or have all users together, more than half of the connections they may have? */
bool quota_crowded(struct quota *q, const struct quota_seat *seat);
/* The oldest waiting connection of the peer that holds bytes gives way; as for quota_enter(). */
struct quota_seat *quota_oldest_with_bytes(struct quota *q, const struct quota_seat *seat,
                                           void (*hold)(struct quota_seat *seat));
