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

bool devchannel_wants(const json_t *claim)
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

json_t *devchannel_status(const json_t *claim, const json_t *class_, const json_t *channel,
                          const json_t *pod, const char *node)
{
    const json_t *request = json_array_get(kubejson_at(claim, "spec.devices.requests"), 0);
    _cleanup_json_ json_t *configs = json_array(), *devices = NULL;

    devices = json_pack("{s:[{s:s, s:s, s:s, s:s}]}", "results", "request",
                        kubejson_text(request, "name"), "driver", DEVCHANNEL_DRIVER, "pool",
                        kubejson_text(channel, "pool"), "device", kubejson_text(channel, "device"));
    if (!configs || !devices ||
        devclaim_add_configs(configs, kubejson_at(class_, "spec.config"), "FromClass", NULL) < 0 ||
        devclaim_add_configs(configs, kubejson_at(claim, "spec.devices.config"), "FromClaim",
                             NULL) < 0 ||
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
