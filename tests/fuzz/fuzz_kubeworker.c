/* fuzz_kubeworker.c - workers, nodes and records of Slurm whose words anybody may have written
 *
 * What is decided about them never ends a worker that has begun without Slurm's word. */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "base/timefmt.h"
#include "kube/api/kubejson.h"
#include "kube/make/opspec.h"
#include "kube/nodeset/nsdecide.h"
#include "kube/nodeset/nsoverdue.h"
#include "kube/nodeset/nspod.h"

#define NOW_US (INT64_C(1800000000) * USEC_PER_SEC)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const json_t *find_nothing(void *ctx, const struct mkbase_facts *f, const char *kind,
                                  const char *name)
{
    (void)ctx;
    (void)f;
    (void)kind;
    (void)name;
    return NULL;
}

static void check_act(const struct nsview *v, const json_t *act)
{
    const char *what = kubejson_text(act, "do");
    const json_t *pod = json_object_get(act, "pod");
    struct nspod p;

    if (strcmp(what, "node") == 0 || strcmp(what, "prune") == 0)
        assert(v->slurm); /* what is not known is not changed */
    if (strcmp(what, "delete") != 0)
        return;
    nspod_read(v, pod, &p);
    assert(!p.begun || p.finished || (v->slurm && kubejson_true(act, "ask")));
}

/* Arrays and objects as the informers give them: of objects alone. */
static const json_t *take_all(const json_t *root, const char *name, bool list)
{
    json_t *all = json_object_get(root, name), *one;
    const char *key;
    size_t i;

    if (list ? !json_is_array(all) : !json_is_object(all))
        return NULL;
    json_array_foreach(all, i, one)
    {
        if (!json_is_object(one))
            return NULL;
    }
    json_object_foreach(all, key, one)
    {
        if (!json_is_object(one) && strcmp(name, "missed") != 0 && strcmp(name, "deadlines") != 0)
            return NULL;
    }
    return all;
}

static void decide(const json_t *root, const json_t *set, const json_t *controller)
{
    struct mkbase_facts f = { .group = opkinds_group(set),
                              .cr = set,
                              .controller = controller,
                              .image = "i",
                              .find = find_nothing };
    struct nsview v = { .f = &f,
                        .pods = take_all(root, "pods", true),
                        .nodes = take_all(root, "nodes", false),
                        .slurm = take_all(root, "slurm", false),
                        .missed = take_all(root, "missed", false),
                        .deadlines = take_all(root, "deadlines", false),
                        .claims = take_all(root, "claims", false),
                        .patience_s = 600,
                        .now_us = NOW_US };
    char text[NSOVERDUE_TEXT];
    json_t *acts = NULL, *act;
    struct nscount count;
    int64_t wake_s;
    size_t i;

    if (!v.pods)
        return;
    v.records = v.slurm ? take_all(root, "records", true) : NULL;
    if (nsdecide(&v, &acts, &wake_s) < 0)
        return;
    assert(wake_s >= 0);
    json_array_foreach(acts, i, act) check_act(&v, act);
    json_decref(acts);
    nsdecide_count(&v, &count);
    if (nsoverdue_find(&v, text, &wake_s))
        assert(*text && strlen(text) < sizeof(text));
    assert(wake_s >= 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct err err = { .text = "" };
    json_t *root = NULL, *set = NULL, *controller = NULL;

    if (kubejson_parse((const char *)data, size, &root, &err) < 0)
        return 0;
    if (json_is_object(json_object_get(root, "set")) &&
        json_is_object(json_object_get(root, "controller")) &&
        opspec_read(json_object_get(root, "set"), &set, &err) == 0 &&
        opspec_read(json_object_get(root, "controller"), &controller, &err) == 0 &&
        strcmp(kubejson_text(set, "kind"), "NodeSet") == 0 &&
        strcmp(kubejson_text(controller, "kind"), "Controller") == 0)
        decide(root, set, controller);
    json_decref(set);
    json_decref(controller);
    json_decref(root);
    return 0;
}
