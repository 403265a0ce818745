/* stepports.c - see stepports.h */
#include "ctld/step/stepports.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bitmap.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "wire/errors.h"

#define PORTS 65536u

int stepports_range(const char *text, size_t len, uint32_t *ret_lo, uint32_t *ret_hi)
{
    char copy[16];
    int end = 0;

    if (len >= sizeof(copy))
        return -EINVAL;
    memcpy(copy, text, len);
    copy[len] = '\0';
    if (sscanf(copy, "%5u-%5u%n", ret_lo, ret_hi, &end) != 2 || (size_t)end != len ||
        *ret_lo == 0 || *ret_lo > *ret_hi || *ret_hi >= PORTS)
        return -EINVAL;
    return 0;
}

static bool shares_node(const Pst__Alloc *a, const Pst__Alloc *b)
{
    for (size_t i = 0; i < a->n_node_ids; i++)
        if (alloc_position(b, a->node_ids[i]) >= 0)
            return true;
    return false;
}

/* Take away what running steps have. */
static int subtract_steps(const struct cluster *c, const Pst__Alloc *alloc, struct bitmap *left)
{
    _cleanup_(bitmap_free) struct bitmap *theirs = NULL;

    if (bitmap_new(PORTS, &theirs) < 0)
        return -ENOMEM;
    for (const struct job *j = c->active; j; j = j->next_active) {
        for (const struct step *s = j->steps; s; s = s->next) {
            if (!s->rec->resv_ports || !s->waiting || !s->rec->alloc ||
                !shares_node(alloc, s->rec->alloc))
                continue;
            bitmap_zero(theirs);
            (void)bitmap_parse(theirs, s->rec->resv_ports, NULL); /* our own text */
            bitmap_andnot(left, theirs);
        }
    }
    return 0;
}

static uint32_t most_tasks(const Pst__Alloc *alloc)
{
    uint32_t most = 0;

    for (size_t i = 0; i < alloc->n_groups; i++)
        most = MAX(most, alloc->groups[i]->tasks);
    return most;
}

int stepports_pick(const struct cluster *c, uint32_t lo, uint32_t hi, const Pst__Alloc *alloc,
                   uint32_t count, char **ret_text)
{
    _cleanup_(bitmap_free) struct bitmap *left = NULL;
    uint32_t port;

    *ret_text = NULL;
    if (count == STEPPORTS_AUTO)
        count = most_tasks(alloc);
    if (count == 0)
        return 0;
    if (lo == 0 || count > hi - lo + 1)
        return ESLURM_PORTS_INVALID;
    if (bitmap_new(PORTS, &left) < 0)
        return SLURM_ERROR;
    bitmap_set_range(left, lo, hi - lo + 1);
    if (subtract_steps(c, alloc, left) < 0)
        return SLURM_ERROR;
    if (bitmap_count(left) < count)
        return ESLURM_NODES_BUSY;
    for (port = lo; count > 0; port++)
        count -= bitmap_test(left, port);
    for (; port <= hi; port++)
        bitmap_clear(left, port);
    return bitmap_format(left, ret_text) < 0 ? SLURM_ERROR : 0;
}
