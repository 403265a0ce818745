/* assoc_priv.h - what assoc.c (tables, tree) and assoc_eff.c (what is inherited) share */
#pragma once

#include "model/account/assoc.h"
#include "model/tables/idmap.h"

#define AM_MAX_DEPTH 256u /* of the tree; a longer line of parents is a circle */

struct am_rec {
    enum am_kind kind;
    uint32_t serial;
    uint32_t id; /* 0: found by its key alone */
    char *key;   /* NULL: found by its id alone, or deleted */
    Pst__AcctChange *change;
    struct assoc a;  /* AM_ASSOC */
    char *owner_key; /* AM_WCKEY: of cluster and user, when it is the default; else NULL */
    /* AM_ASSOC: what it comes to, each as of a generation; 0 = not worked out */
    uint64_t limits_gen, qos_gen, lineage_gen;
    Pst__Limits limits; /* its lists point at counts of this and other records */
    uint32_t *qos;
    size_t nqos;
    uint32_t default_qos;
    char *lineage;
};

struct assoc_mgr {
    struct idmap by_serial; /* serial -> struct am_rec: all */
    struct idmap by_id[AM_KINDS];
    struct namemap by_key[AM_KINDS]; /* accounts, users, clusters: deleted ones too */
    size_t count[AM_KINDS];
    uint32_t last_serial;
    uint64_t generation, linked;   /* linked: generation the tree is of */
    size_t orphans;                /* whose parent is not there (yet) */
    struct namemap users;          /* user -> first struct assoc; with the tree */
    struct namemap roots;          /* cluster -> struct assoc of the account root */
    struct namemap default_wckeys; /* key of cluster and user -> struct am_rec */
    const struct am_observer *observer;
};

/* assoc.c */
void am_link(struct assoc_mgr *am); /* make the tree current */
void am_oom(const void *p);         /* ends the process when p is NULL */
char *am_owner_key(const char *cluster, const char *user);
/* Lists of r->limits that an association inherits, and those that are its own. */
#define INHERITED_LISTS(X)                                                                         \
    X(max_tres_per_job) X(max_tres_per_node) X(max_tres_mins_per_job) X(max_tres_run_mins)
#define OWN_LISTS(X) X(grp_tres) X(grp_tres_mins) X(grp_tres_run_mins)
void am_free_limits(struct am_rec *r); /* as they were worked out: empty from now on */
