/* sacctmgr_keys.h - the rows of keys and what fills requests from them; for sacctmgr_*.c only */
#pragma once

#include "cli/sacctmgr/sacctmgr.h"

#define CLEAR UINT32_MAX /* of priority and shares */

/* What a key's value is. */
enum kind {
    LIMIT_COUNT, /* field of Limits */
    LIMIT_TIME,
    LIMIT_TRES,
    LIMIT_ONE, /* one TRES of a list, an old name: GrpCPUs */
    WORDS,     /* names, into a list of AcctCond */
    WORDS_LOWER,
    SPECIAL, /* see special() */
};

enum special {
    S_FORMAT = 1,
    S_TREE,
    S_WITH_ASSOC,
    S_WITH_COORD,
    S_WITH_DELETED,
    S_WITH_CLUSTERS,
    S_WITH_SUB,
    S_ONLY_DEFAULTS,
    S_WO_LIMITS,
    S_WOP_INFO,
    S_WOP_LIMITS,
    S_RAW_QOS,
    S_ADMIN,
    S_DEF_ACCOUNT,
    S_DEF_QOS,
    S_DEF_WCKEY,
    S_WCKEYS,
    S_NEW_NAME,
    S_FAIRSHARE,
    S_PARENT,
    S_QOS,
    S_PRIORITY,
    S_DESCRIPTION,
    S_ORGANIZATION,
    S_FLAGS,
    S_RAW_USAGE,
    S_COMMENT,
    S_CLASS,
    S_GRACE,
    S_PREEMPT,
    S_PREEMPT_MODE,
    S_PREEMPT_EXEMPT,
    S_USAGE_FACTOR,
    S_USAGE_THRESHOLD,
    S_LIMIT_FACTOR,
    S_SERVER,
    S_SERVER_TYPE,
    S_TYPE,
    S_COUNT,
    S_ALLOWED,
    S_LAST_CONSUMED,
    S_IDS,
    S_ACTION,
    S_START,
    S_END,
    S_ALL_TIME,
    S_ALL_CLUSTERS,
    S_COND_FLAGS,
    S_EVENT,
    S_STATES,
    S_MIN_CPUS,
    S_MAX_CPUS,
    S_WITH_FED,
    S_FEDERATION,
    S_FED_STATE,
    S_FEATURES,
    S_FED_CLUSTERS,
    S_FED_FLAGS,
};

enum {
    COND = 1, /* where, or the bare words of list and delete */
    SET = 2,  /* behind set, or in add */
    NEW = 4,  /* in add only, as what is made */
};

#define LIMITED (SMGR_ACCOUNT | SMGR_USER | SMGR_CLUSTER | SMGR_ASSOC)
#define LISTED (~0u)
/* Entities that have to do with accounts and users. */
#define CHARGED                                                                                    \
    (LISTED &                                                                                      \
     ~(SMGR_CLUSTER | SMGR_TRES | SMGR_QOS | SMGR_RESOURCE | SMGR_RESERVATION | SMGR_FEDERATION))

struct key {
    const char *name;
    unsigned min;
    unsigned entities, places;
    enum kind kind;
    int what;          /* enum special, or TRES of LIMIT_ONE */
    const char *field; /* of Limits or AcctCond */
};

/* rows of the table */
#define L(name, min, kind, field)                                                                  \
    {                                                                                              \
        name, min, LIMITED, SET, kind, 0, field                                                    \
    }
#define Q(name, min, kind, field)                                                                  \
    {                                                                                              \
        name, min, SMGR_QOS, SET, kind, 0, field                                                   \
    }
#define B(name, min, kind, field)                                                                  \
    {                                                                                              \
        name, min, LIMITED | SMGR_QOS, SET, kind, 0, field                                         \
    }
#define ONE(name, min, tres, field)                                                                \
    {                                                                                              \
        name, min, LIMITED | SMGR_QOS, SET, LIMIT_ONE, tres, field                                 \
    }

extern const struct key smgr_keys[];
extern const size_t smgr_n_keys;

/* Names of a comma list, once each. */
void smgr_add_words(char ***list, size_t *n, const char *text, bool in_lower);
void smgr_lower(char *text);
void smgr_bad(struct smgr_line *l, const char *key, const char *value, const char *why);
void smgr_invalid(struct smgr_line *l, const char *key, const char *value);
/* "Unknown option: WORD", of the word at hand. */
void smgr_unknown_option(struct smgr_line *l);
/* False: told.  Of a QOS such a value is left out, of others the line has failed. */
bool smgr_number(struct smgr_line *l, const char *key, const char *value, uint32_t *ret);
bool smgr_real(struct smgr_line *l, const char *key, const char *value, double *ret);
const ProtobufCFieldDescriptor *smgr_field_of(const ProtobufCMessageDescriptor *d,
                                              const char *name);
Pst__AssocRecord *smgr_set_assoc(struct smgr_line *l);
Pst__QosRecord *smgr_set_qos(struct smgr_line *l);

/* One key's value into the line. */
void smgr_special(struct smgr_line *l, enum special what, bool cond, char op, const char *value);
bool smgr_switches(struct smgr_line *l,
                   enum special what); /* a word of no value; false: it has one */
