/* health.c - when nodes are to run HealthCheckProgram; see health.h
 *
 * All at once every HealthCheckInterval, or with CYCLE one after the other so that each is asked
 * once in that time.  The controller decides, as it knows the states; slurmd runs the program
 * once more at its own start. */
#include "ctld/node/health.h"

#include "base/cleanup.h"
#include "base/timefmt.h"
#include "ctld/job/lifecycle.h"
#include "ctld/core/service.h"

static bool word(const struct ctld *ctld, const char *name)
{
    const char *v;
    size_t len;

    return conf_option(ctld->conf, CONF_HEALTH_CHECK_NODE_STATE, name, &v, &len);
}

struct wanted {
    bool any, alloc, idle, mixed, nondrained_idle;
};

static struct wanted wanted_states(const struct ctld *ctld)
{
    struct wanted w = { .alloc = word(ctld, "ALLOC"),
                        .idle = word(ctld, "IDLE"),
                        .mixed = word(ctld, "MIXED"),
                        .nondrained_idle = word(ctld, "NONDRAINED_IDLE") };

    w.any = word(ctld, "ANY") || !(w.alloc || w.idle || w.mixed || w.nondrained_idle);
    return w;
}

static bool matches(const struct wanted *w, const struct node *n)
{
    const Pst__NodeRecord *r = n->rec;
    bool up = r->state == PST__NODE_STATE__NODE_IDLE, idle = up && n->jobs == 0;
    bool alloc = up && n->alloc_cpus > 0 && n->alloc_cpus >= r->cpus;

    if (w->any)
        return true;
    return (w->alloc && alloc) || (w->mixed && up && !idle && !alloc) || (w->idle && idle) ||
           (w->nondrained_idle && idle &&
            !(r->state_flags & (1u << PST__NODE_FLAG__NODE_FLAG_DRAIN)));
}

static void ask(struct ctld *ctld, uint32_t from, uint32_t to)
{
    const struct wanted w = wanted_states(ctld);
    const Pst__Empty empty = PST__EMPTY__INIT;

    for (uint32_t i = from; i < to; i++) {
        const struct node *n = ctld->cluster->nodes[i];

        if (n && node_is_linked(ctld, n) && matches(&w, n))
            /* lost: the next round asks again */
            (void)node_send(ctld, n, 0, OP_NODE_HEALTH, &empty.base);
    }
}

void health_tick(struct ctld *ctld, int64_t now)
{
    int64_t interval = (int64_t)conf_num(ctld->conf, CONF_HEALTH_CHECK_INTERVAL) * USEC_PER_SEC;
    const char *program = conf_str(ctld->conf, CONF_HEALTH_CHECK_PROGRAM);
    uint32_t nodes = ctld->cluster->nnodes, due;

    if (!interval || !program || !*program || word(ctld, "START_ONLY"))
        return;
    if (!ctld->health_start_us)
        ctld->health_start_us = now;
    due = now - ctld->health_start_us >= interval
              ? nodes
              : (uint32_t)((now - ctld->health_start_us) * (int64_t)nodes / interval);
    if (word(ctld, "CYCLE") && ctld->health_next < due) {
        ask(ctld, ctld->health_next, due);
        ctld->health_next = due;
    }
    if (now - ctld->health_start_us < interval)
        return;
    if (!word(ctld, "CYCLE"))
        ask(ctld, 0, nodes);
    ctld->health_start_us = now;
    ctld->health_next = 0;
}

/* ---- the service ----------------------------------------------------------------------------- */

const struct ctld_service health_service = { .name = "health", .tick_writing = health_tick };
