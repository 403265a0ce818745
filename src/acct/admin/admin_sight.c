/* admin_sight.c - whose jobs and usage a user sees that PrivateData hides; see admin_sight.h */
#include "acct/admin/admin_sight.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "acct/admin/admin_impl.h"

void admin_sight_done(struct admin_sight *sight)
{
    for (size_t i = 0; i < sight->n; i++)
        free(sight->accounts[i]);
    free(sight->accounts);
    *sight = (struct admin_sight){ 0 };
}

/* On one of the clusters. */
static bool coordinates_somewhere(struct assoc_mgr *am, const char *user, const char *account)
{
    const ProtobufCMessage *rec;

    for (size_t pos = 0; (rec = am_next(am, AM_CLUSTER, &pos));)
        if (am_is_coordinator(am, ((const Pst__AcctClusterRecord *)rec)->name, user, account))
            return true;
    return false;
}

static int add_account(struct admin_sight *sight, const char *name)
{
    char **more = reallocarray(sight->accounts, sight->n + 1, sizeof(*more));

    if (!more)
        return -ENOMEM;
    sight->accounts = more;
    more[sight->n] = strdup(name);
    if (!more[sight->n])
        return -ENOMEM;
    sight->n++;
    return 0;
}

int admin_sight(struct admin *a, const struct admin_who *who, struct admin_sight *ret)
{
    struct admin_sight sight = { 0 };
    const ProtobufCMessage *rec;
    int r = 0;

    sight.all = who->root || am_admin_level(a->am, who->user) >= PST__ADMIN_LEVEL__ADMIN_OPERATOR;
    if (!sight.all && !(who->rules & ADMIN_NO_COORDINATORS))
        for (size_t pos = 0; r == 0 && (rec = am_next(a->am, AM_ACCOUNT, &pos));) {
            const Pst__AccountRecord *account = (const Pst__AccountRecord *)rec;

            if (!account->deleted && coordinates_somewhere(a->am, who->user, account->name))
                r = add_account(&sight, account->name);
        }
    if (r < 0) {
        admin_sight_done(&sight);
        return r;
    }
    *ret = sight;
    return 0;
}
