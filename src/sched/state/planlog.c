/* planlog.c - what happened since a conservative plan was made; see planlog.h. */
#include "sched/state/planlog.h"

#include <errno.h>
#include <stdlib.h>

#include "base/bitmap.h"
#include "sched/sched.h"
#include "sched/state/jobs.h"
#include "sched/state/sched_obj.h"

#define PLAN_CAME_MAX 16384u

int planlog_start(struct sched *s)
{
    struct planlog *log = &s->log;

    *log = (struct planlog){ .on = true };
    log->dirty_ids = calloc(s->nnodes + 1, sizeof(*log->dirty_ids));
    log->freed_ids = calloc(s->nnodes + 1, sizeof(*log->freed_ids));
    if (!log->dirty_ids || !log->freed_ids || bitmap_new(s->nbits, &log->dirty) < 0)
        return -ENOMEM;
    return bitmap_new(s->nbits, &log->freed);
}

void planlog_end(struct sched *s)
{
    bitmap_free(s->log.dirty);
    bitmap_free(s->log.freed);
    free(s->log.dirty_ids);
    free(s->log.freed_ids);
    free(s->log.came);
    s->log = (struct planlog){ 0 };
}

void planlog_nodes(struct sched *s, const struct sched_alloc *a, bool freed)
{
    struct planlog *log = &s->log;

    for (size_t i = 0; i < a->nnodes; i++) {
        uint32_t id = a->nodes[i].node_id;

        if (id >= s->nnodes || id >= log->dirty->nbits) {
            log->lost = true;
            continue;
        }
        if (!bitmap_test(log->dirty, id)) {
            bitmap_set(log->dirty, id);
            log->dirty_ids[log->ndirty++] = id;
        }
        if (freed && !bitmap_test(log->freed, id)) {
            bitmap_set(log->freed, id);
            log->freed_ids[log->nfreed++] = id;
        }
    }
}

void planlog_came(struct sched *s, const struct job *j)
{
    struct planlog *log = &s->log;

    if (!log->on || log->lost)
        return;
    if (log->ncame == log->cap_came) {
        uint32_t cap = log->cap_came ? log->cap_came * 2 : 16,
                 *grown = cap > PLAN_CAME_MAX ? NULL : realloc(log->came, cap * sizeof(*grown));

        if (!grown) {
            log->lost = true; /* too many: a new plan looks at all of them */
            return;
        }
        log->came = grown;
        log->cap_came = cap;
    }
    log->came[log->ncame++] = j->id;
}

void planlog_node(struct sched *s, uint32_t id)
{
    struct sched_alloc_node an = { .node_id = id };
    struct sched_alloc a = { .nodes = &an, .nnodes = 1 };

    if (s->log.on)
        planlog_nodes(s, &a, true);
}

void planlog_other(struct sched *s)
{
    if (s->log.on)
        s->log.lost = true;
}
