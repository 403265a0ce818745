/* health.c - when nodes are to run HealthCheckProgram
 *
 * All at once every HealthCheckInterval, or with CYCLE one after the other so that each is asked
 * once in that time.  The controller decides, as it knows the states; slurmd runs the program
 * once more at its own start. */
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/timefmt.h"
#include "ctld/job/lifecycle.h"
#include "ctld/core/service.h"

struct health {
    int64_t start_us; /* of the present round */
    uint32_t next;    /* node asked next in it */
};

static bool has_word(const struct ctld *ctld, const char *name)
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
    struct wanted w = { .alloc = has_word(ctld, "ALLOC"),
                        .idle = has_word(ctld, "IDLE"),
                        .mixed = has_word(ctld, "MIXED"),
                        .nondrained_idle = has_word(ctld, "NONDRAINED_IDLE") };

    w.any = has_word(ctld, "ANY") || !(w.alloc || w.idle || w.mixed || w.nondrained_idle);
    return w;
}

static bool matches_state(const struct wanted *w, const struct node *n)
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

static void ask_nodes(struct ctld *ctld, uint32_t from, uint32_t to)
{
    const struct wanted w = wanted_states(ctld);
    const Pst__Empty empty = PST__EMPTY__INIT;

    for (uint32_t i = from; i < to; i++) {
        const struct node *n = ctld->cluster->nodes[i];

        if (n && node_is_linked(ctld, n) && matches_state(&w, n))
            /* lost: the next round asks again */
            (void)node_send(ctld, n, 0, OP_NODE_HEALTH, &empty.base);
    }
}

static void tick_health(struct ctld *ctld, int64_t now)
{
    struct health *h = ctld->health;
    int64_t interval = (int64_t)conf_num(ctld->conf, CONF_HEALTH_CHECK_INTERVAL) * USEC_PER_SEC;
    const char *program = conf_str(ctld->conf, CONF_HEALTH_CHECK_PROGRAM);
    uint32_t nodes = ctld->cluster->nnodes, due;

    if (!interval || !program || !*program || has_word(ctld, "START_ONLY"))
        return;
    if (!h->start_us)
        h->start_us = now;
    due = now - h->start_us >= interval
              ? nodes
              : (uint32_t)((now - h->start_us) * (int64_t)nodes / interval);
    if (has_word(ctld, "CYCLE") && h->next < due) {
        ask_nodes(ctld, h->next, due);
        h->next = due;
    }
    if (now - h->start_us < interval)
        return;
    if (!has_word(ctld, "CYCLE"))
        ask_nodes(ctld, 0, nodes);
    h->start_us = now;
    h->next = 0;
}

/* ---- the service ----------------------------------------------------------------------------- */

static int start_health(struct ctld *ctld, struct err *err)
{
    ctld->health = calloc(1, sizeof(*ctld->health));
    return ctld->health ? 0 : err_nomem(err);
}

static void free_health(struct ctld *ctld)
{
    free(ctld->health);
    ctld->health = NULL;
}

const struct ctld_service health_service = {
    .name = "health",
    .start = start_health,
    .free = free_health,
    .tick_writing = tick_health,
};
