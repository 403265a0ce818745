/* cglimit.c - what a job or step may use, written into its cgroup; see cgroup.h
 *
 * A limit that was asked for and cannot be set is an error: no task runs without its limit. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "stepd/cgroup/cgroup_int.h"

struct target {
    const struct cgroup_tree *tree;
    const char *rel;
    struct err *err;
};

static int put_limit(const struct target *t, enum cgroup_ctrl ctrl, const char *file,
                     const char *text)
{
    int r = cgi_put(t->tree, ctrl, t->rel, file, text);

    return r < 0
               ? err_set(t->err, r, "cannot set %s=%s of %s: %s", file, text, t->rel, strerror(-r))
               : 0;
}

static int put_bytes(const struct target *t, const char *file, uint64_t bytes)
{
    char text[24];

    (void)snprintf(text, sizeof(text), "%" PRIu64, bytes);
    return put_limit(t, CGROUP_MEMORY, file, text);
}

static int memory_v2(const struct target *t, const struct cgroup_limits *l)
{
    int r = l->ram_max ? put_bytes(t, "memory.max", l->ram_max) : 0;

    if (r == 0 && l->ram_high && l->ram_high < l->ram_max)
        r = put_bytes(t, "memory.high", l->ram_high);
    if (r == 0 && l->has_swap) {
        r = put_bytes(t, "memory.swap.max", l->swap_max);
        if (r == -ENOENT) /* a kernel that cannot swap has nothing to limit */
            r = 0;
    }
    return r;
}

/* memory.memsw counts memory and swap together and may never be the smaller of the two. */
static int memory_v1(const struct target *t, const struct cgroup_limits *l)
{
    static const char ram[] = "memory.limit_in_bytes", both[] = "memory.memsw.limit_in_bytes";
    uint64_t sum = l->ram_max + l->swap_max, now = 0;
    int r = 0;

    if (l->ram_max && l->has_swap &&
        cgi_get(t->tree, CGROUP_MEMORY, t->rel, both, NULL, &now) == 0 && now < sum)
        r = put_bytes(t, both, sum);
    if (r == 0 && l->ram_max)
        r = put_bytes(t, ram, l->ram_max);
    if (r == 0 && l->ram_high && l->ram_high < l->ram_max)
        r = put_bytes(t, "memory.soft_limit_in_bytes", l->ram_high);
    if (r == 0 && l->ram_max && l->has_swap && now >= sum)
        r = put_bytes(t, both, sum);
    if (r == 0 && l->has_swappiness)
        r = put_bytes(t, "memory.swappiness", l->swappiness);
    return r;
}

int cgi_limit(const struct cgroup_tree *tree, const char *rel, const struct cgroup_limits *l,
              struct err *err)
{
    struct target t = { tree, rel, err };
    int r = 0;

    if (l->cpus && (tree->use & CGROUP_CPUSET))
        r = put_limit(&t, CGROUP_CPUSET, "cpuset.cpus", l->cpus);
    if (r == 0 && (tree->use & CGROUP_MEMORY))
        r = tree->kind == CGROUP_V2 ? memory_v2(&t, l) : memory_v1(&t, l);
    if (r == 0 && l->n_deny) {
        r = cgi_deny(tree, rel, l->deny, l->n_deny);
        if (r < 0)
            return err_set(err, r, "cannot confine %s to its devices: %s", rel, strerror(-r));
    }
    return r;
}
