/* conf_topotorus.c - see conf_topotorus.h */
#include "conf/topo/conf_topotorus.h"
#include "conf/topo/conf_topobuild.h"

#include <string.h>

static uint64_t volume_of(const uint32_t dims[3])
{
    return (uint64_t)dims[0] * dims[1] * dims[2]; /* each has 16 bits */
}

bool conf_topotorus_dims(struct topo_loader *tl, struct conf_topo_unit *u, const uint32_t dims[3])
{
    uint64_t volume = volume_of(dims);

    if (volume == 0) {
        conf_error(&tl->l, tl->file, u->line, "torus %s: a dimension is 0", u->name);
        return false;
    }
    if (volume > CONF_TOPO_CELLS - tl->cells) {
        conf_error(&tl->l, tl->file, u->line,
                   "torus %s: its %ux%ux%u cells make more than %u nodes in all", u->name, dims[0],
                   dims[1], dims[2], CONF_TOPO_CELLS);
        return false;
    }
    tl->cells += volume;
    memcpy(u->dims, dims, sizeof(u->dims));
    u->nodes = conf_topo_alloc(tl, volume, sizeof(*u->nodes));
    u->nnodes = u->nodes ? volume : 0;
    return u->nodes != NULL;
}

/* The cell of the i-th node of a box. */
static size_t cell_of(const struct conf_topo_unit *u, const uint32_t anchor[3],
                      const uint32_t dims[3], size_t i)
{
    size_t x = anchor[0] + i % dims[0], y = anchor[1] + i / dims[0] % dims[1],
           z = anchor[2] + i / dims[0] / dims[1];

    return x + u->dims[0] * (y + u->dims[1] * z);
}

void conf_topotorus_region(struct topo_loader *tl, struct conf_topo_unit *u, unsigned line,
                           const uint32_t anchor[3], const uint32_t dims[3],
                           const char *const *nodes, size_t n)
{
    uint64_t volume = volume_of(dims);

    for (unsigned i = 0; i < 3; i++)
        if (dims[i] == 0 || anchor[i] + dims[i] > u->dims[i]) {
            conf_error(&tl->l, tl->file, line,
                       "torus %s: the region of %ux%ux%u at %u,%u,%u does not lie in %ux%ux%u",
                       u->name, dims[0], dims[1], dims[2], anchor[0], anchor[1], anchor[2],
                       u->dims[0], u->dims[1], u->dims[2]);
            return;
        }
    if (volume != n) {
        conf_error(&tl->l, tl->file, line, "torus %s: %zu nodes are listed for %ux%ux%u cells",
                   u->name, n, dims[0], dims[1], dims[2]);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        const char **cell = &u->nodes[cell_of(u, anchor, dims, i)];

        if (*cell) {
            conf_error(&tl->l, tl->file, line, "torus %s: two regions overlap where node %s is",
                       u->name, *cell);
            return;
        }
        *cell = nodes[i];
    }
}

bool conf_topotorus_place(struct topo_loader *tl, const struct conf_topo_unit *u, unsigned line,
                          const struct conf_topo_place *p)
{
    const char *wrong = NULL;

    for (unsigned i = 0; i < 3; i++) {
        if (p->dims[i] == 0)
            wrong = "a dimension is 0";
        else if (p->dims[i] > u->dims[i])
            wrong = "it is larger than the torus";
        else if (p->spacing[i] == 0 || p->spacing[i] > u->dims[i])
            wrong = "anchor_spacing is 0, or larger than the torus";
        else if (p->seed[i] >= u->dims[i])
            wrong = "anchor_seed is outside of the torus";
        if (!wrong)
            continue;
        conf_error(&tl->l, tl->file, line, "torus %s: placement of %ux%ux%u: %s", u->name,
                   p->dims[0], p->dims[1], p->dims[2], wrong);
        return false;
    }
    return true;
}

/* There are few, and those of equal size keep their order. */
void conf_topotorus_sort(struct conf_topo_unit *u)
{
    for (size_t i = 1; i < u->nplaces; i++) {
        struct conf_topo_place p = u->places[i];
        size_t k = i;

        for (; k > 0 && volume_of(u->places[k - 1].dims) > volume_of(p.dims); k--)
            u->places[k] = u->places[k - 1];
        u->places[k] = p;
    }
}
