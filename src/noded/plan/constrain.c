/* constrain.c - the node's cgroups, and what of it a job and a step may use; see constrain.h
 *
 * cgroup.conf and the allocation become numbers here; the step daemon only writes them.  CPUs
 * are those of the allocation in the kernel's numbering; memory is the allocation's, scaled and
 * bounded as configured; of the devices in gres.conf, those that were not given to the step are
 * denied, at the step, since every process of a job is in a step.  Main thread. */
#include "noded/plan/constrain.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/bitmap.h"
#include "base/cleanup.h"
#include "base/bind/cpuspec.h"
#include "base/err.h"
#include "base/hostlist.h"
#include "base/log.h"
#include "base/pb/pbutil.h"
#include "noded/hw/hw.h"

#define MIB (UINT64_C(1) << 20)
#define GRES_MAX 65536u /* devices of a kind */

/* ---- the tree -------------------------------------------------------------------------------- */

static bool option_is_set(const struct conf *conf, enum conf_key key, const char *word)
{
    const char *value;
    size_t len;

    return conf_option(conf, key, word, &value, &len);
}

bool constrain_devices(const struct noded *d)
{
    return d->cgroups.kind != CGROUP_NONE && (d->cgroups.use & CGROUP_DEVICES) &&
           conf_task_plugin(d->conf, "task/cgroup") && conf_cgroup(d->conf)->constrain_devices;
}

static unsigned wanted_controllers(const struct noded *d)
{
    const struct conf_cgroup *cg = conf_cgroup(d->conf);
    unsigned use = 0;

    if (conf_task_plugin(d->conf, "task/cgroup")) {
        use |= cg->constrain_cores && d->processors ? CGROUP_CPUSET : 0;
        use |= cg->constrain_ram || cg->constrain_swap ? CGROUP_MEMORY : 0;
        use |= cg->constrain_devices ? CGROUP_DEVICES : 0;
    }
    if (option_is_set(d->conf, CONF_JOB_ACCT_GATHER_TYPE, "jobacct_gather/cgroup"))
        use |= CGROUP_MEMORY | CGROUP_CPUACCT;
    return use;
}

static void tell_missing(unsigned missing, enum cgroup_kind kind)
{
    static const struct {
        unsigned bit;
        const char *what;
    } rows[] = { { CGROUP_CPUSET, "ConstrainCores" },
                 { CGROUP_MEMORY,
                   "ConstrainRAMSpace, ConstrainSwapSpace or the counting of memory" },
                 { CGROUP_DEVICES, "ConstrainDevices" },
                 { CGROUP_CPUACCT, "the counting of CPU time" } };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        if (missing & rows[i].bit)
            log_error("%s has no effect: the controller is not available (%s)", rows[i].what,
                      cgroup_kind_name(kind));
}

static bool holds_cores(const struct noded *d)
{
    return d->processors && (d->cgroups.use & CGROUP_CPUSET) && hw_confines_cores(d->conf);
}

/* CPUs as allocations count them, in the kernel's numbers.  *ret stays NULL when there are none. */
static int kernel_cpus(const Pst__Processors *p, const struct bitmap *ids, char **ret)
{
    _cleanup_(bitmap_free) struct bitmap *kernel = NULL;
    uint32_t most = 0;
    int r;

    for (size_t i = 0; i < p->n_os_ids; i++)
        most = MAX(most, p->os_ids[i]);
    r = bitmap_new(most + 1, &kernel);
    if (r < 0)
        return r;
    BITMAP_FOREACH (ids, i)
        bitmap_set(kernel, p->os_ids[i]);
    return bitmap_empty(kernel) ? 0 : bitmap_format(kernel, ret);
}

/* What CpuSpecList or CoreSpecCount keep from jobs is slurmd's, or with SlurmdOffSpec all else
 * is. */
static int own_cpus(const struct noded *d, char **ret)
{
    const struct conf_node *n = d->node;
    const Pst__Processors *p = d->processors;
    _cleanup_(bitmap_free) struct bitmap *ids = NULL, *rest = NULL;
    int r;

    if (!holds_cores(d) || (!n->cpu_spec_list && !n->core_spec))
        return 0;
    r = bitmap_new((uint32_t)p->n_os_ids, &ids);
    if (r == 0)
        r = bitmap_new((uint32_t)p->n_os_ids, &rest);
    if (r == 0 && n->cpu_spec_list)
        r = bitmap_parse(ids, n->cpu_spec_list, NULL);
    for (uint32_t i = 0;
         r == 0 && !n->cpu_spec_list && i < MIN(n->core_spec, p->sockets * p->cores); i++)
        bitmap_set_range(ids, cpuspec_core(p->sockets, p->cores, i) * p->threads, p->threads);
    if (r < 0)
        return r;
    for (uint32_t i = 0; i < p->n_os_ids; i++)
        if (!bitmap_test(ids, i))
            bitmap_set(rest, i);
    return kernel_cpus(
        p, option_is_set(d->conf, CONF_TASK_PLUGIN_PARAM, "SlurmdOffSpec") ? rest : ids, ret);
}

/* slurmd keeps to what jobs do not get, and so do its step daemons and the programs of the site. */
static void confine_self(struct noded *d)
{
    bool memory = d->node->mem_spec_mib && (d->cgroups.use & CGROUP_MEMORY) &&
                  conf_cgroup(d->conf)->constrain_ram && conf_task_plugin(d->conf, "task/cgroup");
    struct cgroup_limits limits = { .ram_max = memory ? d->node->mem_spec_mib * MIB : 0 };
    _cleanup_free_ char *cpus = NULL;
    struct err err = { .text = "" };
    int r = own_cpus(d, &cpus);

    limits.cpus = cpus;
    if (r == 0 && !cpus && !memory)
        return;
    if (r == 0)
        r = cgroup_tree_confine(&d->cgroups, &limits, &err);
    if (r < 0)
        log_error("slurmd is not confined to what CoreSpecCount, CpuSpecList and MemSpecLimit keep "
                  "for it: %s",
                  err.text[0] ? err.text : strerror(-r));
    else
        log_info("slurmd keeps to CPUs %s and %ju MiB of memory (0: no limit)", cpus ? cpus : "all",
                 (uintmax_t)(memory ? d->node->mem_spec_mib : 0));
}

int constrain_begin(struct noded *d, struct err *err)
{
    const struct conf_cgroup *cg = conf_cgroup(d->conf);
    const char *track = conf_str(d->conf, CONF_PROCTRACK_TYPE);
    struct cgroup_want want = {
        .plugin = cg->plugin,
        .mount = cg->mountpoint,
        .slice = cg->slice,
        .node = hw_configured_only(d) ? d->name : NULL,
        .extra = cg->extra_controllers,
        .use = wanted_controllers(d),
    };
    bool namespaces = d->ns && d->ns->clone_flags;
    int r;

    if (!want.use && !namespaces && track && strcmp(track, "proctrack/cgroup") != 0)
        return 0;
    r = cgroup_probe(&want, &d->cgroups, err);
    if (r < 0)
        return r;
    r = cgroup_tree_make(&d->cgroups, err);
    if (r < 0 && cg->plugin && strcmp(cg->plugin, "autodetect") != 0)
        return r;
    if (r < 0) {
        log_error("%s", err->text);
        err->text[0] = '\0';
        d->cgroups.kind = CGROUP_NONE;
    }
    if (namespaces && d->cgroups.kind == CGROUP_NONE)
        return err_set(err, -ENOTSUP,
                       "namespace.yaml: CLONE_NEWPID and CLONE_NEWUSER need cgroups, and this node "
                       "has none");
    if (d->cgroups.kind != CGROUP_NONE)
        confine_self(d);
    /* With version 2 devices and CPU time need no controller. */
    tell_missing(want.use & ~(d->cgroups.kind == CGROUP_NONE ? 0 : d->cgroups.use),
                 d->cgroups.kind);
    return 0;
}

static void job_name(const struct noded *d, const Pst__JobRecord *job, char *buf, size_t size)
{
    if (job->sluid && *job->sluid && !conf_cgroup(d->conf)->job_id_paths)
        (void)snprintf(buf, size, "job_%s", job->sluid);
    else
        (void)snprintf(buf, size, "job_%u", job->job_id);
}

struct lookup {
    struct noded *d;
    const char *name;
    bool found;
};

static void compare_job(void *ctx, struct njob *job)
{
    struct lookup *l = ctx;
    char name[64];

    job_name(l->d, job->on->job, name, sizeof(name));
    l->found = l->found || strcmp(name, l->name) == 0;
}

static bool job_is_known(void *ctx, const char *name)
{
    struct lookup l = { .d = ctx, .name = name };

    jobs_each(&l.d->jobs, compare_job, &l);
    return l.found;
}

void constrain_sweep(struct noded *d)
{
    size_t n = cgroup_tree_sweep(&d->cgroups, d->spool, job_is_known, d);

    if (n > 0)
        log_info("removed the cgroups of %zu jobs that nobody knows any more", n);
}

void constrain_end(struct noded *d)
{
    cgroup_tree_leave(&d->cgroups);
}

/* ---- what a step may use --------------------------------------------------------------------- */

static const Pst__AllocGroup *group_at(const Pst__Alloc *alloc, const char *node)
{
    _cleanup_(hostlist_free) struct hostlist *hl = NULL;
    ssize_t at;

    if (!alloc || !alloc->nodes || hostlist_parse(alloc->nodes, &hl, NULL) < 0)
        return NULL;
    at = hostlist_find(hl, node);
    for (size_t i = 0; at >= 0 && i < alloc->n_groups; i++) {
        if (at < (ssize_t)alloc->groups[i]->nodes)
            return alloc->groups[i];
        at -= (ssize_t)alloc->groups[i]->nodes;
    }
    return NULL;
}

static int fill_cpus(const struct noded *d, const Pst__AllocGroup *g, Pst__CgroupLimits *to)
{
    _cleanup_(bitmap_free) struct bitmap *ids = NULL;
    int r;

    if (!g->cpu_ids || !holds_cores(d))
        return 0;
    r = bitmap_new((uint32_t)d->processors->n_os_ids, &ids);
    if (r < 0)
        return r;
    if (bitmap_parse(ids, g->cpu_ids, NULL) < 0)
        return 0; /* CPUs that this machine does not have: nothing to hold a job to */
    return kernel_cpus(d->processors, ids, &to->cpus);
}

static uint64_t percent_of(uint64_t bytes, double percent)
{
    return (uint64_t)((double)bytes * percent / 100);
}

/* given_mib 0: all of the node's. */
static void fill_memory(const struct noded *d, uint64_t given_mib, Pst__CgroupLimits *to)
{
    const struct conf_cgroup *cg = conf_cgroup(d->conf);
    uint64_t all = d->node->real_memory_mib * MIB, given = given_mib ? given_mib * MIB : all;
    uint64_t most = percent_of(all, cg->max_ram_pct);
    uint64_t ram = MIN(MAX(percent_of(given, cg->allowed_ram_pct), cg->min_ram_mib * MIB), most);
    uint64_t swap = MIN(percent_of(given, cg->allowed_swap_pct), percent_of(all, cg->max_swap_pct));

    if (!(d->cgroups.use & CGROUP_MEMORY) || !conf_task_plugin(d->conf, "task/cgroup"))
        return;
    if (cg->constrain_ram) {
        to->has_ram_max = to->has_ram_high = true;
        to->ram_max = ram;
        to->ram_high = MAX(given, cg->min_ram_mib * MIB);
    } else if (cg->constrain_swap && d->cgroups.kind == CGROUP_V1) {
        to->has_ram_max = true; /* version 1 limits both together only */
        to->ram_max = ram + swap;
        swap = 0;
    }
    to->has_swap_max = cg->constrain_swap;
    to->swap_max = swap;
    to->has_swappiness = cg->swappiness >= 0 && d->cgroups.kind == CGROUP_V1;
    to->swappiness = to->has_swappiness ? (uint32_t)cg->swappiness : 0;
}

struct denial {
    const Pst__AllocGroup *group;
    Pst__CgroupLimits *to;
    int r;
};

/* Shares of a GPU (shard, mps) are entries whose devices are GPUs. */
static bool is_given(const Pst__AllocGroup *g, const char *name, uint32_t index)
{
    _cleanup_(bitmap_free) struct bitmap *bits = NULL;

    for (size_t i = 0; i < g->n_gres; i++) {
        const Pst__GresAlloc *a = g->gres[i];
        bool same = a->name &&
                    (strcmp(a->name, name) == 0 || (strcmp(name, "gpu") == 0 && a->share_counts));

        if (!same || !a->devices || index >= GRES_MAX)
            continue;
        if (!bits && bitmap_new(GRES_MAX, &bits) < 0)
            return true; /* without memory the launch fails elsewhere */
        if (bitmap_parse(bits, a->devices, NULL) == 0 && bitmap_test(bits, index))
            return true;
    }
    return false;
}

static void deny_unless_given(void *ctx, const char *name, uint32_t index, const char *path)
{
    struct denial *x = ctx;
    Pst__CgroupDevice *dev, **grown;
    struct stat st;

    if (x->r < 0 || is_given(x->group, name, index) || stat(path, &st) < 0 ||
        (!S_ISCHR(st.st_mode) && !S_ISBLK(st.st_mode)))
        return;
    grown = realloc(x->to->deny, (x->to->n_deny + 1) * sizeof(*grown));
    if (grown)
        x->to->deny = grown;
    dev = grown ? malloc(sizeof(*dev)) : NULL;
    if (!dev) {
        x->r = -ENOMEM;
        return;
    }
    pst__cgroup_device__init(dev);
    dev->has_block = dev->has_major = dev->has_minor = true;
    dev->block = S_ISBLK(st.st_mode);
    dev->major = major(st.st_rdev);
    dev->minor = minor(st.st_rdev);
    x->to->deny[x->to->n_deny++] = dev;
}

/* A file that several devices have, as parts of a GPU have that of the GPU, is denied to those
 * alone who were given none of them. */
static void allow_if_given(void *ctx, const char *name, uint32_t index, const char *path)
{
    struct denial *x = ctx;
    Pst__CgroupDevice **deny = x->to->deny;
    size_t kept = 0;
    struct stat st;

    if (x->r < 0 || !is_given(x->group, name, index) || stat(path, &st) < 0)
        return;
    for (size_t i = 0; i < x->to->n_deny; i++) {
        if (deny[i]->block == (bool)S_ISBLK(st.st_mode) && deny[i]->major == major(st.st_rdev) &&
            deny[i]->minor == minor(st.st_rdev))
            pst__cgroup_device__free_unpacked(deny[i], NULL);
        else
            deny[kept++] = deny[i];
    }
    x->to->n_deny = kept;
}

static int make_limits(const struct noded *d, const Pst__AllocGroup *g, uint64_t mem_mib,
                       bool devices, Pst__CgroupLimits **ret)
{
    struct denial x = { .group = g };
    int r = 0;

    *ret = malloc(sizeof(**ret));
    if (!*ret)
        return -ENOMEM;
    pst__cgroup_limits__init(*ret);
    fill_memory(d, mem_mib, *ret);
    if (g)
        r = fill_cpus(d, g, *ret);
    x.to = *ret;
    if (r == 0 && g && devices)
        gres_files(d->gres, deny_unless_given, &x);
    if (x.r == 0 && x.to->n_deny)
        gres_files(d->gres, allow_if_given, &x);
    return r < 0 ? r : x.r;
}

/* As asked for with the step, with the job, or as the node is configured. */
static bool oom_group(const struct noded *d, const Pst__StepFile *sf)
{
    const Pst__JobRecord *job = sf->job->job;

    if (sf->launch && sf->launch->has_oom_kill_step)
        return sf->launch->oom_kill_step;
    if (job->has_oom_kill_step)
        return job->oom_kill_step;
    return option_is_set(d->conf, CONF_TASK_PLUGIN_PARAM, "OOMKillStep");
}

static int fill_home(const struct noded *d, Pst__CgroupPlan *plan)
{
    int r = 0;

    plan->home = calloc(CGROUP_CTRLS, sizeof(*plan->home));
    if (!plan->home)
        return -ENOMEM;
    for (size_t i = 0; r == 0 && i < CGROUP_CTRLS; i++) {
        r = pb_set_str(&plan->home[i], d->cgroups.home[i]);
        plan->n_home += r == 0;
    }
    return r;
}

static int fill_tree(const struct noded *d, const Pst__StepFile *sf, Pst__CgroupPlan *plan)
{
    char name[64];
    int r;

    job_name(d, sf->job->job, name, sizeof(name));
    plan->has_kind = plan->has_controllers = plan->has_from_mount = true;
    plan->kind = d->cgroups.kind;
    plan->controllers = d->cgroups.use;
    plan->from_mount = d->cgroups.from_mount;
    plan->has_oom_group = true;
    plan->oom_group = oom_group(d, sf);
    plan->has_signal_children = true;
    plan->signal_children = conf_cgroup(d->conf)->signal_children;
    r = pb_set_str(&plan->mount, d->cgroups.mount);
    r = r < 0 ? r : pb_set_str(&plan->root, d->cgroups.root);
    r = r < 0 ? r : pb_set_str(&plan->extra, d->cgroups.extra);
    r = r < 0 ? r : pb_set_str(&plan->owner, d->spool);
    if (r == 0 && d->cgroups.confined)
        r = fill_home(d, plan);
    return r < 0 ? r : pb_set_str(&plan->job_name, name);
}

int constrain_plan(const struct noded *d, Pst__StepFile *sf)
{
    const Pst__AllocGroup *job = group_at(sf->job->job->alloc, d->name);
    const Pst__AllocGroup *step = sf->step ? group_at(sf->step->alloc, d->name) : job;
    bool devices = constrain_devices(d);
    uint64_t job_mib = job ? job->mem_mib : 0,
             step_mib = step && step->mem_mib ? step->mem_mib : job_mib;
    Pst__CgroupPlan *plan;
    int r;

    if (d->cgroups.kind == CGROUP_NONE)
        return 0;
    plan = malloc(sizeof(*plan));
    if (!plan)
        return -ENOMEM;
    pst__cgroup_plan__init(plan);
    sf->cgroup = plan; /* goes with it */
    r = fill_tree(d, sf, plan);
    if (r < 0 || !conf_task_plugin(d->conf, "task/cgroup"))
        return r;
    r = make_limits(d, job, job_mib, false, &plan->job);
    return r < 0 ? r : make_limits(d, step, step_mib, devices, &plan->step);
}

/* Borrows l's texts; devices are not among them. */
static struct cgroup_limits tree_limits(const Pst__CgroupLimits *l)
{
    return (struct cgroup_limits){ .cpus = l->cpus,
                                   .ram_max = l->ram_max,
                                   .ram_high = l->ram_high,
                                   .swap_max = l->swap_max,
                                   .has_swap = l->has_swap_max,
                                   .has_swappiness = l->has_swappiness,
                                   .swappiness = l->swappiness };
}

int constrain_memory(const struct noded *d, const Pst__JobRecord *job, uint64_t mib,
                     struct err *err)
{
    Pst__CgroupLimits l = PST__CGROUP_LIMITS__INIT;
    struct cgroup_limits limits;
    char name[64];

    if (d->cgroups.kind == CGROUP_NONE)
        return 0;
    fill_memory(d, mib, &l);
    limits = tree_limits(&l);
    job_name(d, job, name, sizeof(name));
    return cgroup_job_memory(&d->cgroups, name, job->uid, &limits, err);
}

/* Every process of a job is in a step; what serves it from outside gets a part of its own beside
 * them. */
int constrain_adopt(const struct noded *d, const Pst__JobRecord *job, uid_t uid, const char *name,
                    pid_t pid, char **ret, struct err *err)
{
    const Pst__AllocGroup *g = group_at(job->alloc, d->name);
    struct cgroup_tree tree = d->cgroups;
    Pst__CgroupLimits *l = NULL;
    struct cgroup cg;
    char job_part[64];
    struct cgroup_step part = { .owner = d->spool, .job = job_part, .step = name, .uid = uid };
    int r = 0;

    if (tree.kind == CGROUP_NONE)
        return 0;
    tree.confined = false; /* of slurmd itself, which goes on */
    job_name(d, job, job_part, sizeof(job_part));
    if (conf_task_plugin(d->conf, "task/cgroup"))
        r = make_limits(d, g, g ? g->mem_mib : 0, false, &l);
    if (l)
        part.job_limits = tree_limits(l);
    r = r < 0 ? err_nomem(err) : cgroup_begin(&cg, &tree, &part, err);
    if (l)
        pst__cgroup_limits__free_unpacked(l, NULL);
    if (r < 0)
        return r;
    r = cgroup_adopt(&cg, CGROUP_SPECIAL, pid);
    if (r == 0 && !(*ret = strdup(cg.step)))
        r = -ENOMEM;
    if (r == 0)
        return 0;
    (void)cgroup_kill_left(&tree, cg.step); /* r is the story */
    return err_set(err, r, "cannot put a process into the job's cgroup: %s", strerror(-r));
}
