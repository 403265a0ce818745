/* nspin.c - see nspin.h */
#include "kube/nodeset/nspin.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/timefmt.h"
#include "kube/api/kubejson.h"
#include "kube/make/nodefit.h"
#include "kube/nodeset/nspod.h"

static void write_ordinal(int64_t ordinal, char buf[static 24])
{
    (void)snprintf(buf, 24, "%lld", (long long)ordinal);
}

const char *nspin_node(const json_t *map, int64_t ordinal)
{
    char key[24];

    write_ordinal(ordinal, key);
    return json_string_value(json_object_get(map, key));
}

/* Where workers run now; taken: node to ordinal. */
static int add_running(const struct nsview *v, json_t *map, json_t *taken)
{
    size_t i;
    json_t *one;

    json_array_foreach(v->pods, i, one)
    {
        struct nspod pod;
        const char *node = kubejson_text(one, "spec.nodeName");
        char key[24];

        nspod_read(v, one, &pod);
        if (!*node)
            continue;
        write_ordinal(pod.ordinal, key);
        if ((!pod.ending && json_object_set_new(taken, node, json_string(key)) < 0) ||
            (pod.begun && pod.ordinal >= 0 && json_object_set_new(map, key, json_string(node)) < 0))
            return -1;
    }
    return 0;
}

/* Is the pin good still? */
static bool is_good(const struct nsview *v, const char *key, const char *name, const json_t *taken)
{
    const json_t *spec = kubejson_at(v->f->cr, "spec.template.spec");
    const json_t *node = json_object_get(v->nodes, name);
    const char *by = json_string_value(json_object_get(taken, name));

    return node && nodefit_fits(spec, node, false) &&
           (!by || strcmp(by, key) == 0 || kubejson_true(v->f->cr, "spec.oversubscribeNode"));
}

json_t *nspin_map(const struct nsview *v)
{
    _cleanup_json_ json_t *map = json_object(), *all = json_object(), *taken = json_object();
    const json_t *have = kubejson_at(v->f->cr, "status.ordinalToNode");
    const char *key;
    json_t *one;

    json_object_foreach((json_t *)(uintptr_t)have, key, one)
    {
        if (json_is_string(one) && strlen(key) < 12 && json_object_set(all, key, one) < 0)
            return NULL;
    }
    if (!map || add_running(v, all, taken) < 0)
        return NULL;
    json_object_foreach(all, key, one)
    {
        if (is_good(v, key, json_string_value(one), taken) && json_object_set(map, key, one) < 0)
            return NULL;
    }
    return json_incref(map);
}

json_t *nspin_patch(const json_t *map, const json_t *have)
{
    json_t *patch = json_copy((json_t *)(uintptr_t)map), *one;
    const char *key;

    json_object_foreach((json_t *)(uintptr_t)have, key, one)
    {
        if (!json_object_get(map, key) && json_object_set_new(patch, key, json_null()) < 0) {
            json_decref(patch);
            return NULL;
        }
    }
    return patch;
}
