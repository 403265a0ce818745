/* resourcefile.c - see resourcefile.h */
#include "ctld/core/resourcefile.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "conf/topo/conf_topo.h"

/* Programs that watch logs know these two lines; ours says where the mistake is. */
static void log_refused(const struct conf *conf, const struct resources_fault *fault,
                        const struct err *err)
{
    const char *path = conf_path(conf), *slash = strrchr(path, '/');

    if (fault->source[0]) {
        log_error("%s: parser=data_parser/v0.0.45 rc[9207]=Data parser unable to parse invalid "
                  "flag -> Unknown flag \"%s\"",
                  fault->source, fault->word);
        log_error("[%.*s%s] source: %s, description: Unknown flag \"%s\", rc: 9207",
                  slash ? (int)(slash - path + 1) : 0, path, RESOURCES_FILE, fault->source,
                  fault->word);
    }
    log_error("reconfigure: %s; the resources stay as they were", err->text);
}

/* A resource of MODE_3 may name a topology; is it one of the cluster's? */
static int check_topologies(const struct conf *conf, const struct resources *all, struct err *err)
{
    _cleanup_(conf_topos_free) struct conf_topos *files = NULL;

    for (size_t i = 0; i < all->n; i++) {
        const struct resource *res = &all->list[i];
        bool found = !res->topology;
        int r = found || files ? 0 : conf_topos_load(conf, &files, NULL, err);

        if (r < 0)
            return r;
        for (size_t k = 0; !found && k < conf_topos_count(files); k++)
            found = strcmp(conf_topos_nth(files, k)->name, res->topology) == 0;
        if (!found)
            return err_set(err, -EINVAL, "%s: line %u: %s: there is no topology %s", RESOURCES_FILE,
                           res->line, res->name, res->topology);
    }
    return 0;
}

int resourcefile_load(const struct conf *conf, struct resources **ret,
                      struct resources_fault *fault, struct err *err)
{
    int r = resources_load(conf, ret, fault, err);

    if (r == 0 && (r = check_topologies(conf, *ret, err)) < 0) {
        *ret = resources_free(*ret);
        if (fault)
            *fault = (struct resources_fault){ .source = "" };
    }
    return r;
}

int resourcefile_check(struct ctld *ctld, const struct conf *conf, struct err *err)
{
    struct resources_fault fault;
    struct resources *fresh = NULL;
    struct err own = { .text = "" };
    int r = resourcefile_load(conf, &fresh, &fault, &own);

    ctld->resources_checked = resources_free(ctld->resources_checked);
    if (r == 0 && !ctld->resources)
        ctld->resources = fresh;
    else if (r == 0)
        ctld->resources_checked = fresh;
    else if (!ctld->resources)
        return err_set(err, r, "%s", own.text);
    else
        log_refused(conf, &fault, &own);
    return 0;
}

void resourcefile_follow(struct ctld *ctld)
{
    if (!ctld->resources_checked)
        return;
    resources_free(ctld->resources);
    ctld->resources = TAKE_PTR(ctld->resources_checked);
}

void resourcefile_forget(struct ctld *ctld)
{
    ctld->resources = resources_free(ctld->resources);
    ctld->resources_checked = resources_free(ctld->resources_checked);
}
