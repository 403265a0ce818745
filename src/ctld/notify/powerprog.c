/* powerprog.c - see powerprog.h */
#include "ctld/notify/powerprog.h"

#include <string.h>

#include "base/bitmap.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/must.h"
#include "ctld/core/service.h"
#include "ctld/notify/programs.h"

int powerprog_check(const struct ctld *ctld, enum conf_key key, const char *action)
{
    struct power_program p;

    if (!action || !*action)
        return 0;
    if (!conf_power_program(ctld->conf, key, action, &p))
        return ESLURM_INVALID_POWER_ACTION;
    return p.at_node && key == CONF_RESUME_PROGRAM ? ESLURM_INVALID_POWER_ACTION : 0;
}

bool powerprog_of(const struct ctld *ctld, enum conf_key key, const Pst__NodeRecord *r,
                  struct power_program *ret)
{
    const char *action = r->power_action;

    if (powerprog_check(ctld, key, action) != 0) {
        log_limited(LOG_ERROR, "node %s: slurm.conf has no PowerAction=%s for this any more",
                    r->name, action);
        action = NULL;
    }
    return conf_power_program(ctld->conf, key, action, ret);
}

static bool same_program(const struct power_program *a, const struct power_program *b)
{
    return a->path == b->path && a->args == b->args; /* texts of the configuration */
}

void powerprog_each(const struct ctld *ctld, enum conf_key key, const struct bitmap *nodes,
                    powerprog_fn *fn, void *ctx)
{
    _cleanup_(bitmap_free) struct bitmap *left = NULL, *group = NULL;
    struct node *const *all = ctld->cluster->nodes;

    if (bitmap_new(nodes->nbits, &left) < 0 || bitmap_new(nodes->nbits, &group) < 0)
        must(NULL);
    bitmap_or(left, nodes);
    while (!bitmap_empty(left)) {
        struct power_program first = { 0 }, p;
        bool none = true;

        bitmap_zero(group);
        BITMAP_FOREACH (left, i) {
            if (!powerprog_of(ctld, key, all[i]->rec, &p)) {
                bitmap_clear(left, i);
                continue;
            }
            if (none)
                first = p;
            none = false;
            if (same_program(&first, &p)) {
                bitmap_set(group, i);
                bitmap_clear(left, i);
            }
        }
        if (!none)
            fn(ctx, &first, group);
    }
}

void powerprog_fill(struct program *p, const struct power_program *program)
{
    program_path(p, program->path);
    for (size_t i = 0; i < program->nargs; i++)
        program_arg(p, program->args[i]);
}

const char *powerprog_nodes(const struct program *p)
{
    const char *last = NULL, *arg;

    for (size_t i = 0; (arg = program_arg_nth(p, i)); i++)
        last = arg;
    return last;
}
