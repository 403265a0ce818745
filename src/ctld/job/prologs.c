/* prologs.c - see prologs.h */
#include "ctld/job/prologs.h"

#include <errno.h>
#include <stdlib.h>

#include "base/bitmap.h"
#include "base/log.h"
#include "base/must.h"
#include "ctld/job/hetgroup.h"
#include "ctld/policy/bootwait.h"
#include "ctld/core/service.h"

struct prologs {
    struct idmap awaited; /* job id -> struct bitmap: positions whose prolog is awaited */
};

int prologs_new(struct prologs **ret)
{
    *ret = calloc(1, sizeof(**ret));
    return *ret ? 0 : -ENOMEM;
}

struct prologs *prologs_free(struct prologs *p)
{
    void *v;

    if (!p)
        return NULL;
    for (size_t pos = 0; (v = idmap_next(&p->awaited, &pos));)
        bitmap_free(v);
    idmap_done(&p->awaited);
    free(p);
    return NULL;
}

/* NULL: no node has answered since this controller started. */
static struct bitmap *awaited_of(const struct ctld *ctld, const struct job *j)
{
    return idmap_get(&ctld->prologs->awaited, j->rec->job_id);
}

void prologs_forget(struct ctld *ctld, const struct job *j)
{
    bitmap_free(idmap_remove(&ctld->prologs->awaited, j->rec->job_id));
}

static bool has_flag(const struct ctld *ctld, const char *flag)
{
    const char *v;
    size_t len;

    return conf_option(ctld->conf, CONF_PROLOG_FLAGS, flag, &v, &len);
}

/* PrologFlags has one of the n flags. */
static bool any_flag(const struct ctld *ctld, const char *const *flags, size_t n)
{
    const char *v;
    size_t len;

    for (size_t i = 0; i < n; i++)
        if (conf_option(ctld->conf, CONF_PROLOG_FLAGS, flags[i], &v, &len))
            return true;
    return false;
}

bool launch_prepares(const struct ctld *ctld)
{
    /* All but the first imply it. */
    static const char *const flags[] = { "Alloc",  "Contain",  "DeferBatch",
                                         "NoHold", "RunInJob", "X11" };

    return any_flag(ctld, flags, ARRAY_SIZE(flags));
}

bool launch_contains(const struct ctld *ctld)
{
    static const char *const flags[] = { "Contain", "RunInJob", "X11" };

    return any_flag(ctld, flags, ARRAY_SIZE(flags));
}

bool launch_forwards_x11(const struct ctld *ctld)
{
    static const char *const flags[] = { "X11" };

    return any_flag(ctld, flags, ARRAY_SIZE(flags));
}

bool prologs_wanted(const struct ctld *ctld)
{
    const char *first = conf_str_nth(ctld->conf, CONF_PROLOG, 0);

    return first && *first && launch_prepares(ctld);
}

/* A component of a heterogeneous job counts for its leader. */
static bool any_awaits(const struct ctld *ctld, const struct job *j)
{
    for (uint32_t k = 0; het_is_leader(j->rec) && k < j->rec->het_count; k++) {
        const struct job *part = het_component(ctld->cluster, j->rec, k);

        if (part && job_awaits_node_prologs(part->rec))
            return true;
    }
    return job_awaits_node_prologs(j->rec);
}

bool prologs_hold_grant(const struct ctld *ctld, const struct job *j)
{
    return bootwait_holds_grant(ctld, j);
}

bool prologs_hold_ready(const struct ctld *ctld, const struct job *j)
{
    return any_awaits(ctld, j) && !has_flag(ctld, "NoHold");
}

bool prologs_defer_batch(const struct ctld *ctld)
{
    return has_flag(ctld, "DeferBatch");
}

bool prologs_hold_batch(const struct ctld *ctld, const struct job *j)
{
    return any_awaits(ctld, j) && prologs_defer_batch(ctld);
}

bool prologs_over(const struct ctld *ctld, const struct job *j)
{
    const struct bitmap *left = awaited_of(ctld, j);

    return left && bitmap_empty(left);
}

bool prologs_await(const struct ctld *ctld, const struct job *j, size_t position)
{
    const struct bitmap *left = awaited_of(ctld, j);

    return job_awaits_node_prologs(j->rec) && (!left || bitmap_test(left, (uint32_t)position));
}

/* Positions of the allocation whose prolog is awaited; at first all of them. */
static struct bitmap *awaited_make(struct ctld *ctld, const struct job *j)
{
    struct bitmap *left = awaited_of(ctld, j);
    uint32_t n = (uint32_t)j->rec->alloc->n_node_ids;

    if (left)
        return left;
    if (bitmap_new(n, &left) < 0 || idmap_put(&ctld->prologs->awaited, j->rec->job_id, left) < 0)
        must(NULL);
    bitmap_set_range(left, 0, n);
    return left;
}

bool prologs_note_passed(struct ctld *ctld, const struct job *j, size_t position)
{
    struct bitmap *left = awaited_make(ctld, j);

    bitmap_clear(left, (uint32_t)position);
    return bitmap_empty(left);
}

/* ---- the service ----------------------------------------------------------------------------- */

static int start_prologs(struct ctld *ctld, struct err *err)
{
    (void)err;
    return prologs_new(&ctld->prologs);
}

static void free_prologs(struct ctld *ctld)
{
    ctld->prologs = prologs_free(ctld->prologs);
}

static void forget_job(struct ctld *ctld, struct job *j)
{
    prologs_forget(ctld, j);
}

const struct ctld_service prologs_service = {
    .name = "prologs",
    .start = start_prologs,
    .free = free_prologs,
    .on_job_gone = forget_job,
};
