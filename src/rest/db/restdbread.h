/* restdbread.h - associations and QOS of a request's body, as changes for the accounting store;
 * pure
 *
 * Each member of the body is compared with the record of the store, as GET shows that record.  Only
 * members that differ become changes, so a client that sends back what it got changes nothing.
 * Members that are absent, null or unset change nothing.  An infinite number removes a limit; a
 * list of TRES removes the limits of those TRES that it does not name. */
#pragma once

#include <jansson.h>

#include "acctop.pb-c.h"
#include "base/err.h"
#include "cli/format/json_store.h"

enum { RESTDB_TRES_MAX = 1000 }; /* of one list */

/* Each function fills *set; the records of *set are freed with it.  have: the record of the store;
 * NULL: there is none yet.  Returns 1: there are changes; 0: nothing differs; -EINVAL with a
 * sentence; -ENOMEM. */
int restdbread_assoc(const json_t *body, const Pst__AssocRecord *have,
                     const struct store_names *names, Pst__AcctSet *set, struct err *err);
int restdbread_qos(const json_t *body, const Pst__QosRecord *have, const struct store_names *names,
                   Pst__AcctSet *set, struct err *err);
/* The member "association" of accounts_association and users_association, in which some members
 * have other names. */
int restdbread_assoc_set(const json_t *body, const struct store_names *names, Pst__AcctSet *set,
                         struct err *err);

/* Does the list of preemption of a QOS of the body name a QOS that the store does not have? */
bool restdbread_qos_waits(const json_t *body, const struct store_names *names);

/* A list of TRES as a text, "cpu=4,gres/gpu=2"; the caller frees.  *ret NULL: the list is empty. */
int restdbread_tres_text(const json_t *list, char **ret, struct err *err);
