/* gpuenv.c - the GPUs behind device numbers, and the variables that name them; see gpuenv.h
 *
 * Pure. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bitmap.h"
#include "base/cleanup.h"
#include "base/gres/grestext.h"
#include "base/strbuf.h"
#include "stepd/env/env.h"
#include "stepd/env/gpuenv.h"

static const struct {
    const char *name;
    uint32_t bit;
} vars[] = {
    { "CUDA_VISIBLE_DEVICES", GPU_ENV_CUDA },
    { "ROCR_VISIBLE_DEVICES", GPU_ENV_ROCR },
    { "ZE_AFFINITY_MASK", GPU_ENV_ZE },
    { "GPU_DEVICE_ORDINAL", GPU_ENV_OPENCL },
};

static struct bitmap *parse_numbers(const char *text)
{
    struct bitmap *bm = NULL;

    if (bitmap_new(GPUS_MAX, &bm) == 0 && text)
        (void)bitmap_parse(bm, text, NULL); /* of the controller; beyond the last: none of ours */
    return bm;
}

static size_t list_of(const Pst__StepFile *sf, Pst__GresAlloc *const *gres, size_t n, bool shares,
                      const Pst__Gpu **list)
{
    size_t found = 0;

    for (size_t i = 0; i < sf->n_gpus && found < GPUS_MAX; i++) {
        bool held = false;

        for (size_t k = 0; k < n && !held; k++) {
            const char *name = gres[k]->name ? gres[k]->name : "";
            _cleanup_(bitmap_free) struct bitmap *bm = NULL;

            if (strcmp(name, "gpu") != 0 && !(shares && gres_shares_gpu(name)))
                continue;
            bm = parse_numbers(gres[k]->devices);
            held = bm && sf->gpus[i]->number < GPUS_MAX && bitmap_test(bm, sf->gpus[i]->number);
        }
        if (held)
            list[found++] = sf->gpus[i];
    }
    return found;
}

size_t gpu_list(const Pst__StepFile *sf, Pst__GresAlloc *const *gres, size_t n,
                const Pst__Gpu **list)
{
    return list_of(sf, gres, n, true, list);
}

static void gres_here(const Pst__StepFile *sf, Pst__GresAlloc *const **ret, size_t *ret_n)
{
    const Pst__AllocGroup *here = env_step_group(sf);

    *ret = sf->launch ? (here ? here->gres : NULL) : sf->job->gres;
    *ret_n = sf->launch ? (here ? here->n_gres : 0) : sf->job->n_gres;
}

size_t gpu_list_here(const Pst__StepFile *sf, const Pst__Gpu **list)
{
    Pst__GresAlloc *const *gres;
    size_t n;

    gres_here(sf, &gres, &n);
    return gpu_list(sf, gres, n, list);
}

size_t gpu_list_whole(const Pst__StepFile *sf, const Pst__Gpu **list)
{
    Pst__GresAlloc *const *gres;
    size_t n;

    gres_here(sf, &gres, &n);
    return list_of(sf, gres, n, false, list);
}

void gpu_put(const Pst__StepFile *sf, const Pst__Gpu *const *list, size_t n,
             const struct bitmap *chosen, struct envlist *el)
{
    for (size_t v = 0; v < ARRAY_SIZE(vars); v++) {
        _cleanup_val_(strbuf_done) struct strbuf sb = STRBUF_INIT;

        for (size_t i = 0; i < n; i++) {
            uint32_t env = list[i]->env, kinds = env & ~(uint32_t)GPU_ENV_UUID;

            if ((chosen && !bitmap_test(chosen, (uint32_t)i)) || env & GPU_ENV_NONE ||
                (kinds && !(kinds & vars[v].bit)))
                continue;
            if (sb.len)
                strbuf_addc(&sb, ',');
            if (env & GPU_ENV_UUID && list[i]->uuid && vars[v].bit == GPU_ENV_CUDA)
                strbuf_add(&sb, list[i]->uuid);
            else
                strbuf_addf(&sb, "%u", sf->gpus_relative ? (uint32_t)i : list[i]->minor);
        }
        if (sb.len)
            envlist_set(el, vars[v].name, strbuf_str(&sb));
        else if (sf->n_gpus) /* another's: of the job around this step */
            envlist_unset(el, vars[v].name);
    }
}

/* "3/4,0/4": the first share of a GPU that is held, of a hundred. */
static void set_mps(const Pst__GresAlloc *g, struct envlist *el)
{
    unsigned held, all;

    for (const char *p = g->share_counts; p && sscanf(p, "%u/%u", &held, &all) == 2;) {
        if (held && all) {
            envlist_setu(el, "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", (uint64_t)held * 100 / all);
            return;
        }
        p = strchr(p, ',');
        p = p ? p + 1 : NULL;
    }
}

static void set_count(struct envlist *el, const char *name, uint64_t n)
{
    if (n)
        envlist_setu(el, name, n);
    else
        envlist_unset(el, name);
}

void gpu_env(const Pst__StepFile *sf, Pst__GresAlloc *const *gres, size_t n, const char *id_var,
             struct envlist *el)
{
    const Pst__Gpu *list[GPUS_MAX];
    _cleanup_val_(strbuf_done) struct strbuf ids = STRBUF_INIT;
    uint64_t gpus = 0, shards = 0;
    size_t found = gpu_list(sf, gres, n, list);

    envlist_unset(el, "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE");
    for (size_t i = 0; i < n; i++) {
        const char *name = gres[i]->name ? gres[i]->name : "";
        _cleanup_(bitmap_free) struct bitmap *bm =
            gres_shares_gpu(name) ? parse_numbers(gres[i]->devices) : NULL;

        if (strcmp(name, "gpu") == 0)
            gpus += gres[i]->count;
        else if (gres_shares_gpu(name)) /* the GPUs that the shares are of */
            gpus += gres[i]->shares && bm ? bitmap_count(bm) : 1;
        shards += strcmp(name, "shard") == 0 ? gres[i]->count : 0;
        if (strcmp(name, "mps") == 0)
            set_mps(gres[i], el);
    }
    set_count(el, "SLURM_GPUS_ON_NODE", gpus);
    set_count(el, "SLURM_SHARDS_ON_NODE", shards);
    for (size_t i = 0; i < found; i++)
        strbuf_addf(&ids, "%s%u", i ? "," : "", list[i]->minor);
    envlist_set(el, id_var, ids.len ? strbuf_str(&ids) : NULL);
    gpu_put(sf, list, found, NULL, el);
}

/* What the job holds on this node; srun's credential has it of all nodes only. */
static Pst__GresAlloc *const *held_gres(const Pst__JobOnNode *on, size_t *ret_n)
{
    const Pst__Alloc *alloc = on->job->alloc;
    uint32_t index = on->node_index;

    for (size_t i = 0; !on->n_gres && alloc && i < alloc->n_groups; i++) {
        if (index < alloc->groups[i]->nodes) {
            *ret_n = alloc->groups[i]->n_gres;
            return alloc->groups[i]->gres;
        }
        index -= alloc->groups[i]->nodes;
    }
    *ret_n = on->n_gres;
    return on->gres;
}

size_t gpu_list_job(const Pst__StepFile *gpus, const Pst__JobOnNode *on, const Pst__Gpu **list)
{
    size_t n;
    Pst__GresAlloc *const *gres = held_gres(on, &n);

    return gpu_list(gpus, gres, n, list);
}

void env_script_gpus(const Pst__StepFile *gpus, const Pst__JobOnNode *on, struct envlist *el)
{
    size_t n;
    Pst__GresAlloc *const *gres = held_gres(on, &n);

    gpu_env(gpus, gres, n, "SLURM_JOB_GPUS", el);
    envlist_unset(el, "SLURM_GPUS_ON_NODE"); /* counts are for what runs of the job */
    envlist_unset(el, "SLURM_SHARDS_ON_NODE");
    envlist_unset(el, "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE");
}
