/* yamlwalk.c - see yamlwalk.h */
#include "base/yaml/yamlwalk.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

int yamlwalk_wrong(const struct yamlwalk *w, const yaml_node_t *at, const char *what)
{
    return err_set(w->err, -EINVAL, "line %zu: %s", at->start_mark.line + 1, what);
}

const char *yamlwalk_text(const yaml_node_t *n)
{
    const char *text = n->type == YAML_SCALAR_NODE ? (const char *)n->data.scalar.value : NULL;

    return text && strlen(text) == n->data.scalar.length ? text : NULL;
}

/* The place of a key in its table, or a refusal. */
static int find_key(const struct yamlwalk *w, const yaml_node_t *key,
                    const struct yamlwalk_key *keys, size_t n, uint32_t *seen)
{
    const char *name = yamlwalk_text(key);
    size_t i = 0;

    while (name && i < n && strcmp(keys[i].name, name) != 0)
        i++;
    if (!name || i == n)
        return err_set(w->err, -EINVAL, "line %zu: unknown key \"%.64s\"", key->start_mark.line + 1,
                       name ? name : "");
    if (*seen >> i & 1)
        return err_set(w->err, -EINVAL, "line %zu: the key %s stands twice",
                       key->start_mark.line + 1, name);
    *seen |= UINT32_C(1) << i;
    return (int)i;
}

int yamlwalk_map(struct yamlwalk *w, const yaml_node_t *map, const struct yamlwalk_key *keys,
                 size_t n, void *to)
{
    uint32_t seen = 0;

    if (map->type != YAML_MAPPING_NODE)
        return yamlwalk_wrong(w, map, "a mapping (key: value) is expected here");
    for (yaml_node_pair_t *p = map->data.mapping.pairs.start; p < map->data.mapping.pairs.top;
         p++) {
        int r = find_key(w, yaml_document_get_node(w->doc, p->key), keys, n, &seen);

        if (r >= 0)
            r = keys[r].fn(w, to, yaml_document_get_node(w->doc, p->value));
        if (r < 0)
            return r;
    }
    return 0;
}

int yamlwalk_list(struct yamlwalk *w, const yaml_node_t *list, size_t most, yamlwalk_fn *fn,
                  void *to)
{
    int r = 0;

    if (list->type != YAML_SEQUENCE_NODE)
        return yamlwalk_wrong(w, list, "a list is expected here");
    if ((size_t)(list->data.sequence.items.top - list->data.sequence.items.start) > most)
        return err_set(w->err, -E2BIG, "line %zu: the list has more than %zu entries",
                       list->start_mark.line + 1, most);
    for (yaml_node_item_t *i = list->data.sequence.items.start;
         r == 0 && i < list->data.sequence.items.top; i++)
        r = fn(w, to, yaml_document_get_node(w->doc, *i));
    return r;
}
