/* stepuse.c - see stepuse.h */
#include "model/words/stepuse.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/pb/pbutil.h"

const Pst__TaskUse *stepuse_find(const Pst__StepUsage *u, Pst__UseKind kind)
{
    for (size_t i = 0; u && i < u->n_uses; i++)
        if (u->uses[i]->kind == kind)
            return u->uses[i];
    return NULL;
}

/* Add `b` to `a`, of the same kind. */
static int add_use(Pst__TaskUse *a, const Pst__TaskUse *b)
{
    int r = 0;

    a->total += b->total;
    if (b->max > a->max) {
        a->max = b->max;
        a->max_task = b->max_task;
        r = pb_set_str(&a->max_node, b->max_node);
    }
    if (r == 0 && b->min < a->min) {
        a->min = b->min;
        a->min_task = b->min_task;
        r = pb_set_str(&a->min_node, b->min_node);
    }
    return r;
}

/* Kinds that only b has are b's. */
static int add_uses(Pst__StepUsage *a, const Pst__StepUsage *b)
{
    Pst__TaskUse **uses = realloc(a->uses, (a->n_uses + b->n_uses + 1) * sizeof(Pst__TaskUse *));

    if (!uses)
        return -1;
    a->uses = uses;
    for (size_t i = 0; i < b->n_uses; i++) {
        Pst__TaskUse *have = (Pst__TaskUse *)stepuse_find(a, b->uses[i]->kind);
        ProtobufCMessage *copy = NULL;

        if (have ? add_use(have, b->uses[i]) < 0 : pb_dup(&b->uses[i]->base, &copy) < 0)
            return -1;
        if (copy)
            a->uses[a->n_uses++] = (Pst__TaskUse *)copy;
    }
    return 0;
}

static int add_usage(Pst__StepUsage *u, const Pst__StepUsage *b)
{
    int r = 0;

    u->user_us += b->user_us;
    u->sys_us += b->sys_us;
    u->read_bytes += b->read_bytes;
    u->write_bytes += b->write_bytes;
    u->has_user_us = u->has_sys_us = u->has_read_bytes = u->has_write_bytes = true;
    if (b->max_rss_kib >= u->max_rss_kib) {
        u->has_max_rss_kib = true;
        u->max_rss_kib = b->max_rss_kib;
        r = pb_set_str(&u->max_rss_node, b->max_rss_node);
    }
    u->has_tasks |= b->has_tasks;
    u->tasks += b->tasks;
    u->has_freq_khz |= b->has_freq_khz;
    u->freq_khz += b->freq_khz;
    u->has_energy_j |= b->has_energy_j;
    u->energy_j += b->energy_j;
    return r < 0 ? r : add_uses(u, b);
}

Pst__StepUsage *stepuse_sum(const Pst__StepUsage *a, const Pst__StepUsage *b)
{
    ProtobufCMessage *copy = NULL;

    if (a && pb_dup(&a->base, &copy) < 0)
        return NULL;
    if (!copy) {
        copy = malloc(sizeof(Pst__StepUsage));
        if (!copy)
            return NULL;
        pst__step_usage__init((Pst__StepUsage *)copy);
    }
    if (b && add_usage((Pst__StepUsage *)copy, b) < 0) {
        protobuf_c_message_free_unpacked(copy, NULL);
        return NULL;
    }
    return (Pst__StepUsage *)copy;
}
