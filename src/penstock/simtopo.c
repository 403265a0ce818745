/* simtopo.c - topology.conf and topology.yaml for `penstock sim`; see simtopo.h */
#include "penstock/simtopo.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf/conf.h"
#include "conf/topo/conf_topo.h"
#include "feed/topoconf.h"

static int load_files(const struct conf *conf, const char *dir, struct conf_topos **ret,
                      struct err *err)
{
    struct conf_problems problems;
    int r = conf_topos_load_in(conf, dir, ret, &problems, err);

    conf_report(stderr, &problems);
    conf_problems_done(&problems);
    return r;
}

static int put_set(struct sim_machine *m, struct toposet *ts, struct err *err)
{
    const struct topo_spec *specs;
    size_t n = toposet_specs(ts, &specs);

    return machine_set_topologies(m, specs, n, err);
}

int simtopo_files(const struct conf *conf, const char *path, struct conf_topos **ret,
                  struct err *err)
{
    const char *slash = strrchr(path, '/');
    _cleanup_free_ char *dir =
        slash ? strndup(path, slash > path ? (size_t)(slash - path) : 1) : strdup(".");

    return dir ? load_files(conf, dir, ret, err) : -ENOMEM;
}

int simtopo_conf(const struct conf *conf, const char *path, struct sim_machine *m, struct err *err)
{
    _cleanup_(conf_topos_free) struct conf_topos *files = NULL;
    _cleanup_(toposet_free) struct toposet *ts = NULL;
    int r = simtopo_files(conf, path, &files, err);

    if (r == 0)
        r = topoconf_of_conf(files, conf, &ts, err);
    return r < 0 ? r : put_set(m, ts, err);
}

int simtopo_live(const struct conf *conf, struct world *w, struct err *err)
{
    _cleanup_(conf_topos_free) struct conf_topos *files = NULL;
    _cleanup_(toposet_free) struct toposet *ts = NULL;
    int r = load_files(conf, NULL, &files, err);

    if (r < 0)
        return r;
    ts = topoconf_of_cluster(files, conf, w->cluster);
    return put_set(&w->machine, ts, err);
}
