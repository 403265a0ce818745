/* connjudge.c - may a peer ask for an operation?  See connjudge.h. */
#include "wire/server/connjudge.h"

#include "api.pb-c.h"

#include "wire/access.h"
#include "wire/errors.h"

static unsigned way_of(const struct peer *p)
{
    return p->method == PST__AUTH_METHOD__AUTH_PEERCRED ? ACCESS_LOCAL
           : p->method == PST__AUTH_METHOD__AUTH_JWT ||
                   p->method == PST__AUTH_METHOD__AUTH_BEARER || p->node_vouched
               ? ACCESS_TOKEN
           : p->method == PST__AUTH_METHOD__AUTH_NODE ? ACCESS_NODE_KEY
                                                      : ACCESS_KEY;
}

/* May the peer ask a listener for what needs this role?  An administrator is known by name to
 * the daemon alone, which asks that itself. */
static bool has_role(const struct conn_judge *j, enum access_role role)
{
    uid_t uid = j->peer->uid;
    bool proven = j->open && uid != (uid_t)-1;

    switch (role) {
    case ACCESS_ANYBODY:
        return true;
    case ACCESS_CREDENTIAL:
        return j->open && j->peer->method == PST__AUTH_METHOD__AUTH_STEP;
    case ACCESS_USER:
    case ACCESS_ADMIN:
        return proven;
    case ACCESS_ROOT:
        return proven && (uid == 0 || uid == j->slurm_uid);
    case ACCESS_NODE:
        return (proven && (uid == 0 || uid == j->slurmd_uid)) ||
               (j->open && j->peer->method == PST__AUTH_METHOD__AUTH_NODE);
    case ACCESS_PEER: /* step daemons have no listener: only a server that plays one */
        return j->open;
    default:
        return false; /* not served, or not at a listener */
    }
}

int conn_judge(const struct conn_judge *j, unsigned op)
{
    const struct access_row *row = access_row(op);
    bool served = false, may = false, open = false;

    for (unsigned at = 0; row && at < ACCESS_AT_MAX_; at++) {
        enum access_role role = row->at[at];

        if (!(j->serves & ACCESS_AT(at)))
            continue;
        served = served || (role != ACCESS_NONE && role != ACCESS_CONTROLLER);
        open = open || role == ACCESS_ANYBODY;
        may = may || has_role(j, role);
    }
    if (!j->open && !open)
        return EPST_AUTH;
    if (!served)
        return EPST_BAD_REQUEST;
    return may && row->ways & way_of(j->peer) ? 0 : ESLURM_ACCESS_DENIED;
}
