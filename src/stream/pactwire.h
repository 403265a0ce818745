/* pactwire.h - the witness's record as messages have it
 *
 * What comes from a peer is checked here: names that are none, sets that are too long. */
#pragma once

#include "api.pb-c.h"

#include "journal/term.h"
#include "stream/pact.h"

/* What the witness has, beside the record: the newest lease, as its holder told it. */
struct witness_state {
    struct pact_record record;
    bool has_lease;
    uint8_t lease[TERM_BYTES];
};

/* -EINVAL: no host, or one that is too long, or no id. */
int pactwire_member(const Pst__StreamMember *in, struct pact_member *ret);
/* The change that a request asks for; without claim and change only version, term and by. */
int pactwire_change(const Pst__WitnessRequest *in, struct pact_change *ret);
int pactwire_state(const Pst__WitnessReply *in, struct witness_state *ret);

/* A message whose parts lie in memory of the caller's; strings are borrowed from what is told. */
struct pactwire_set {
    Pst__StreamMember members[PACT_SET_MAX], *list[PACT_SET_MAX];
};
void pactwire_tell_member(const struct pact_member *m, Pst__StreamMember *out);
size_t pactwire_tell_set(const struct pact_set *set, struct pactwire_set *out);
