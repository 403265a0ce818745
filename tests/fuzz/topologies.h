/* topologies.h - what holds for every file of topologies, for the targets that read them */
#pragma once

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "conf/topo/conf_topo.h"

static void check_topology(const struct conf_topo *t)
{
    assert(t->name);
    for (size_t i = 0; i < t->nunits; i++) {
        const struct conf_topo_unit *u = &t->units[i];
        size_t volume = (size_t)u->dims[0] * u->dims[1] * u->dims[2];

        assert(u->name && *u->name);
        assert(t->kind != CONF_TOPO_TORUS || u->nnodes == volume);
        assert(t->kind != CONF_TOPO_RING_KIND || u->nnodes <= CONF_TOPO_RING);
        for (size_t k = 0; k < u->nnodes; k++)
            assert(t->kind == CONF_TOPO_TORUS || u->nodes[k]);
        for (size_t k = 0; k < u->nchildren; k++)
            assert(u->children[k] < t->nunits && u->children[k] != i);
    }
    for (size_t i = 1; i < t->nblock_sizes; i++)
        assert(t->block_sizes[i] % t->block_sizes[0] == 0);
}

/* Read the text as this file; plugin is what TopologyPlugin says. */
static void fuzz_topologies(const char *file, const char *plugin, const char *text, size_t len)
{
    char slurm[256];
    struct conf_text conf = { .name = "slurm.conf", .text = slurm };
    struct conf_text topology = { .name = file, .text = text, .len = len };
    _cleanup_(conf_free) struct conf *c = NULL;
    _cleanup_(conf_topos_free) struct conf_topos *t = NULL;
    struct conf_problems problems;
    struct err err = { .text = "" };
    int r;

    (void)snprintf(slurm, sizeof(slurm),
                   "ClusterName=c\nSlurmctldHost=h\nNodeName=n[1-16] CPUs=1\n"
                   "PartitionName=p Nodes=ALL\nTopologyPlugin=topology/%s\n",
                   plugin);
    conf.len = strlen(slurm);
    if (conf_load_text(&conf, 1, CONF_FULL, &c, NULL, NULL) < 0)
        return;
    r = conf_topos_load_text(c, &topology, 1, &t, &problems, &err);
    conf_problems_done(&problems);
    assert((r == 0) == (t != NULL) && (r == 0) == (err.text[0] == '\0'));
    for (size_t i = 0; r == 0 && i < conf_topos_count(t); i++)
        check_topology(conf_topos_nth(t, i));
}
