/* podread.c - see podread.h */
#include "kube/claim/podread.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/timefmt.h"
#include "kube/api/kubejson.h"
#include "kube/api/kubematch.h"
#include "kube/api/kubequantity.h"
#include "kube/claim/bridgekeys.h"

bool podread_is_bound(const json_t *pod)
{
    return *kubejson_text(pod, "spec.nodeName") != '\0';
}

bool podread_is_over(const json_t *pod)
{
    const char *phase = kubejson_text(pod, "status.phase");

    if (strcmp(phase, "Succeeded") == 0 || strcmp(phase, "Failed") == 0)
        return true;
    return kubejson_is_deleted(pod) &&
           (!podread_is_bound(pod) ||
            kubejson_int(pod, "metadata.deletionGracePeriodSeconds", -1) == 0);
}

bool podread_is_waiting(const json_t *pod)
{
    return !podread_is_over(pod) && !podread_is_bound(pod) && !kubejson_is_deleted(pod) &&
           json_array_size(kubejson_at(pod, "spec.schedulingGates")) == 0;
}

int64_t podread_rank(const json_t *pod)
{
    static const char *const keys[] = { BRIDGE_LABEL_LWS_WORKER, BRIDGE_LABEL_INDEX };
    int64_t rank;

    for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
        const char *text = kubejson_label(pod, keys[i]);

        if (text && parse_i64(text, 0, INT32_MAX, &rank) == 0)
            return rank;
    }
    return -1;
}

const char *podread_native_group(const json_t *pod)
{
    return kubejson_text(pod, "spec.schedulingGroup.podGroupName");
}

void podread_gang(const json_t *pod, bool group, bool native, struct strbuf *out)
{
    const char *lws = kubejson_label(pod, BRIDGE_LABEL_LWS_KEY);

    if (native)
        strbuf_addf(out, "spg/%s/%s", kubejson_namespace(pod), podread_native_group(pod));
    else if (group)
        strbuf_addf(out, "pg/%s/%s", kubejson_namespace(pod),
                    kubejson_label(pod, BRIDGE_LABEL_PODGROUP));
    else if (lws && *lws)
        strbuf_addf(out, "lws/%s/%s", kubejson_namespace(pod), lws);
    else
        strbuf_addf(out, "pod/%s", kubejson_uid(pod));
}

/* ---- resources ------------------------------------------------------------------------------- */

struct sum {
    int64_t cpu, mem, gpu; /* thousandths */
};

static int read_one(const json_t *resources, const char *name, int64_t *value, struct err *err)
{
    static const char *const parts[] = { "requests", "limits" };

    for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
        int64_t milli = 0;
        int r =
            kubequantity_read(json_object_get(json_object_get(resources, parts[i]), name), &milli);

        if (r < 0 && r != -ENOENT)
            return err_set(err, -EINVAL, "%s.%s is no quantity", parts[i], name);
        *value = MAX(*value, milli);
    }
    return 0;
}

static int read_resources(const json_t *resources, struct sum *ret, struct err *err)
{
    struct sum s = { 0 };
    int r = read_one(resources, "cpu", &s.cpu, err);

    if (r == 0)
        r = read_one(resources, "memory", &s.mem, err);
    if (r == 0)
        r = read_one(resources, "nvidia.com/gpu", &s.gpu, err);
    if (r == 0)
        r = read_one(resources, "amd.com/gpu", &s.gpu, err);
    *ret = s;
    return r;
}

static bool add_sum(struct sum *to, const struct sum *s)
{
    return !__builtin_add_overflow(to->cpu, s->cpu, &to->cpu) &&
           !__builtin_add_overflow(to->mem, s->mem, &to->mem) &&
           !__builtin_add_overflow(to->gpu, s->gpu, &to->gpu);
}

static void raise_sum(struct sum *to, const struct sum *s)
{
    to->cpu = MAX(to->cpu, s->cpu);
    to->mem = MAX(to->mem, s->mem);
    to->gpu = MAX(to->gpu, s->gpu);
}

/* Containers run together; init containers one after the other, but those that are restarted
 * always stay beside. */
static int read_containers(const json_t *pod, struct sum *ret, struct err *err)
{
    struct sum all = { 0 }, first = { 0 }, one;
    size_t i;
    json_t *c;

    json_array_foreach(kubejson_at(pod, "spec.initContainers"), i, c)
    {
        if (read_resources(json_object_get(c, "resources"), &one, err) < 0)
            return -EINVAL;
        if (strcmp(kubejson_text(c, "restartPolicy"), "Always") == 0) {
            if (!add_sum(&all, &one))
                return err_set(err, -EINVAL, "the resources are too large");
            raise_sum(&first, &all);
        } else {
            struct sum beside = all;

            if (!add_sum(&beside, &one))
                return err_set(err, -EINVAL, "the resources are too large");
            raise_sum(&first, &beside);
        }
    }
    json_array_foreach(kubejson_at(pod, "spec.containers"), i,
                       c) if (read_resources(json_object_get(c, "resources"), &one, err) < 0 ||
                              !add_sum(&all, &one)) return err &&
            err->text[0]
        ? -EINVAL
        : err_set(err, -EINVAL, "the resources are too large");
    raise_sum(&all, &first);
    *ret = all;
    return 0;
}

int podread_wants(const json_t *pod, struct podread_wants *ret, struct err *err)
{
    struct sum all = { 0 }, whole = { 0 }, more = { 0 };
    _cleanup_json_ json_t *overhead =
        json_pack("{s:O*}", "requests", kubejson_at(pod, "spec.overhead"));

    if (read_containers(pod, &all, err) < 0 ||
        read_resources(kubejson_at(pod, "spec.resources"), &whole, err) < 0 ||
        read_resources(overhead, &more, err) < 0)
        return -EINVAL;
    raise_sum(&all, &whole);
    if (!add_sum(&all, &more))
        return err_set(err, -EINVAL, "the resources are too large");
    *ret = (struct podread_wants){ .cpus = kubequantity_units(all.cpu),
                                   .mem_mib = kubequantity_units(all.mem) / 1048576 +
                                              (kubequantity_units(all.mem) % 1048576 > 0),
                                   .gpus = kubequantity_units(all.gpu) };
    return 0;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static bool is_own_taint(const json_t *taint, const char *scheduler)
{
    return strcmp(kubejson_text(taint, "key"), BRIDGE_TAINT) == 0 &&
           strcmp(kubejson_text(taint, "value"), scheduler) == 0;
}

enum podread_misfit podread_misfit(const json_t *pod, const json_t *node, const char *scheduler)
{
    const json_t *tolerations = kubejson_at(pod, "spec.tolerations");
    size_t i;
    json_t *one;

    if (kubejson_true(node, "spec.unschedulable") || kubejson_is_deleted(node))
        return PODREAD_CORDONED;
    json_array_foreach(kubejson_at(node, "spec.taints"), i, one)
    {
        if (strcmp(kubejson_text(one, "effect"), "PreferNoSchedule") != 0 &&
            !is_own_taint(one, scheduler) && !kubematch_tolerates(tolerations, one))
            return PODREAD_TAINTED;
    }
    return kubematch_selects(json_object_get(pod, "spec"), node) ? PODREAD_FITS : PODREAD_UNNAMED;
}

bool podread_fits(const json_t *pod, const json_t *node, const char *scheduler)
{
    return podread_misfit(pod, node, scheduler) == PODREAD_FITS;
}

/* ---- the taint of nodes that both Kubernetes and Slurm have ---------------------------------- */

static json_t *make_taint(const char *scheduler)
{
    return json_pack("{s:s, s:s, s:s}", "key", BRIDGE_TAINT, "value", scheduler, "effect",
                     "NoExecute");
}

static bool is_taint(const json_t *taint, const char *scheduler)
{
    return strcmp(kubejson_text(taint, "key"), BRIDGE_TAINT) == 0 &&
           strcmp(kubejson_text(taint, "value"), scheduler) == 0 &&
           strcmp(kubejson_text(taint, "effect"), "NoExecute") == 0;
}

bool podread_tolerates_own(const json_t *pod, const char *scheduler)
{
    _cleanup_json_ json_t *taint = make_taint(scheduler);

    return taint && kubematch_tolerates(kubejson_at(pod, "spec.tolerations"), taint);
}

json_t *podread_tolerations(const json_t *pod, const char *scheduler)
{
    const json_t *have = kubejson_at(pod, "spec.tolerations");
    json_t *list = json_is_array(have) ? json_deep_copy(have) : json_array();

    if (list && json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:s}", "key", BRIDGE_TAINT,
                                                      "operator", "Equal", "value", scheduler,
                                                      "effect", "NoExecute")) == 0)
        return list;
    json_decref(list);
    return NULL;
}

bool podread_taint_differs(const json_t *node, const char *scheduler, bool managed)
{
    bool have = false;
    size_t i;
    json_t *one;

    json_array_foreach(kubejson_at(node, "spec.taints"), i, one) have =
        have || is_taint(one, scheduler);
    return have != managed;
}

json_t *podread_taint_change(const json_t *node, const char *scheduler, bool managed)
{
    _cleanup_json_ json_t *list = json_array();
    size_t i;
    json_t *one;

    json_array_foreach(kubejson_at(node, "spec.taints"), i, one)
    {
        if (!is_taint(one, scheduler) && json_array_append(list, one) < 0)
            return NULL;
    }
    if (!list || (managed && json_array_append_new(list, make_taint(scheduler)) < 0))
        return NULL;
    return json_pack("{s:{s:s}, s:{s:O}}", "metadata", "resourceVersion",
                     kubejson_text(node, "metadata.resourceVersion"), "spec", "taints", list);
}
