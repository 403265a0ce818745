/* fuzz_nsyaml.c - namespace.yaml: what is taken is complete, what is not has a sentence */
#include <assert.h>
#include <stdint.h>

#include "noded/plan/nsyaml.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct err err = { .text = "" };
    Pst__Namespace *ns = NULL;
    int r = nsyaml_parse((const char *)data, size, "n1", &ns, &err);

    if (r < 0) {
        assert(!ns && err.text[0]);
        return 0;
    }
    if (!ns)
        return 0;
    assert(ns->base_path && ns->base_path[0] == '/' && ns->n_dirs + ns->n_confs > 0);
    for (size_t i = 0; i < ns->n_dirs; i++)
        assert(ns->dirs[i][0] == '/');
    for (size_t i = 0; i < ns->n_confs; i++)
        assert(ns->confs[i]->path[0] == '/');
    pst__namespace__free_unpacked(ns, NULL);
    return 0;
}
