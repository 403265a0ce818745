/* devclaim.c - see devclaim.h */
#include "kube/claim/devclaim.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/strbuf.h"
#include "kube/api/kubejson.h"
#include "kube/claim/devask.h"
#include "kube/claim/devnode.h"

#define INDEXES_MOST 1024ul /* devices of a node */
#define NAME_MOST 200       /* of a pod, in the claim's */

void devclaim_done(struct devclaim *c)
{
    json_decref(c->claim);
    json_decref(c->status);
    json_decref(c->mappings);
    *c = (struct devclaim){ 0 };
}

json_t *devclaim_node(const char *node)
{
    return json_pack("{s:[{s:[{s:s, s:s, s:[s]}]}]}", "nodeSelectorTerms", "matchFields", "key",
                     "metadata.name", "operator", "In", "values", node);
}

json_t *devclaim_consumer(const json_t *pod)
{
    return json_pack("[{s:s, s:s, s:s}]", "resource", "pods", "name", kubejson_name(pod), "uid",
                     kubejson_uid(pod));
}

/* ---- which devices --------------------------------------------------------------------------- */

/* Is the core in the mask?  "0x0F" has 0 to 3. */
static bool has_core(const char *mask, size_t core)
{
    const char *digits = kubejson_after(mask, "0x");
    size_t n = strlen(digits ? digits : mask);
    char digit[2] = "";

    digits = digits ? digits : mask;
    if (core / 4 >= n)
        return false;
    digit[0] = digits[n - 1 - core / 4];
    return strtoul(digit, NULL, 16) >> core % 4 & 1;
}

/* Whole cores, until there are as many CPUs as the container wants. */
static int pick_cpus(const struct devclaim_view *v, int64_t count, json_t *out, struct err *err)
{
    _cleanup_json_ json_t *cores = devnode_cores(v->slices);
    const char *mask = kubejson_text(v->layout, "core_bitmap");
    size_t i, k;
    json_t *core, *cpu;

    if (!cores)
        return err_nomem(err);
    json_array_foreach(cores, i, core)
    {
        if ((int64_t)json_array_size(out) >= count || !has_core(mask, i))
            continue;
        json_array_foreach(core, k, cpu)
        {
            if (json_array_append(out, cpu) < 0)
                return err_nomem(err);
        }
    }
    if ((int64_t)json_array_size(out) < count)
        return err_set(err, -EINVAL,
                       "node %.200s: the job holds %zu CPUs of the driver " DEVASK_CPU
                       ", and %lld are wanted",
                       v->node, json_array_size(out), (long long)count);
    return 0;
}

/* The devices of an index list: "0-1,3". */
static int pick_indexes(const json_t *gpus, const char *list, int64_t count, json_t *out)
{
    for (const char *p = list; *p;) {
        char *end;
        unsigned long from, to;

        p += strspn(p, "[],");
        from = strtoul(p, &end, 10);
        if (end == p)
            break;
        to = *end == '-' ? strtoul(end + 1, &end, 10) : from;
        for (unsigned long i = from; i <= to && i < INDEXES_MOST; i++) {
            json_t *gpu = json_array_get(gpus, i);

            if (gpu && (int64_t)json_array_size(out) < count && json_array_append(out, gpu) < 0)
                return -ENOMEM;
        }
        p = end;
    }
    return 0;
}

/* An exclusive job holds all GPUs of the node: the container gets what it wants. */
static int pick_gpus(const struct devclaim_view *v, const char *class, int64_t count, json_t *out,
                     struct err *err)
{
    _cleanup_json_ json_t *gpus = devnode_gpus(v->slices, class);
    size_t i;
    json_t *one;
    int r = gpus ? 0 : -ENOMEM;

    json_array_foreach(json_object_get(v->layout, "gres"), i, one)
    {
        if (r == 0 && strcmp(kubejson_text(one, "type"), class) == 0)
            r = pick_indexes(gpus, kubejson_text(one, "index"), count, out);
    }
    if (r < 0)
        return err_nomem(err);
    if ((int64_t)json_array_size(out) < count)
        return err_set(err, -EINVAL,
                       "node %.200s: the job holds %zu devices of the driver %.200s, and %lld are "
                       "wanted",
                       v->node, json_array_size(out), class, (long long)count);
    return 0;
}

int devclaim_pick(const struct devclaim_view *v, const char *class, int64_t count, json_t *out,
                  struct err *err)
{
    return strcmp(class, DEVASK_CPU) == 0 ? pick_cpus(v, count, out, err)
                                          : pick_gpus(v, class, count, out, err);
}

/* ---- the objects ----------------------------------------------------------------------------- */

/* An expression that the devices alone meet; "": what would tell them apart is not there. */
static void write_selector(const json_t *devices, const char *class, struct strbuf *out)
{
    const char *attribute = strcmp(class, DEVASK_CPU) == 0         ? "cpuID"
                            : strcmp(class, "gpu.nvidia.com") == 0 ? "name"
                                                                   : "index";
    size_t i;
    json_t *one;

    strbuf_addf(out, "device.attributes['%s'].%s in [", class, attribute);
    json_array_foreach(devices, i, one)
    {
        const json_t *number = devnode_attribute(one, class, attribute, "int");

        strbuf_add(out, i ? "," : "");
        if (strcmp(attribute, "name") == 0 && kubejson_name_is_good(kubejson_text(one, "device"))) {
            strbuf_addf(out, "'%s'", kubejson_text(one, "device"));
        } else if (json_is_integer(number)) {
            strbuf_addf(out, "%lld", (long long)json_integer_value(number));
        } else {
            strbuf_reset(out);
            return;
        }
    }
    strbuf_addc(out, ']');
}

static json_t *make_request(const char *name, const char *class, const json_t *devices)
{
    _cleanup_val_(strbuf_done) struct strbuf selector = STRBUF_INIT;
    json_t *exactly = json_pack("{s:s, s:s, s:I}", "deviceClassName", class, "allocationMode",
                                "ExactCount", "count", (json_int_t)json_array_size(devices));

    write_selector(devices, class, &selector);
    if (selector.len && json_object_set_new(exactly, "selectors",
                                            json_pack("[{s:{s:s}}]", "cel", "expression",
                                                      strbuf_str(&selector))) < 0) {
        json_decref(exactly);
        return NULL;
    }
    return json_pack("{s:s, s:o}", "name", name, "exactly", exactly);
}

int devclaim_add_results(json_t *results, const char *name, const char *class,
                         const json_t *devices)
{
    size_t i;
    json_t *one;

    json_array_foreach(devices, i, one)
    {
        if (json_array_append_new(results,
                                  json_pack("{s:s, s:s, s:s, s:s}", "request", name, "driver",
                                            class, "pool", kubejson_text(one, "pool"), "device",
                                            kubejson_text(one, "device"))) < 0)
            return -ENOMEM;
    }
    return 0;
}

int devclaim_add_configs(json_t *configs, const json_t *list, const char *source,
                         const char *request)
{
    size_t i;
    json_t *one;

    json_array_foreach(list, i, one)
    {
        json_t *copy = json_copy(one);

        if (!copy || json_object_set_new(copy, "source", json_string(source)) < 0 ||
            (request && json_object_set_new(copy, "requests", json_pack("[s]", request)) < 0) ||
            json_array_append_new(configs, copy) < 0)
            return -ENOMEM;
    }
    return 0;
}

struct parts {
    json_t *requests, *results, *mappings;
    unsigned gpus;
};

static int add_ask(const struct devclaim_view *v, const json_t *ask, struct parts *p,
                   struct err *err)
{
    _cleanup_json_ json_t *devices = json_array();
    const char *class = kubejson_text(ask, "class");
    int64_t count = kubejson_int(ask, "count", 0);
    char name[24] = "cpu";
    int r;

    if (!devices)
        return err_nomem(err);
    if (strcmp(class, DEVASK_CPU) != 0) {
        (void)snprintf(name, sizeof(name), p->gpus ? "gpu-%u" : "gpu", p->gpus);
        p->gpus++;
    }
    r = devclaim_pick(v, class, count, devices, err);
    if (r < 0)
        return r;
    if (json_array_append_new(p->requests, make_request(name, class, devices)) < 0 ||
        devclaim_add_results(p->results, name, class, devices) < 0 ||
        json_array_append_new(p->mappings,
                              json_pack("{s:s, s:s, s:s}", "containerName",
                                        kubejson_text(ask, "container"), "requestName", name,
                                        "resourceName", kubejson_text(ask, "resource"))) < 0)
        return err_nomem(err);
    return 0;
}

void devclaim_write_name(const json_t *pod, char ret[static DEVCLAIM_NAME])
{
    (void)snprintf(ret, DEVCLAIM_NAME, "%.*s-extended-resources-%.8s", NAME_MOST,
                   kubejson_name(pod), kubejson_uid(pod));
}

static int make_objects(const struct devclaim_view *v, struct parts *p, struct devclaim *ret)
{
    const json_t *pod = v->pod;
    char name[DEVCLAIM_NAME];

    devclaim_write_name(pod, name);
    ret->claim = json_pack(
        "{s:s, s:s, s:{s:s, s:s, s:{s:s}, s:[{s:s, s:s, s:s, s:s, s:b, s:b}]}, s:{s:{s:O}}}",
        "apiVersion", "resource.k8s.io/v1", "kind", "ResourceClaim", "metadata", "name", name,
        "namespace", kubejson_namespace(pod), "annotations", DEVCLAIM_NOTE, "true",
        "ownerReferences", "apiVersion", "v1", "kind", "Pod", "name", kubejson_name(pod), "uid",
        kubejson_uid(pod), "controller", 1, "blockOwnerDeletion", 1, "spec", "devices", "requests",
        p->requests);
    ret->status = json_pack("{s:{s:{s:{s:O}, s:o}, s:o}}", "status", "allocation", "devices",
                            "results", p->results, "nodeSelector", devclaim_node(v->node),
                            "reservedFor", devclaim_consumer(pod));
    ret->mappings = json_pack("{s:{s:{s:O, s:s}}}", "status", "extendedResourceClaimStatus",
                              "requestMappings", p->mappings, "resourceClaimName", name);
    return ret->claim && ret->status && ret->mappings ? 0 : -ENOMEM;
}

int devclaim_make(const struct devclaim_view *v, struct devclaim *ret, struct err *err)
{
    _cleanup_json_ json_t *requests = json_array(), *results = json_array();
    _cleanup_json_ json_t *mappings = json_array();
    struct parts p = { requests, results, mappings, 0 };
    struct devclaim c = { 0 };
    int r = requests && results && mappings ? 0 : err_nomem(err);
    size_t i;
    json_t *ask;

    json_array_foreach(v->asks, i, ask)
    {
        if (r == 0)
            r = add_ask(v, ask, &p, err);
    }
    if (r == 0 && json_array_size(results) > DEVASK_MOST)
        r = err_set(err, -EINVAL, "node %.200s: whole cores make %zu devices, and a claim holds %u",
                    v->node, json_array_size(results), DEVASK_MOST);
    if (r == 0 && make_objects(v, &p, &c) < 0)
        r = err_nomem(err);
    if (r == 0)
        *ret = c;
    else
        devclaim_done(&c);
    return r;
}

/* ---- what is there --------------------------------------------------------------------------- */

bool devclaim_is_of(const json_t *claim, const json_t *pod)
{
    const json_t *owner = kubejson_controller(claim);
    const char *note = kubejson_annotation(claim, DEVCLAIM_NOTE);

    return owner && note && strcmp(note, "true") == 0 &&
           strcmp(kubejson_text(owner, "uid"), kubejson_uid(pod)) == 0;
}

enum devclaim_act devclaim_decide(const struct devclaim *want, const json_t *have,
                                  const json_t *pod)
{
    if (!have)
        return DEVCLAIM_CREATE;
    if (!devclaim_is_of(have, pod))
        return DEVCLAIM_FOREIGN;
    if (kubejson_is_deleted(have))
        return DEVCLAIM_WAIT;
    if (!kubejson_is_within(json_object_get(want->claim, "spec"), json_object_get(have, "spec")))
        return DEVCLAIM_DELETE;
    if (!kubejson_at(have, "status.allocation"))
        return DEVCLAIM_ALLOCATE;
    if (!kubejson_is_within(json_object_get(want->status, "status"),
                            json_object_get(have, "status")))
        return DEVCLAIM_DELETE;
    return kubejson_is_within(want->mappings, pod) ? DEVCLAIM_READY : DEVCLAIM_TELL;
}
