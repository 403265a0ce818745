/* tgrun.c - see tgrun.h; the engine's side is in tgengine.c */
#include "topograph/run/tgrun.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "topograph/graphfinish.h"
#include "topograph/read/clouddoc.h"
#include "topograph/read/cliques.h"
#include "topograph/read/docjson.h"
#include "topograph/read/ibnet.h"
#include "topograph/read/kubenodes.h"
#include "topograph/read/netq.h"
#include "topograph/read/simmodel.h"
#include "topograph/run/tgengine.h"

typedef int read_fn(const struct tgrequest *q, const char *text, size_t len, struct graph *g,
                    struct err *err);

static const struct graph_wanted *wanted_of(const struct tgrequest *q)
{
    return q->has_nodes ? &q->wanted : NULL;
}

static int read_fabric(const struct tgrequest *q, const char *text, size_t len, struct graph *g,
                       struct err *err)
{
    return ibnet_read(text, len, wanted_of(q), g, err);
}

static int read_cloud(const struct tgrequest *q, const char *text, size_t len, struct graph *g,
                      struct err *err)
{
    return clouddoc_read(q->provider, text, len, wanted_of(q), g, err);
}

static int read_netq(const struct tgrequest *q, const char *text, size_t len, struct graph *g,
                     struct err *err)
{
    return netq_read(text, len, wanted_of(q), g, err);
}

static const char *clique_label(const struct tgrequest *q)
{
    const json_t *accelerator = json_object_get(q->provider_params, "accelerator");

    return json_string_value(
        json_object_get(json_object_get(accelerator, "kubernetesLabel"), "key"));
}

static int read_kubernetes(const struct tgrequest *q, const char *text, size_t len, struct graph *g,
                           struct err *err)
{
    return kubenodes_read(text, len, clique_label(q), wanted_of(q), g, err);
}

/* Domains alone: what labels say of switches does not count. */
static int read_dra(const struct tgrequest *q, const char *text, size_t len, struct graph *g,
                    struct err *err)
{
    _cleanup_(graph_free) struct graph *all = NULL;
    int r = graph_new(&all) < 0 ? err_nomem(err) : read_kubernetes(q, text, len, all, err);
    uint32_t node;

    for (size_t i = 0; r == 0 && i < all->nnodes; i++) {
        r = graph_add_node(g, all->nodes[i].id, all->nodes[i].name, &node, err);
        if (r == 0 && all->nodes[i].domain)
            r = graph_set_domain(g, node, all->nodes[i].domain, all->nodes[i].subdomain, err);
    }
    return r;
}

static int read_model(const struct tgrequest *q, const char *text, size_t len, struct graph *g,
                      struct err *err)
{
    return simmodel_read(text, len, wanted_of(q), g, err);
}

static const struct provider {
    const char *name;
    read_fn *read;
    const char *file; /* parameter that names the input */
    bool accelerators, normalise;
} providers[] = {
    { "infiniband-bm", read_fabric, "file", .accelerators = true },
    { "infiniband-k8s", read_fabric, "file", .accelerators = true },
    { "aws", read_cloud, "file" },
    { "gcp", read_cloud, "file" },
    { "oci", read_cloud, "file", .normalise = true },
    { "oci-imds", read_cloud, "file", .normalise = true },
    { "nebius", read_cloud, "file" },
    { "nscale", read_cloud, "file" },
    { "lambdai", read_cloud, "file" },
    { "netq", read_netq, "file" },
    { "dra", read_dra, "file" },
    { "kubernetes", read_kubernetes, "file" },
    { "model", read_model, "modelFileName" },
    { "aws-sim", read_model, "modelFileName" },
    { "gcp-sim", read_model, "modelFileName" },
    { "oci-sim", read_model, "modelFileName", .normalise = true },
    { "nebius-sim", read_model, "modelFileName" },
    { "nscale-sim", read_model, "modelFileName" },
    { "lambdai-sim", read_model, "modelFileName" },
    { "dsx-sim", read_model, "modelFileName" },
    { "test", read_model, "modelFileName" },
};

static const struct provider *find_provider(const char *name)
{
    for (size_t i = 0; name && i < ARRAY_SIZE(providers); i++)
        if (strcmp(providers[i].name, name) == 0)
            return &providers[i];
    return NULL;
}

void tgrun_done(struct tgrun *run)
{
    for (size_t i = 0; run->subsets && i < run->ntopologies; i++)
        graph_free(run->subsets[i]);
    free(run->subsets);
    free(run->topologies);
    graph_free(run->graph);
    strbuf_done(&run->text);
    *run = (struct tgrun){ 0 };
}

/* ---- checks ---------------------------------------------------------------------------------- */

static int check_accelerator(const json_t *params, bool *ret_needed, struct err *err)
{
    const json_t *a = json_object_get(params, "accelerator");
    const char *source = NULL;
    int r = 0;

    *ret_needed = false;
    if (!a || json_is_null(a))
        return 0;
    if (!json_is_object(a))
        return err_set(err, -EINVAL, "accelerator: an object is expected");
    r = tgrequest_text(a, "source", &source, err);
    if (r < 0 || !source || strcmp(source, "none") == 0)
        return r;
    if (strcmp(source, "nvidia-smi") != 0 && strcmp(source, "kubernetes-label") != 0)
        return err_set(err, -EINVAL,
                       "accelerator.source is nvidia-smi, kubernetes-label or none, and not %.64s",
                       source);
    *ret_needed = true;
    return 0;
}

static int check_provider(const struct tgrequest *q, const struct provider *p, struct err *err)
{
    static const char *const keys[] = { "file",
                                        "command",
                                        "acceleratorFile",
                                        "acceleratorCommand",
                                        "accelerator",
                                        "modelFileName",
                                        "trimTiers",
                                        "normalise",
                                        "api_error",
                                        "generateResponseCode",
                                        "topologyResponseCode",
                                        "errorMessage",
                                        NULL };
    const json_t *params = q->provider_params;
    bool needed = false, flag;
    const char *text;
    uint64_t trim;
    int r = tgrequest_keys(params, "the provider", keys, err);

    if (r == 0)
        r = tgrequest_count(params, "trimTiers", GRAPH_TRIM_MAX, &trim, err);
    if (r == 0)
        r = tgrequest_flag(params, "normalise", &flag, err);
    if (r == 0)
        r = check_accelerator(params, &needed, err);
    if (r == 0)
        r = tgrequest_nth(params, p->file, 0, &text, err);
    if (r == 0 && strcmp(p->name, "test") == 0)
        return 0; /* a model is not needed where an error is the answer */
    if (r == 0 && !text && !json_object_get(params, "command"))
        r = err_set(err, -EINVAL, "provider %s needs an input: parameter %s", p->name, p->file);
    if (r == 0 && p->accelerators && needed && !json_object_get(params, "acceleratorFile") &&
        !json_object_get(params, "acceleratorCommand"))
        r = err_set(err, -EINVAL, "accelerator.source needs the parameter acceleratorFile");
    return r;
}

int tgrun_check(const struct tgrequest *q, struct err *err)
{
    const struct provider *p = find_provider(q->provider);
    int r;

    if (!q->provider)
        return err_set(err, -EINVAL, "no provider is named");
    if (!p)
        return err_set(err, -EINVAL, "no such provider: %.64s", q->provider);
    r = check_provider(q, p, err);
    return r == 0 ? tgengine_check(q, err) : r;
}

/* ---- input ----------------------------------------------------------------------------------- */

static int read_input(const struct tgrequest *q, const struct tgrun_io *io, const char *what,
                      bool program, read_fn *fn, struct graph *g, struct err *err)
{
    _cleanup_free_ char *text = NULL;
    size_t len = 0;
    int r = io->load(io->ctx, what, program, &text, &len, err);

    if (r == 0) {
        r = fn(q, text, len, g, err);
        if (r < 0)
            err_prefix(err, "%.200s", what);
    }
    return r;
}

static int read_inputs(const struct tgrequest *q, const struct tgrun_io *io, const char *file,
                       const char *command, read_fn *fn, struct graph *g, struct err *err)
{
    const char *what = NULL;
    int r = tgrequest_text(q->provider_params, command, &what, err);

    if (r == 0 && what)
        r = read_input(q, io, what, true, fn, g, err);
    for (size_t i = 0; r == 0; i++) {
        r = tgrequest_nth(q->provider_params, file, i, &what, err);
        if (r < 0 || !what)
            break;
        r = read_input(q, io, what, false, fn, g, err);
    }
    return r;
}

static int read_smi(const struct tgrequest *q, const char *text, size_t len, struct graph *g,
                    struct err *err)
{
    return cliques_read(text, len, wanted_of(q), g, err);
}

/* Of a fabric: which nodes share NVLinks.  Nodes that are in no fabric stay out of it. */
static int read_accelerators(const struct tgrequest *q, const struct tgrun_io *io, struct graph *g,
                             struct err *err)
{
    const json_t *a = json_object_get(q->provider_params, "accelerator");
    const char *source = json_string_value(json_object_get(a, "source"));

    if (!source || strcmp(source, "none") == 0)
        return 0;
    return read_inputs(q, io, "acceleratorFile", "acceleratorCommand",
                       strcmp(source, "nvidia-smi") == 0 ? read_smi : read_dra, g, err);
}

/* The test provider answers as it is told. */
static int ordered_failure(const struct tgrequest *q, struct tgrun *run, struct err *err)
{
    const char *message = NULL;
    uint64_t code;
    int r = tgrequest_count(q->provider_params, "topologyResponseCode", 599, &code, err);

    if (r == 0)
        r = tgrequest_text(q->provider_params, "errorMessage", &message, err);
    if (r < 0 || code < 400)
        return r;
    run->status = (unsigned)code;
    return err_set(err, -EIO, "%.200s", message ? message : "the test provider fails as asked");
}

static int make_graph(const struct tgrequest *q, const struct provider *p,
                      const struct tgrun_io *io, struct tgrun *run, struct err *err)
{
    struct graph_finish how = { .wanted = wanted_of(q), .normalise = p->normalise };
    bool given = json_object_get(q->provider_params, "normalise") != NULL, normalise;
    uint64_t trim = 0;
    int r = graph_new(&run->graph) < 0 ? err_nomem(err) : 0;

    if (r == 0)
        r = read_inputs(q, io, p->file, "command", p->read, run->graph, err);
    if (r == 0 && p->accelerators)
        r = read_accelerators(q, io, run->graph, err);
    if (r == 0)
        r = tgrequest_count(q->provider_params, "trimTiers", GRAPH_TRIM_MAX, &trim, err);
    if (r == 0)
        r = tgrequest_flag(q->provider_params, "normalise", &normalise, err);
    if (r < 0)
        return r;
    how.trim_tiers = (uint32_t)trim;
    how.normalise = given ? normalise : how.normalise;
    r = graph_finish(run->graph, &how, err);
    if (r == 0 && !run->graph->nnodes)
        r = err_set(err, -EINVAL, "no node is described");
    return r;
}

int tgrun_make(const struct tgrequest *q, const struct tgrun_io *io, struct tgrun *ret,
               struct err *err)
{
    const struct provider *p = find_provider(q->provider);
    int r;

    *ret = (struct tgrun){ .status = 400 };
    r = tgrun_check(q, err);
    if (r == 0 && strcmp(p->name, "test") == 0)
        r = ordered_failure(q, ret, err);
    if (r == 0)
        r = make_graph(q, p, io, ret, err);
    if (r == 0)
        r = tgengine_make(q, io, ret, err);
    if (r == -ENOMEM || r == -ENOENT || r == -EACCES || r == -ETIMEDOUT)
        ret->status = 500;
    if (r == 0)
        ret->status = 200;
    return r;
}
