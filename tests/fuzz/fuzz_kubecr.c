/* fuzz_kubecr.c - custom resources from a hostile user: refused with a sentence, or made objects */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "kube/api/kubejson.h"
#include "kube/make/mkcontroller.h"
#include "kube/make/mklogin.h"
#include "kube/make/mkrest.h"
#include "kube/make/mkworkers.h"
#include "kube/make/opspec.h"

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

static void make_objects(const struct opgroup *group, const json_t *cr)
{
    struct mkbase_facts f = {
        .group = group, .cr = cr, .controller = cr, .image = "i", .find = find_nothing
    };
    json_t *made = NULL, *pod;

    switch (opkinds_served(kubejson_text(cr, "kind"))) {
    case OPKIND_CONTROLLER:
        (void)mkcontroller_objects(&f, &made); /* or there are too many */
        break;
    case OPKIND_ACCOUNTING:
        (void)mkrest_accounting(&f, "p", &made);
        break;
    case OPKIND_RESTAPI:
        (void)mkrest_objects(&f, &made);
        break;
    case OPKIND_NODESET:
        pod = mkworkers_pod(&f, 0, NULL);
        made = pod ? mkworkers_claims(&f, pod) : NULL;
        json_decref(pod);
        break;
    case OPKIND_LOGINSET:
        (void)mklogin_objects(&f, &made);
        break;
    case OPKIND_TOKEN:
    case OPKIND_MAX_:
        break;
    }
    json_decref(made);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct err err = { .text = "" };
    json_t *object = NULL, *cr = NULL;

    if (kubejson_parse((const char *)data, size, &object, &err) < 0)
        return 0;
    if (opspec_read(object, &cr, &err) < 0)
        assert(!cr && err.text[0]);
    else
        make_objects(opkinds_group(cr), cr);
    json_decref(cr);
    json_decref(object);
    return 0;
}
