/* jobgres.c - what a job asks for of devices, and what it says by task; see jobgres.h */
#include "ctld/submit/jobgres.h"

#include <stdlib.h>
#include <string.h>

#include "base/bind/gpubind.h"
#include "base/cleanup.h"
#include "base/gres/gpucount.h"
#include "base/gres/grestext.h"
#include "base/strbuf.h"
#include "base/wordlist.h"
#include "ctld/job/jobfacts.h"

#define GRES_KINDS_MAX 128u /* named in one list: each is looked for on every kind of node */
#define COUNT_MAX (UINT64_C(1) << 46) /* of a node: products with nodes do not overflow */

/* ---- names ----------------------------------------------------------------------------------- */

/* A word without "gres/"; 0 or an ESLURM code.  None of what the cluster does not have is no
 * mistake. */
static int check_word(const char *types, char *word, uint64_t most)
{
    struct gres_text g;

    if (!*word)
        return 0; /* "--gres=," */
    if (strchr(":=", *word))
        return ESLURM_INVALID_TRES;
    if (!gres_text_parse(word, &g) || g.count > most)
        return ESLURM_INVALID_GRES;
    return g.count == 0 || wordlist_has(types, g.name) ? 0 : ESLURM_INVALID_GRES;
}

static int check_list(const char *types, const char *text, uint64_t most)
{
    _cleanup_free_ char *copy = text ? strdup(text) : NULL;
    char *save = NULL;
    size_t n = 0;
    int code = 0;

    for (char *w = copy ? strtok_r(copy, ",", &save) : NULL; w && code == 0;
         w = strtok_r(NULL, ",", &save))
        code = ++n > GRES_KINDS_MAX
                   ? ESLURM_INVALID_GRES
                   : check_word(types, strncmp(w, "gres/", 5) == 0 ? w + 5 : w, most);
    return code;
}

/* "cpu=2,gres/gpu:1,license/matlab:1"; a word without a count says nothing. */
static int check_per_task(const char *types, const char *text)
{
    _cleanup_free_ char *copy = text ? strdup(text) : NULL;
    char *save = NULL;
    size_t n = 0;
    int code = 0;

    for (char *w = copy ? strtok_r(copy, ",", &save) : NULL; w && code == 0;
         w = strtok_r(NULL, ",", &save)) {
        if (++n > GRES_KINDS_MAX)
            code = ESLURM_INVALID_GRES;
        else if (strncmp(w, "gres/", 5) == 0)
            code = check_word(types, w + 5, UINT32_MAX);
        else if (strpbrk(w, ":=") && strncmp(w, "license/", 8) != 0 &&
                 !(strncmp(w, "cpu", 3) == 0 && strchr(":=", w[3])))
            code = ESLURM_INVALID_TRES;
    }
    return code;
}

static bool is_gpu(const char *name, size_t n)
{
    return n == strlen("gpu") && strncmp(name, "gpu", n) == 0;
}

/* "gres/gpu:single:1+gres/nic:per_task:1".  --gpu-bind is no mistake in a cluster without GPUs: it
 * binds nothing. */
static bool binding_known(const char *types, const char *text)
{
    _cleanup_free_ char *copy = text ? strdup(text) : NULL;
    char *save = NULL;

    for (char *w = copy ? strtok_r(copy, "+", &save) : NULL; w; w = strtok_r(NULL, "+", &save)) {
        size_t name = strncmp(w, "gres/", 5) == 0 ? strcspn(w + 5, ":") : 0;

        if (!name || w[5 + name] != ':' ||
            !(is_gpu(w + 5, name) || wordlist_has_n(types, w + 5, name)) ||
            !gpubind_is_word(w + 5 + name + 1))
            return false;
    }
    return true;
}

static bool asks_for(const Pst__JobRecord *r, const char *name)
{
    const char *const lists[] = { r->tres_per_node, r->tres_per_job, r->tres_per_task,
                                  r->tres_per_socket };
    bool any = false, here;

    for (size_t i = 0; i < ARRAY_SIZE(lists) && !any; i++) {
        (void)gres_text_count(lists[i], name, NULL, &here);
        any = here;
    }
    return any;
}

int submit_gres(const struct ctld *ctld, const Pst__JobRecord *r)
{
    const char *types = conf_str(ctld->conf, CONF_GRES_TYPES);
    int code = check_list(types, r->tres_per_node, COUNT_MAX);

    code = code ? code : check_list(types, r->tres_per_job, UINT32_MAX);
    code = code ? code : check_list(types, r->tres_per_socket, UINT32_MAX);
    code = code ? code : check_per_task(types, r->tres_per_task);
    /* GPUs that follow from the tasks. */
    if (code == 0 && r->has_ntasks_per_gpu && r->ntasks_per_gpu && !wordlist_has(types, "gpu"))
        code = ESLURM_INVALID_GRES;
    if (code == 0 && r->gpu_bind && !binding_known(types, r->gpu_bind))
        code = ESLURM_INVALID_TRES;
    /* A job gets whole GPUs or shares of GPUs on a node, never both. */
    if (code == 0 && asks_for(r, "gpu") + asks_for(r, "shard") + asks_for(r, "mps") > 1)
        code = ESLURM_INVALID_GRES;
    return code;
}

/* ---- counts ---------------------------------------------------------------------------------- */

static struct gpucount count_of(const Pst__JobRecord *r)
{
    return (struct gpucount){ .per_job = r->tres_per_job,
                              .per_node = r->tres_per_node,
                              .per_socket = r->tres_per_socket,
                              .per_task = r->tres_per_task,
                              .tasks = r->has_num_tasks ? r->num_tasks : 0,
                              .tasks_per_node = r->has_ntasks_per_node ? r->ntasks_per_node : 0,
                              .min_nodes = r->has_min_nodes ? r->min_nodes : 0,
                              .max_nodes = r->has_max_nodes ? r->max_nodes : 0,
                              .sockets = r->has_sockets_per_node ? r->sockets_per_node : 0,
                              .tasks_per_gpu = r->has_ntasks_per_gpu ? r->ntasks_per_gpu : 0,
                              .cpus_per_gpu = r->has_cpus_per_gpu ? r->cpus_per_gpu : 0,
                              .mem_per_gpu_mib = r->has_mem_per_gpu_mib ? r->mem_per_gpu_mib : 0 };
}

int jobgres_check(const Pst__JobRecord *r)
{
    struct gpucount c = count_of(r);
    struct err err = { .text = "" };

    return gpucount_settle(&c, &err) < 0 ? ESLURM_INVALID_GRES : 0;
}

int jobgres_settle(Pst__JobRecord *r, struct err *err)
{
    struct gpucount c = count_of(r);

    if (gpucount_settle(&c, err) < 0)
        return ESLURM_INVALID_GRES;
    if (c.tasks)
        SET(r, num_tasks, c.tasks);
    if (c.min_nodes)
        SET(r, min_nodes, c.min_nodes);
    if (c.max_nodes)
        SET(r, max_nodes, c.max_nodes);
    return 0;
}

int jobgres_licenses(Pst__JobRecord *r)
{
    _cleanup_free_ char *copy = r->tres_per_task ? strdup(r->tres_per_task) : NULL;
    _cleanup_val_(strbuf_done) struct strbuf sb = STRBUF_INIT;
    uint64_t tasks = r->has_num_tasks ? r->num_tasks : r->has_min_nodes ? r->min_nodes : 1;
    char *save = NULL, *text = NULL;

    strbuf_add(&sb, r->licenses ? r->licenses : "");
    for (char *w = copy ? strtok_r(copy, ",", &save) : NULL; w; w = strtok_r(NULL, ",", &save)) {
        struct gres_text g;

        if (strncmp(w, "license/", 8) != 0)
            continue;
        if (!gres_text_parse(w + 8, &g) || g.type || g.count > UINT32_MAX)
            return ESLURM_INVALID_LICENSES;
        strbuf_addf(&sb, "%s%s=%llu", sb.len ? "," : "", g.name,
                    (unsigned long long)(g.count * tasks));
    }
    if (!sb.len)
        return 0;
    if (strbuf_detach(&sb, &text) < 0)
        return SLURM_ERROR;
    free(r->licenses);
    r->licenses = text;
    return 0;
}
