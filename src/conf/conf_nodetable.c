/* conf_nodetable.c - finding a node of the configuration by its name.
 *
 * Open addressing at half load at most; the table holds indexes of struct conf's nodes, plus
 * one. */
#include "conf/conf_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

uint32_t conf_node_index(const struct conf *c, const char *name)
{
    if (c->node_table_size == 0)
        return UINT32_MAX;
    for (size_t i = conf_hash(name);; i++) {
        uint32_t slot = c->node_table[i & (c->node_table_size - 1)];

        if (slot == 0)
            return UINT32_MAX;
        if (strcmp(c->nodes[slot - 1].name, name) == 0)
            return slot - 1;
    }
}

void conf_node_insert(struct conf *c, uint32_t index)
{
    size_t i = conf_hash(c->nodes[index].name);

    while (c->node_table[i & (c->node_table_size - 1)])
        i++;
    c->node_table[i & (c->node_table_size - 1)] = index + 1;
}

int conf_node_reserve(struct conf *c, size_t n)
{
    size_t size = c->node_table_size ? c->node_table_size : 64;
    uint32_t *table;

    while (size < n * 2)
        size *= 2;
    if (size == c->node_table_size)
        return 0;
    table = calloc(size, sizeof(*table));
    if (!table)
        return -ENOMEM;
    free(c->node_table);
    c->node_table = table;
    c->node_table_size = size;
    for (size_t i = 0; i < c->nnodes; i++)
        conf_node_insert(c, (uint32_t)i);
    return 0;
}
