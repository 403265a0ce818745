/* assoc.h - who may use what: accounts, users, associations, QOS, and what follows from them
 *
 * The tables that a run of AcctChange builds up, the same in the accounting store and in a
 * controller: records found by id or name, the tree of each cluster's associations, and what an
 * association inherits. Nothing here knows jobs or nodes.
 *
 *     am_new(&am);  am_apply(am, change, &err);
 *     const struct assoc *a = am_find(am, "demo", "physics", "alice", NULL);
 *     const Pst__Limits *l = am_limits(am, a);       what holds for alice there
 *     size_t n = am_qos_list(am, a, &ids);           what she may ask for
 *
 * Records are what was set at their own level.  What is inherited is worked out when asked for
 * and kept until the next change, so a question costs O(1), the first one after a change
 * O(depth), and the first about parents and children O(associations).
 *
 * Pure data, one thread at a time, questions included.  Every pointer given back is borrowed and
 * good until the next am_apply().  Account and QOS names do not mind letter case, user names do. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/err.h"

#include "assoc.pb-c.h"

#define AM_ROOT "root"   /* the account above all others */
#define AM_QOS_NORMAL 1u /* id of the QOS that is always there */
/* ids that are the same everywhere; others come as records, from 1001 */
enum am_tres {
    AM_TRES_CPU = 1,
    AM_TRES_MEM = 2,
    AM_TRES_ENERGY = 3,
    AM_TRES_NODE = 4,
    AM_TRES_BILLING = 5,
    AM_TRES_FS_DISK = 6,
    AM_TRES_VMEM = 7,
    AM_TRES_PAGES = 8,
    AM_TRES_DYNAMIC = 1001,
};

enum am_kind {
    AM_TRES,
    AM_QOS,
    AM_ACCOUNT,
    AM_USER,
    AM_ASSOC,
    AM_WCKEY,
    AM_RESOURCE,
    AM_CLUSTER,
    AM_FEDERATION,
    AM_KINDS
};

struct assoc {
    const Pst__AssocRecord *rec;
    uint32_t id;
    bool user;                  /* a user's; else an account's own */
    struct assoc *next_of_user; /* next of this user, any cluster; see am_of_user() */
    /* the tree; NULL = none.  Kept current by am_find(), am_assoc(), am_next_assoc() and
     * am_root() */
    struct assoc *parent, *child, *sibling;
    unsigned depth; /* parents above it */
};

struct assoc_mgr;

/* Errors: -ENOMEM. */
int am_new(struct assoc_mgr **ret_am);
struct assoc_mgr *am_free(struct assoc_mgr *am); /* NULL is a no-op; always NULL */
DEFINE_CLEANUP(struct assoc_mgr *, am_free)

/* Apply one change; `ch` is copied.  A put replaces the record of that id or name whole, a
 * removal of what is not there is nothing.  Errors: -EUCLEAN, with a sentence, for a change that
 * says nothing usable (no id, no name); -ENOMEM. Nothing has changed then. */
int am_apply(struct assoc_mgr *am, const Pst__AcctChange *ch, struct err *err);
uint64_t am_generation(const struct assoc_mgr *am); /* grows with every change */

/* ---- records --------------------------------------------------------------------------------- */

/* NULL: there is none.  Records marked deleted are found by id and by am_next(), not by name. */
const Pst__QosRecord *am_qos(const struct assoc_mgr *am, uint32_t qos_id);
const Pst__QosRecord *am_qos_named(const struct assoc_mgr *am, const char *name);
const Pst__AccountRecord *am_account(const struct assoc_mgr *am, const char *name);
const Pst__UserRecord *am_user(const struct assoc_mgr *am, const char *name);
const Pst__WckeyRecord *am_wckey(const struct assoc_mgr *am, uint32_t wckey_id);
const Pst__WckeyRecord *am_wckey_named(const struct assoc_mgr *am, const char *cluster,
                                       const char *user, const char *name);
const Pst__ResourceRecord *am_resource(const struct assoc_mgr *am, uint32_t resource_id);
const Pst__FederationRecord *am_federation(const struct assoc_mgr *am, const char *name);
const Pst__AcctClusterRecord *am_cluster(const struct assoc_mgr *am, const char *name);

/* Every record of a kind, deleted ones too, in no order: start with *pos = 0; NULL at the end. */
/* Its own, or that of the nearest above which has one; 0: none has. */
uint32_t am_priority(const struct assoc *a);
const ProtobufCMessage *am_next(const struct assoc_mgr *am, enum am_kind kind, size_t *pos);
size_t am_count(const struct assoc_mgr *am, enum am_kind kind); /* deleted ones too */

/* Id of a TRES by its full name ("cpu", "fs/disk", "gres/gpu:a100", "license/matlab"), 0 =
 * unknown. */
uint32_t am_tres_id(const struct assoc_mgr *am, const char *name);
/* The name of a TRES; false: unknown id. */
bool am_tres_name(const struct assoc_mgr *am, uint32_t tres_id, char *buf, size_t size);

/* ---- associations ---------------------------------------------------------------------------- */

/* By id, deleted ones too. */
struct assoc *am_assoc(struct assoc_mgr *am, uint32_t assoc_id);
/* Exactly this one; user and partition NULL or "" = without. */
struct assoc *am_find(struct assoc_mgr *am, const char *cluster, const char *account,
                      const char *user, const char *partition);
/* The one a user's job is charged to: account NULL = his default there; the one of the partition
 * before the one for all.  NULL: he may not use it. */
struct assoc *am_find_job(struct assoc_mgr *am, const char *cluster, const char *user,
                          const char *account, const char *partition);
struct assoc *am_root(struct assoc_mgr *am, const char *cluster); /* of the account root */
/* the first of a list, not deleted ones */
struct assoc *am_of_user(struct assoc_mgr *am, const char *user);
struct assoc *am_next_assoc(struct assoc_mgr *am, size_t *pos); /* all, in no order */

/* What holds for a: Max* of its own or of the next above that sets it (for each TRES), Grp* its
 * own.  A limit lifted with -1 is absent here.  Out of memory ends the process. */
const Pst__Limits *am_limits(struct assoc_mgr *am, const struct assoc *a);
/* QOS ids that a may use, ascending: its own list, or its parent's, with what it adds and
 * removes. */
size_t am_qos_list(struct assoc_mgr *am, const struct assoc *a, const uint32_t **ret_ids);
bool am_may_use_qos(struct assoc_mgr *am, const struct assoc *a, uint32_t qos_id);
/* Its own, or inherited; 0 = none is set. */
uint32_t am_default_qos(struct assoc_mgr *am, const struct assoc *a);
/* "/science/physics/0-alice/" */
const char *am_lineage(struct assoc_mgr *am, const struct assoc *a);
/* Is `above` a or an account above it? */
bool am_is_below(struct assoc_mgr *am, const struct assoc *a, const struct assoc *above);

/* NULL: none. */
const char *am_default_account(struct assoc_mgr *am, const char *cluster, const char *user);
const char *am_default_wckey(struct assoc_mgr *am, const char *cluster, const char *user);

/* ---- rights ---------------------------------------------------------------------------------- */

/* NOT_SET: unknown user */
Pst__AdminLevel am_admin_level(const struct assoc_mgr *am, const char *user);
/* Is user a coordinator of account, or of one above it in that cluster? */
bool am_is_coordinator(struct assoc_mgr *am, const char *cluster, const char *user,
                       const char *account);

/* ---- limits ---------------------------------------------------------------------------------- */

/* The count for a TRES in a list of limits; false: none is set, or it is lifted with -1. */
bool am_tres_limit(Pst__TresCount *const *list, size_t n, uint32_t tres_id, int64_t *ret_count);

/* ---- for code that stores or sends the records ----------------------------------------------- */

/* Told after each change.  `put` is the change that makes the record again, without a version,
 * and `serial` its number here, never used again; `gone` comes before the record is freed. */
struct am_observer {
    void (*put)(void *ctx, uint32_t serial, const Pst__AcctChange *put);
    void (*gone)(void *ctx, uint32_t serial, const Pst__AcctChange *put);
    void *ctx;
};
/* borrowed; NULL = none */
void am_observe(struct assoc_mgr *am, const struct am_observer *observer);
/* The record of a put change as these tables have it, NULL = not there. */
const Pst__AcctChange *am_present(const struct assoc_mgr *am, const Pst__AcctChange *put);
/* Walk all of them in no order: start with *pos = 0; NULL at the end. */
const Pst__AcctChange *am_next_put(const struct assoc_mgr *am, size_t *pos);
/* The change that removes a record put so.  Borrows its names. */
void am_removal(const Pst__AcctChange *put, Pst__AcctChange *ret_removal);
