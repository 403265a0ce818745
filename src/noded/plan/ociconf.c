/* ociconf.c - whether a step's tasks run in containers, and how this node does that; see ociconf.h
 *
 * Main thread. */
#include "noded/plan/ociconf.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/pb/pbutil.h"
#include "stepd/shared/spool.h"

static bool is_none(const char *runtime)
{
    return strcasecmp(runtime, "none") == 0 || strcasecmp(runtime, "runtime/none") == 0;
}

static int fill_plan(Pst__OciPlan *p, const struct conf_oci *c, const char *bundle, const char *id)
{
    const struct {
        char **field;
        const char *value;
    } texts[] = {
        { &p->bundle, bundle },
        { &p->container_id, id },
        { &p->run, c->run },
        { &p->create, c->create },
        { &p->start, c->start },
        { &p->query, c->query },
        { &p->kill, c->kill },
        { &p->del, c->del },
        { &p->container_path, c->container_path },
        { &p->mount_spool_dir, c->mount_spool_dir },
        { &p->env_exclude, c->env_exclude },
        { &p->runtime_env_exclude, c->runtime_env_exclude },
        { &p->disable_hooks, c->disable_hooks },
    };
    int r = 0;

    for (size_t i = 0; r == 0 && i < ARRAY_SIZE(texts); i++)
        r = pb_set_str(texts[i].field, texts[i].value);
    p->has_env_file = c->env_file != 0;
    p->env_file = (uint32_t)c->env_file;
    p->has_disable_cleanup = p->has_ignore_config_json = true;
    p->disable_cleanup = c->disable_cleanup;
    p->ignore_config_json = c->ignore_config_json;
    return r;
}

int oci_plan(const struct noded *d, Pst__StepFile *sf)
{
    const Pst__JobRecord *j = sf->job->job;
    bool of_job = !sf->launch || sf->step_id == STEP_ID_INTERACTIVE;
    const char *bundle = of_job ? j->container : sf->launch->container,
               *runtime = of_job ? j->runtime : sf->launch->runtime;
    struct conf_oci c;

    if (!bundle || !*bundle || sf->step_id == STEP_ID_EXTERN || !conf_oci(d->conf, &c) ||
        is_none(runtime ? runtime : conf_str(d->conf, CONF_DEF_RUNTIME_PLUGIN)))
        return 0;
    sf->oci = malloc(sizeof(*sf->oci));
    if (!sf->oci)
        return -ENOMEM;
    pst__oci_plan__init(sf->oci);
    return fill_plan(sf->oci, &c, bundle, of_job ? j->container_id : sf->launch->container_id);
}
