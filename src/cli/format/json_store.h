/* json_store.h - records of the accounting store as objects of the REST schema: sacctmgr --json and
 * /slurmdb/
 *
 * Pure: what ids mean and whom a record has beside it is handed in. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "assoc.pb-c.h"
#include "cli/format/json_out.h"

/* What ids of other records mean; borrowed. */
struct store_names {
    Pst__TresRecord **tres;
    size_t n_tres;
    Pst__QosRecord **qos;
    size_t n_qos;
};

/* What users, accounts and clusters need beside their own records; borrowed. */
struct store_people {
    Pst__AssocRecord **assocs;
    size_t n_assocs;
    Pst__AccountRecord **accounts;
    size_t n_accounts;
    Pst__WckeyRecord **wckeys;
    size_t n_wckeys;
    bool with_assoc, with_coord, with_default;
};

const Pst__TresRecord *store_tres(const struct store_names *names, uint32_t id); /* NULL: unknown */
const char *store_qos_name(const struct store_names *names, uint32_t id);        /* NULL: unknown */
const char *store_admin_word(Pst__AdminLevel level);
/* of QosRecord.preempt_mode: "CANCEL"; NULL behind the last */
const char *store_preempt_word(unsigned bit);
/* of QosRecord.flags: "DENY_LIMIT"; NULL behind the last */
const char *store_qos_flag(unsigned bit);

/* Each writes one object, a member of the open list. */
void json_store_account(struct json *js, const Pst__AccountRecord *a,
                        const struct store_people *people);
void json_store_user(struct json *js, const Pst__UserRecord *u, const struct store_people *people);
void json_store_assoc(struct json *js, const Pst__AssocRecord *a, const struct store_names *names);
void json_store_qos(struct json *js, const Pst__QosRecord *q, const struct store_names *names);
void json_store_cluster(struct json *js, const Pst__AcctClusterRecord *c,
                        const struct store_people *people, const struct store_names *names);
void json_store_tres(struct json *js, const Pst__TresRecord *t);
void json_store_wckey(struct json *js, const Pst__WckeyRecord *w);
