/* fuzz_resources.c - resources.yaml: what is taken is a tree within its limits, what is not has a
 * sentence */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "conf/conf.h"
#include "conf/layers/resources.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char slurm_conf[] = "ClusterName=c\nSlurmctldHost=h\nLicenses=a:1\n"
                                 "NodeName=n[01-12] CPUs=1\n"
                                 "PartitionName=p Nodes=ALL\n";

static void check_layer(const struct resource *res, size_t i)
{
    const struct resource_layer *l = &res->layers[i];

    assert(l->nodes[0] && hostlist_count(l->names) > 0);
    assert(l->count == RESOURCES_INFINITE ? l->total == l->count : l->total <= l->count);
    assert(l->parent == RESOURCES_NO_LAYER || (l->parent > i && l->parent < res->nlayers));
    assert((l->parent == RESOURCES_NO_LAYER) == (res->mode != 3 || i + 1 == res->nlayers));
}

static void check_resource(const struct resource *res)
{
    uint32_t value;

    assert(res->name[0] && !strpbrk(res->name, ",;|:=@() "));
    assert(res->mode >= 1 && res->mode <= 3 && res->nlayers > 0);
    assert(!res->topology || res->mode == 3);
    for (size_t i = 0; i < res->nlayers; i++)
        check_layer(res, i);
    for (size_t i = 0; i < res->nvariables; i++)
        assert(
            resource_variable(res, res->variables[i].name, strlen(res->variables[i].name), &value));
    (void)resource_most(res);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct conf_text text = { "slurm.conf", slurm_conf, sizeof(slurm_conf) - 1 };
    static struct conf *conf; /* the same for all inputs */
    struct resources_fault fault;
    struct err err = { .text = "" };
    struct resources *all = NULL;
    int r;

    if (!conf)
        assert(conf_load_text(&text, 1, CONF_FULL, &conf, NULL, &err) == 0);
    r = resources_parse((const char *)data, size, conf, &all, &fault, &err);
    if (r < 0) {
        assert(!all && err.text[0]);
        return 0;
    }
    for (size_t i = 0; i < all->n; i++) {
        check_resource(&all->list[i]);
        assert(resources_find(all, all->list[i].name, strlen(all->list[i].name)) == &all->list[i]);
    }
    resources_free(all);
    return 0;
}
