/* devchannel.c - see devchannel.h */
#include "kube/claim/devchannel.h"

#include <string.h>

#include "base/cleanup.h"
#include "kube/api/kubejson.h"
#include "kube/claim/devclaim.h"
#include "kube/claim/devnode.h"

bool devchannel_has_claims(const json_t *pod)
{
    return json_array_size(kubejson_at(pod, "spec.resourceClaims")) > 0;
}

const char *devchannel_claim(const json_t *pod, const json_t *item)
{
    size_t i;
    json_t *one;

    json_array_foreach(kubejson_at(pod, "status.resourceClaimStatuses"), i, one)
    {
        if (strcmp(kubejson_text(one, "name"), kubejson_text(item, "name")) == 0)
            return kubejson_text(one, "resourceClaimName");
    }
    return "";
}

/* Every request wants one channel of the default class. */
static bool is_channel(const json_t *claim)
{
    const json_t *requests = kubejson_at(claim, "spec.devices.requests");
    size_t i;
    json_t *one;

    json_array_foreach(requests, i, one)
    {
        const char *mode = kubejson_text(one, "exactly.allocationMode");

        if (strcmp(kubejson_text(one, "exactly.deviceClassName"), DEVCHANNEL_CLASS) != 0 ||
            (*mode && strcmp(mode, "ExactCount") != 0) ||
            kubejson_int(one, "exactly.count", 1) != 1 ||
            json_array_size(kubejson_at(one, "exactly.selectors")))
            return false;
    }
    return json_array_size(requests) == 1;
}

static bool is_owned(const json_t *claim, const json_t *pod)
{
    const json_t *owner = kubejson_controller(claim);

    return owner && strcmp(kubejson_text(owner, "uid"), kubejson_uid(pod)) == 0;
}

enum podvolume_state devchannel_judge(const json_t *pod, devchannel_find_fn *find, void *ctx,
                                      struct strbuf *why)
{
    enum podvolume_state all = PODVOLUME_READY;
    size_t i;
    json_t *item;

    json_array_foreach(kubejson_at(pod, "spec.resourceClaims"), i, item)
    {
        const char *template_ = kubejson_text(item, "resourceClaimTemplateName");
        const char *name = devchannel_claim(pod, item);
        const json_t *claim = *name ? find(ctx, kubejson_namespace(pod), name) : NULL;

        if (!*template_) {
            strbuf_add(why, "resourceClaims: claims are given to pods that name the template of a "
                            "ComputeDomain");
            return PODVOLUME_NEVER;
        }
        if (!claim) {
            strbuf_addf(why, "no claim of the template %.250s is made yet", template_);
            return PODVOLUME_WAIT;
        }
        if (!is_channel(claim) || !is_owned(claim, pod)) {
            strbuf_addf(why,
                        "the claim %.250s wants other devices than a channel of a ComputeDomain",
                        name);
            return PODVOLUME_NEVER;
        }
        if (!kubejson_at(claim, "status.allocation"))
            all = PODVOLUME_LATE;
    }
    return all;
}

json_t *devchannel_of(const json_t *slices)
{
    _cleanup_json_ json_t *all = devnode_list(slices, DEVCHANNEL_DRIVER);
    size_t i;
    json_t *one;

    json_array_foreach(all, i, one)
    {
        const json_t *type = devnode_attribute(one, DEVCHANNEL_DRIVER, "type", "string");
        const json_t *id = devnode_attribute(one, DEVCHANNEL_DRIVER, "id", "int");

        if (json_is_string(type) && strcmp(json_string_value(type), "channel") == 0 &&
            json_is_integer(id) && json_integer_value(id) == 0)
            return json_incref(one);
    }
    return NULL;
}

/* Configurations go with the allocation: those of the class first. */
static int add_configs(json_t *configs, const json_t *list, const char *source)
{
    size_t i;
    json_t *one;

    json_array_foreach(list, i, one)
    {
        json_t *copy = json_copy(one);

        if (!copy || json_object_set_new(copy, "source", json_string(source)) < 0 ||
            json_array_append_new(configs, copy) < 0)
            return -1;
    }
    return 0;
}

json_t *devchannel_status(const json_t *claim, const json_t *class_, const json_t *channel,
                          const json_t *pod, const char *node)
{
    const json_t *request = json_array_get(kubejson_at(claim, "spec.devices.requests"), 0);
    _cleanup_json_ json_t *configs = json_array(), *devices = NULL;

    devices = json_pack("{s:[{s:s, s:s, s:s, s:s}]}", "results", "request",
                        kubejson_text(request, "name"), "driver", DEVCHANNEL_DRIVER, "pool",
                        kubejson_text(channel, "pool"), "device", kubejson_text(channel, "device"));
    if (!configs || !devices ||
        add_configs(configs, kubejson_at(class_, "spec.config"), "FromClass") < 0 ||
        add_configs(configs, kubejson_at(claim, "spec.devices.config"), "FromClaim") < 0 ||
        (json_array_size(configs) && json_object_set(devices, "config", configs) < 0))
        return NULL;
    return json_pack("{s:{s:s, s:s}, s:{s:{s:O, s:o}, s:o}}", "metadata", "uid",
                     kubejson_uid(claim), "resourceVersion", kubejson_version(claim), "status",
                     "allocation", "devices", devices, "nodeSelector", devclaim_node(node),
                     "reservedFor", devclaim_consumer(pod));
}

bool devchannel_holds(const json_t *claim, const json_t *channel)
{
    size_t i;
    json_t *one;

    json_array_foreach(kubejson_at(claim, "status.allocation.devices.results"), i, one)
    {
        if (strcmp(kubejson_text(one, "driver"), DEVCHANNEL_DRIVER) == 0 &&
            strcmp(kubejson_text(one, "pool"), kubejson_text(channel, "pool")) == 0 &&
            strcmp(kubejson_text(one, "device"), kubejson_text(channel, "device")) == 0)
            return true;
    }
    return false;
}

bool devchannel_is_given(const json_t *claim, const json_t *pod, const char *node)
{
    _cleanup_json_ json_t *where = devclaim_node(node), *who = devclaim_consumer(pod);

    return where && who &&
           kubejson_is_within(where, kubejson_at(claim, "status.allocation.nodeSelector")) &&
           kubejson_is_within(who, kubejson_at(claim, "status.reservedFor"));
}
