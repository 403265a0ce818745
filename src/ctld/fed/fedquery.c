/* fedquery.c - what scontrol show federation asks for; see fedquery.h */
#include "ctld/fed/fedquery.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/must.h"
#include "ctld/core/service.h"

#define HEARD_US (10 * USEC_PER_SEC) /* a living peer says so every two seconds */

static Pst__FedMember *make_member(struct fed *f, const Pst__AcctClusterRecord *c)
{
    struct fed_peer *p = &f->peers[c->fed_id];
    Pst__FedMember *m = must(malloc(sizeof(*m)));

    pst__fed_member__init(m);
    m->name = c->name; /* texts are accounting's: the answer is packed before they change */
    m->host = c->control_host;
    SET(m, port, c->control_port);
    SET(m, fed_id, c->fed_id);
    SET(m, fed_state, c->has_fed_state ? c->fed_state : FED_STATE_ACTIVE);
    m->features = c->features;
    m->n_features = c->n_features;
    SET(m, sends, p->link && fedlink_is_up(p->link));
    SET(m, receives, p->heard_us && core_now() - p->heard_us < HEARD_US);
    SET(m, synced, m->sends && !p->todo.count && !p->asked.count);
    return m;
}

/* This cluster first, the others by name. */
static int compare_members(const void *a, const void *b)
{
    const Pst__FedMember *x = *(Pst__FedMember *const *)a, *y = *(Pst__FedMember *const *)b;

    return strcasecmp(x->name, y->name);
}

void op_query_federation(struct ctld *ctld, struct cmd *cmd)
{
    const struct fedset *all = ctld->fed ? fed_members(ctld->fed) : NULL;
    Pst__FedMember *list[FED_CLUSTERS_MAX + 1];
    Pst__FedInfo info = PST__FED_INFO__INIT;

    if (all) {
        info.name = (char *)all->name; /* not changed by packing */
        info.members = list;
        list[info.n_members++] = make_member(ctld->fed, all->of[all->self]);
        for (uint32_t i = 1; i <= FED_CLUSTERS_MAX; i++)
            if (all->of[i] && i != all->self)
                list[info.n_members++] = make_member(ctld->fed, all->of[i]);
        qsort(list + 1, info.n_members - 1, sizeof(*list), compare_members);
    }
    core_reply(ctld, cmd, 0, 0, &info.base);
    for (size_t i = 0; i < info.n_members; i++)
        free(list[i]);
}
