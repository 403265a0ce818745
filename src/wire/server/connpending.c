/* connpending.c - requests that are not answered yet; see connpending.h */
#include "wire/server/connpending.h"

#include <stdlib.h>

struct pending_large {
    uint32_t id;
    size_t len;
};

void conn_pending_add(struct conn_pending *p, uint32_t id, size_t len)
{
    p->n++;
    if (len < PENDING_LARGE)
        return;
    if (p->n_large == p->cap_large) {
        unsigned cap = p->cap_large ? p->cap_large * 2 : 4;
        struct pending_large *more = reallocarray(p->large, cap, sizeof(*more));

        if (!more)
            return;
        p->large = more;
        p->cap_large = cap;
    }
    p->large[p->n_large++] = (struct pending_large){ id, len };
    p->large_bytes += len;
}

bool conn_pending_end(struct conn_pending *p, uint32_t id)
{
    if (!p->n)
        return false;
    p->n--;
    for (unsigned i = 0; i < p->n_large; i++) {
        if (p->large[i].id != id)
            continue;
        p->large_bytes -= p->large[i].len;
        p->large[i] = p->large[--p->n_large];
        break;
    }
    return true;
}

void conn_pending_done(struct conn_pending *p)
{
    free(p->large);
    *p = (struct conn_pending){ 0 };
}
