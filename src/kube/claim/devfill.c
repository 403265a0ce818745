/* devfill.c - see devfill.h */
#include "kube/claim/devfill.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "kube/api/kubejson.h"
#include "kube/claim/devask.h"
#include "kube/claim/devchannel.h"

/* ---- what a claim asks for ------------------------------------------------------------------- */

static int check_request(const json_t *request, struct err *err)
{
    static const char *const known[] = { "deviceClassName", "allocationMode", "count" };
    const json_t *exactly = json_object_get(request, "exactly");
    const char *class = kubejson_text(exactly, "deviceClassName"), *key;
    const char *mode = kubejson_text(exactly, "allocationMode");
    json_t *value;
    size_t k;

    json_object_foreach((json_t *)(uintptr_t)exactly, key, value)
    {
        for (k = 0; k < ARRAY_SIZE(known) && strcmp(known[k], key) != 0;)
            k++;
        if (k == ARRAY_SIZE(known) &&
            json_array_size(value) + json_object_size(value) + (size_t)json_is_true(value))
            return err_set(err, -EINVAL, "%.60s of a request is not supported", key);
    }
    if (!json_is_object(exactly) || json_object_get(request, "firstAvailable"))
        return err_set(err, -EINVAL, "only requests with \"exactly\" are supported");
    if (*mode && strcmp(mode, "ExactCount") != 0)
        return err_set(err, -EINVAL, "allocationMode %.60s is not supported", mode);
    if (!kubejson_name_is_good(class) ||
        (strcmp(class, DEVASK_CPU) != 0 && !kubejson_after(class, DEVASK_GPU)))
        return err_set(err, -EINVAL,
                       "the device class %.60s is not known: " DEVASK_CPU " and " DEVASK_GPU
                       "* are, and that of channels of a ComputeDomain, alone in its claim",
                       class);
    return 0;
}

static int64_t count_of(const json_t *request)
{
    return kubejson_int(request, "exactly.count", 1);
}

/* asks NULL: only check. */
static int add_asks(const json_t *claim, json_t *asks, struct err *err)
{
    const json_t *requests = kubejson_at(claim, "spec.devices.requests");
    int64_t total = 0;
    size_t i;
    json_t *one;

    if (json_array_size(kubejson_at(claim, "spec.devices.constraints")))
        return err_set(err, -EINVAL, "constraints are not supported");
    json_array_foreach(requests, i, one)
    {
        int64_t count = count_of(one);

        if (check_request(one, err) < 0)
            return -EINVAL;
        if (count < 1 || count > (int64_t)DEVASK_MOST || (total += count) > (int64_t)DEVASK_MOST)
            return err_set(err, -EINVAL, "a claim is for 1 to %u devices", DEVASK_MOST);
        if (asks &&
            json_array_append_new(asks, json_pack("{s:s, s:s, s:I}", "class",
                                                  kubejson_text(one, "exactly.deviceClassName"),
                                                  "request", kubejson_text(one, "name"), "count",
                                                  (json_int_t)count)) < 0)
            return err_nomem(err);
    }
    return json_array_size(requests) ? 0 : err_set(err, -EINVAL, "it has no requests");
}

static bool is_owned(const json_t *claim, const json_t *pod)
{
    const json_t *owner = kubejson_controller(claim);

    return owner && strcmp(kubejson_text(owner, "uid"), kubejson_uid(pod)) == 0;
}

enum podvolume_state devfill_judge(const json_t *pod, devfill_find_fn *find, void *ctx,
                                   struct strbuf *why)
{
    enum podvolume_state all = PODVOLUME_READY;
    struct err err = { .text = "" };
    size_t i;
    json_t *item;

    json_array_foreach(kubejson_at(pod, "spec.resourceClaims"), i, item)
    {
        const char *template_ = kubejson_text(item, "resourceClaimTemplateName");
        const char *name = devchannel_claim(pod, item);
        const json_t *claim = *name ? find(ctx, kubejson_namespace(pod), name) : NULL;

        if (!*template_) {
            strbuf_add(why, "resourceClaims: claims are given to pods that name a template");
            return PODVOLUME_NEVER;
        }
        if (!claim) {
            strbuf_addf(why, "no claim of the template %.250s is made yet", template_);
            return PODVOLUME_WAIT;
        }
        if (!is_owned(claim, pod)) {
            strbuf_addf(why, "the claim %.250s is not of the pod", name);
            return PODVOLUME_NEVER;
        }
        if (!devchannel_wants(claim) && add_asks(claim, NULL, &err) < 0) {
            strbuf_addf(why, "the claim %.250s: %s", name, err.text);
            return PODVOLUME_NEVER;
        }
        if (!kubejson_at(claim, "status.allocation"))
            all = PODVOLUME_LATE;
    }
    return all;
}

int devfill_read(const json_t *pod, devfill_find_fn *find, void *ctx, json_t **ret, struct err *err)
{
    _cleanup_json_ json_t *asks = NULL;
    size_t i;
    json_t *item;
    int r = devask_read(pod, &asks, err);

    json_array_foreach(kubejson_at(pod, "spec.resourceClaims"), i, item)
    {
        const char *name = devchannel_claim(pod, item);
        const json_t *claim = *name ? find(ctx, kubejson_namespace(pod), name) : NULL;

        if (r == 0 && claim && is_owned(claim, pod) && !devchannel_wants(claim))
            r = add_asks(claim, asks, err);
    }
    if (r == 0)
        *ret = TAKE_PTR(asks);
    return r;
}

/* ---- the devices ----------------------------------------------------------------------------- */

static int take_more(json_t *taken, const char *class, int64_t more)
{
    int64_t have = json_integer_value(json_object_get(taken, class));

    return json_object_set_new(taken, class, json_integer(have + more)) < 0 ? -ENOMEM : 0;
}

int devfill_begin(const struct devclaim_view *v, json_t **ret_taken, struct err *err)
{
    _cleanup_json_ json_t *taken = json_object();
    size_t i;
    json_t *ask;
    int r = taken ? 0 : err_nomem(err);

    json_array_foreach(v->asks, i, ask)
    {
        _cleanup_json_ json_t *devices = json_array();
        const char *class = kubejson_text(ask, "class");

        if (r == 0)
            r = devices ? devclaim_pick(v, class, kubejson_int(ask, "count", 0), devices, err)
                        : err_nomem(err);
        if (r == 0 && take_more(taken, class, (int64_t)json_array_size(devices)) < 0)
            r = err_nomem(err);
    }
    if (r == 0)
        *ret_taken = TAKE_PTR(taken);
    return r;
}

/* The devices behind those that are taken, just as many as are wanted. */
static int pick_next(const struct devclaim_view *v, const char *class, int64_t count, json_t *taken,
                     json_t *out, struct err *err)
{
    _cleanup_json_ json_t *all = json_array();
    int64_t skip = json_integer_value(json_object_get(taken, class));
    int r = all ? devclaim_pick(v, class, skip + count, all, err) : err_nomem(err);

    for (int64_t i = skip; r == 0 && i < skip + count; i++)
        if (json_array_append(out, json_array_get(all, (size_t)i)) < 0)
            r = err_nomem(err);
    if (r == 0 && take_more(taken, class, count) < 0)
        r = err_nomem(err);
    return r;
}

int devfill_status(const struct devclaim_view *v, const json_t *claim, devfill_find_fn *class_of,
                   void *ctx, json_t *taken, json_t **ret, struct err *err)
{
    _cleanup_json_ json_t *results = json_array(), *configs = json_array(), *devices = NULL;
    size_t i;
    json_t *one;
    int r = results && configs ? 0 : err_nomem(err);

    json_array_foreach(kubejson_at(claim, "spec.devices.requests"), i, one)
    {
        const char *class = kubejson_text(one, "exactly.deviceClassName");
        const char *name = kubejson_text(one, "name");
        const json_t *of_class = kubejson_at(class_of(ctx, "", class), "spec.config");
        _cleanup_json_ json_t *picked = json_array();

        if (r == 0)
            r = picked ? pick_next(v, class, count_of(one), taken, picked, err) : err_nomem(err);
        if (r == 0 && (devclaim_add_results(results, name, class, picked) < 0 ||
                       devclaim_add_configs(configs, of_class, "FromClass", name) < 0))
            r = err_nomem(err);
    }
    if (r < 0)
        return r;
    devices = json_pack("{s:O}", "results", results);
    if (!devices ||
        devclaim_add_configs(configs, kubejson_at(claim, "spec.devices.config"), "FromClaim",
                             NULL) < 0 ||
        (json_array_size(configs) && json_object_set(devices, "config", configs) < 0))
        return err_nomem(err);
    *ret = json_pack("{s:{s:s, s:s}, s:{s:{s:O, s:o}, s:o}}", "metadata", "uid",
                     kubejson_uid(claim), "resourceVersion", kubejson_version(claim), "status",
                     "allocation", "devices", devices, "nodeSelector", devclaim_node(v->node),
                     "reservedFor", devclaim_consumer(v->pod));
    return *ret ? 0 : err_nomem(err);
}

bool devfill_is_given(const json_t *claim, const json_t *want)
{
    return kubejson_is_within(json_object_get(want, "status"), json_object_get(claim, "status"));
}
