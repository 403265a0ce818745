/* restdbread.h - records of bodies as settings of a request: associations and QOS; pure
 *
 * What a body holds is compared with the record that the store has, as GET shows it: only what
 * differs is set, so that a record which is sent back unchanged changes nothing.  Members that are
 * absent, null or unset stay as they are; an infinite number takes a limit away, and so does a list
 * of TRES without it. */
#pragma once

#include <jansson.h>

#include "acctop.pb-c.h"
#include "base/err.h"
#include "cli/format/json_store.h"

enum { RESTDB_TRES_MAX = 1000 }; /* of one list */

/* Each fills *set, whose records are freed with it.  have: what there is, NULL for one that is
 * new.  Returns 1 something is set, 0 nothing differs; -EINVAL with a sentence, -ENOMEM. */
int restdbread_assoc(const json_t *body, const Pst__AssocRecord *have,
                     const struct store_names *names, Pst__AcctSet *set, struct err *err);
int restdbread_qos(const json_t *body, const Pst__QosRecord *have, const struct store_names *names,
                   Pst__AcctSet *set, struct err *err);
/* "association" of accounts_association and users_association, which has names of its own. */
int restdbread_assoc_set(const json_t *body, const struct store_names *names, Pst__AcctSet *set,
                         struct err *err);

/* Does a QOS of the body name another in its list of preemption that the store lacks? */
bool restdbread_qos_waits(const json_t *body, const struct store_names *names);

/* "cpu=4,gres/gpu=2" of a list of TRES; caller frees.  *ret NULL: the list is empty. */
int restdbread_tres_text(const json_t *list, char **ret, struct err *err);
