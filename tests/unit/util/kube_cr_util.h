/* kube_cr_util.h - custom resources in tests; needs kube_operator_dep */
#pragma once

#include "kube_util.h"

#include <stdio.h>

#include "kube/make/mkbase.h"
#include "kube/make/opspec.h"

/* A resource of our group with a spec; the caller's. */
UTIL json_t *make_cr(const char *kind, const char *name, const char *spec)
{
    return json_pack("{s:s, s:s, s:{s:s, s:s, s:s}, s:o}", "apiVersion",
                     "operator.penstock/v1beta1", "kind", kind, "metadata", "name", name,
                     "namespace", "ns", "uid", "00000000-0000-4000-8000-000000000001", "spec",
                     read_text(spec));
}

/* The same with its defaults. */
UTIL json_t *read_cr(const char *kind, const char *name, const char *spec)
{
    _cleanup_json_ json_t *cr = make_cr(kind, name, spec);
    struct err err = { .text = "" };
    json_t *ret = NULL;

    if (opspec_read(cr, &ret, &err) < 0)
        fail_msg("%s", err.text);
    return ret;
}

/* mkbase_facts.find over a map of "Kind/name". */
UTIL const json_t *find_object(void *ctx, const struct mkbase_facts *f, const char *kind,
                               const char *name)
{
    char key[200];

    (void)f;
    (void)snprintf(key, sizeof(key), "%s/%s", kind, name);
    return json_object_get(ctx, key);
}
