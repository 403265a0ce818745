/* pactwire.c - see pactwire.h */
#include "stream/pactwire.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/pb/pbutil.h"
#include "model/tx.h"

int pactwire_member(const Pst__StreamMember *in, struct pact_member *ret)
{
    size_t n = in && in->host ? strlen(in->host) : 0;

    if (!n || n >= PACT_HOST_BYTES || !in->has_id)
        return -EINVAL;
    for (size_t i = 0; i < n; i++)
        if (in->host[i] <= ' ' || in->host[i] > '~')
            return -EINVAL;
    memset(ret, 0, sizeof(*ret)); /* records are compared byte by byte, and written */
    (void)snprintf(ret->host, sizeof(ret->host), "%s", in->host);
    ret->id = in->id;
    return 0;
}

static int read_set(size_t n, Pst__StreamMember *const *list, struct pact_set *ret)
{
    int r = n <= PACT_SET_MAX ? 0 : -EINVAL;

    memset(ret, 0, sizeof(*ret));
    for (size_t i = 0; i < n && r == 0; i++)
        r = pactwire_member(list[i], &ret->v[i]);
    ret->n = r == 0 ? (uint32_t)n : 0;
    return r;
}

int pactwire_change(const Pst__WitnessRequest *in, struct pact_change *ret)
{
    struct pact_change c = { .claim = in->has_claim && in->claim,
                             .version = in->version,
                             .term = in->term };
    int r = pactwire_member(in->by, &c.by);

    if (r == 0 && in->has_change && in->change)
        r = c.claim ? -EINVAL : read_set(in->n_in_sync, in->in_sync, &c.in_sync);
    if (r == 0)
        *ret = c;
    return r;
}

int pactwire_state(const Pst__WitnessReply *in, struct witness_state *ret)
{
    struct witness_state s = { .record = { .version = in->version, .term = in->term } };
    int r = in->has_version && in->version ? 0 : -EINVAL;

    if (r == 0 && in->term)
        r = pactwire_member(in->holder, &s.record.holder);
    if (r == 0)
        r = read_set(in->n_in_sync, in->in_sync, &s.record.in_sync);
    if (r == 0 && in->has_lease && in->lease.len == TERM_BYTES) {
        memcpy(s.lease, in->lease.data, TERM_BYTES);
        s.has_lease = true;
    }
    if (r == 0)
        *ret = s;
    return r;
}

void pactwire_tell_member(const struct pact_member *m, Pst__StreamMember *out)
{
    pst__stream_member__init(out);
    out->host = (char *)m->host; /* not changed by packing */
    SET(out, id, m->id);
}

size_t pactwire_tell_set(const struct pact_set *set, struct pactwire_set *out)
{
    for (uint32_t i = 0; i < set->n; i++) {
        pactwire_tell_member(&set->v[i], &out->members[i]);
        out->list[i] = &out->members[i];
    }
    return set->n;
}
