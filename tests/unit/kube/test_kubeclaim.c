/* test_kubeclaim.c - devices of classes: what pods ask for, what nodes have, the claims of both */
#include "kube_util.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "kube/api/kubejson.h"
#include "kube/bridge/bridgedevice.h"
#include "kube/claim/devask.h"
#include "kube/claim/devchannel.h"
#include "kube/claim/devfill.h"
#include "kube/claim/devclaim.h"
#include "kube/claim/devnode.h"

#define CLASS "deviceclass.resource.kubernetes.io/"

static void test_asks(void **state)
{
    static const struct {
        const char *limits;
        int rc;
        int64_t cpus;
        const char *gres;
    } cases[] = {
        { "{\"cpu\":\"2\"}", 0, 0, "" },
        { "{\"" CLASS "dra.cpu\":\"3\"}", 0, 3, "" },
        { "{\"" CLASS "gpu.nvidia.com\":2,\"" CLASS "gpu.amd.com\":\"1\"}", 0, 0,
          "gres/gpu:gpu.nvidia.com=2,gres/gpu:gpu.amd.com=1" },
        { "{\"" CLASS "gpu.nvidia.com\":\"0\"}", 0, 0, "" },
        { "{\"" CLASS "gpu.nvidia.com\":\"33\"}", -EINVAL, 0, "" },
        { "{\"" CLASS "gpu.nvidia.com\":\"20\",\"" CLASS "dra.cpu\":\"20\"}", -EINVAL, 0, "" },
        { "{\"" CLASS "gpu.nvidia.com\":\"1500m\"}", -EINVAL, 0, "" },
        { "{\"" CLASS "gpu.nvidia.com\":\"-1\"}", -EINVAL, 0, "" },
        { "{\"" CLASS "gpu.nvidia.com\":{}}", -EINVAL, 0, "" },
        { "{\"" CLASS "gpu.x=1,gres/gpu\":\"1\"}", -EINVAL, 0, "" },
        { "{\"" CLASS "gpu.X\":\"1\"}", -EINVAL, 0, "" },
        { "{\"" CLASS "\":\"1\"}", -EINVAL, 0, "" },
        { "{\"" CLASS "nic.example.com\":\"1\"}", -EINVAL, 0, "" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_json_ json_t *limits = read_text(cases[i].limits), *most = json_object();
        _cleanup_json_ json_t *asks = NULL;
        _cleanup_json_ json_t *pod =
            json_pack("{s:{s:[{s:s, s:{s:O, s:O}}]}}", "spec", "containers", "name", "c",
                      "resources", "requests", limits, "limits", limits);
        _cleanup_val_(strbuf_done) struct strbuf gres = STRBUF_INIT;
        struct err err = { .text = "" };

        assert_int_equal(devask_read(pod, &asks, &err), cases[i].rc);
        assert_int_equal(err.text[0] != '\0', cases[i].rc < 0);
        if (cases[i].rc < 0)
            continue;
        assert_int_equal(devask_cpus(asks), cases[i].cpus);
        assert_int_equal(devask_raise(most, asks), 0);
        devask_write(most, &gres);
        assert_string_equal(strbuf_str(&gres), cases[i].gres);
    }
}

/* A slice of the driver; devices: JSON text. */
static json_t *make_slice(const char *driver, const char *pool, int generation, int count,
                          const char *devices)
{
    return json_pack("{s:{s:s, s:s, s:{s:s, s:i, s:i}, s:o}}", "spec", "driver", driver, "nodeName",
                     "n", "pool", "name", pool, "generation", generation, "resourceSliceCount",
                     count, "devices", read_text(devices));
}

static void join_names(const json_t *devices, struct strbuf *out)
{
    size_t i;
    json_t *one;

    json_array_foreach(devices, i, one)
    {
        strbuf_addf(out, "%s%s", i ? " " : "", kubejson_text(one, "device"));
    }
}

static void test_slices(void **state)
{
    static const struct {
        int generations[3], counts[3];
        const char *names;
    } cases[] = {
        { { 1, 1, 1 }, { 3, 3, 3 }, "gpu-0 gpu-2 gpu-10" },
        { { 1, 1, 1 }, { 4, 4, 4 }, "" },      /* one is missing */
        { { 1, 1, 2 }, { 2, 2, 1 }, "gpu-2" }, /* the newest generation alone */
        { { 1, 2, 2 }, { 1, 2, 2 }, "gpu-0 gpu-2" },
        { { 2, 1, 1 }, { 2, 1, 1 }, "" },
    };
    static const char *const devices[] = {
        "[{\"name\":\"gpu-10\",\"attributes\":{\"type\":{\"string\":\"gpu\"}}}]",
        "[{\"name\":\"gpu-0\"},{\"name\":\"\"},7]",
        ("[{\"name\":\"gpu-2\",\"attributes\":{\"gpu.x/type\":{\"string\":\"gpu\"}}},"
         "{\"name\":\"gpu-2-mig\",\"attributes\":{\"type\":{\"string\":\"mig\"}}}]"),
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_json_ json_t *slices = json_array(), *found = NULL;
        _cleanup_val_(strbuf_done) struct strbuf names = STRBUF_INIT;

        for (size_t k = 0; k < 3; k++)
            (void)json_array_append_new(slices, make_slice("gpu.x", "n", cases[i].generations[k],
                                                           cases[i].counts[k], devices[k]));
        (void)json_array_append_new(slices, make_slice("other", "n", 9, 1, "[{\"name\":\"o\"}]"));
        found = devnode_gpus(slices, "gpu.x");
        join_names(found, &names);
        assert_string_equal(strbuf_str(&names), cases[i].names);
    }
}

static void test_gres(void **state)
{
    _cleanup_json_ json_t *slices = json_object();
    _cleanup_val_(strbuf_done) struct strbuf gres = STRBUF_INIT, none = STRBUF_INIT;

    (void)state;
    (void)json_object_set_new(slices, "a", make_slice("gpu.z", "n", 1, 1, "[{\"name\":\"d\"}]"));
    (void)json_object_set_new(
        slices, "b", make_slice("gpu.a", "n", 1, 1, "[{\"name\":\"d0\"},{\"name\":\"d1\"}]"));
    (void)json_object_set_new(slices, "c",
                              make_slice("gpu.x Gres=evil", "n", 1, 1, "[{\"name\":\"d\"}]"));
    (void)json_object_set_new(slices, "d", make_slice("gpu.e", "n", 1, 2, "[{\"name\":\"d\"}]"));
    (void)json_object_set_new(slices, "e", make_slice("nic.a", "n", 1, 1, "[{\"name\":\"d\"}]"));
    devnode_write_gres(slices, &gres);
    assert_string_equal(strbuf_str(&gres), "gpu:gpu.a:2,gpu:gpu.z:1");
    devnode_write_gres(NULL, &none);
    assert_false(none.failed);
    assert_string_equal(strbuf_str(&none), "");
}

#define CPU(name, cpu, core, socket, type)                                                         \
    "{\"name\":\"" name "\",\"attributes\":{\"dra.cpu/cpuID\":{\"int\":" #cpu                      \
    "},\"dra.cpu/coreID\":{\"int\":" #core "},\"dra.cpu/socketID\":{\"int\":" #socket              \
    "},\"dra.cpu/coreType\":{\"string\":\"" type "\"}}}"

static void test_cores(void **state)
{
    _cleanup_json_ json_t *slices = json_pack(
        "[o]",
        make_slice(
            "dra.cpu", "n", 1, 1,
            "[" CPU("a", 4, 0, 0, "standard") "," CPU("b", 0, 0, 0, "standard") "," CPU(
                "c", 1, 1, 0,
                "p-core") "," CPU("d", 2, 0, 1,
                                  "") "," CPU("e", 3, 2, 0,
                                              "E-Core") "," CPU("f", 5, 1, 0,
                                                                "p-core") ",{\"name\":\"g\"}]"));
    static const char *const want[] = { "b a", "c f", "d" };
    _cleanup_json_ json_t *cores = devnode_cores(slices), *none = devnode_cores(NULL);

    (void)state;
    assert_int_equal(json_array_size(cores), ARRAY_SIZE(want));
    for (size_t i = 0; i < ARRAY_SIZE(want); i++) {
        _cleanup_val_(strbuf_done) struct strbuf names = STRBUF_INIT;

        join_names(json_array_get(cores, i), &names);
        assert_string_equal(strbuf_str(&names), want[i]);
    }
    assert_int_equal(json_array_size(none), 0);
}

static const char pod_text[] =
    "{\"metadata\":{\"name\":\"p\",\"namespace\":\"ns\",\"uid\":\"0123456789\"},\"spec\":{"
    "\"containers\":[{\"name\":\"c\",\"resources\":{\"limits\":{\"" CLASS "gpu.x\":\"2\"}}}]}}";

struct claim_case {
    json_t *pod, *asks, *slices, *layout;
};

static void begin_claim(struct claim_case *c, const char *index)
{
    c->pod = read_text(pod_text);
    c->slices =
        json_pack("[o]", make_slice("gpu.x", "n", 1, 1,
                                    "[{\"name\":\"d0\"},{\"name\":\"d1\"},{\"name\":\"d2\"},"
                                    "{\"name\":\"d3\"}]"));
    c->layout = json_pack("{s:s, s:[{s:s, s:s, s:s}]}", "core_bitmap", "0x3", "gres", "name", "gpu",
                          "type", "gpu.x", "index", index);
    assert_int_equal(devask_read(c->pod, &c->asks, NULL), 0);
}

static void end_claim(struct claim_case *c)
{
    json_decref(c->pod);
    json_decref(c->asks);
    json_decref(c->slices);
    json_decref(c->layout);
}

static void test_which_devices(void **state)
{
    static const struct {
        const char *index, *devices;
        int rc;
    } cases[] = {
        { "0-1", "d0 d1", 0 },   { "1,3", "d1 d3", 0 },
        { "[2-3]", "d2 d3", 0 }, { "0-3", "d0 d1", 0 }, /* more than it wants: an exclusive job */
        { "3", "", -EINVAL },    { "9-99999999999", "", -EINVAL },
        { "", "", -EINVAL },     { "x", "", -EINVAL },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct claim_case c = { 0 };
        _cleanup_val_(devclaim_done) struct devclaim claim = { 0 };
        _cleanup_val_(strbuf_done) struct strbuf names = STRBUF_INIT;
        struct err err = { .text = "" };

        begin_claim(&c, cases[i].index);
        const struct devclaim_view v = { c.pod, c.asks, c.slices, c.layout, "n" };

        assert_int_equal(devclaim_make(&v, &claim, &err), cases[i].rc);
        if (cases[i].rc == 0)
            join_names(kubejson_at(claim.status, "status.allocation.devices.results"), &names);
        else
            assert_non_null(strstr(err.text, "gpu.x"));
        assert_string_equal(strbuf_str(&names), cases[i].devices);
        end_claim(&c);
    }
}

static void test_next_step(void **state)
{
    struct claim_case c = { 0 };
    _cleanup_val_(devclaim_done) struct devclaim want = { 0 }, other = { 0 };
    _cleanup_json_ json_t *have = NULL, *stranger = read_text("{\"metadata\":{}}");
    char name[DEVCLAIM_NAME];

    (void)state;
    begin_claim(&c, "0-1");
    const struct devclaim_view v = { c.pod, c.asks, c.slices, c.layout, "n" };

    assert_int_equal(devclaim_make(&v, &want, NULL), 0);
    devclaim_write_name(c.pod, name);
    assert_string_equal(name, "p-extended-resources-01234567");
    assert_string_equal(kubejson_name(want.claim), name);
    assert_int_equal(devclaim_decide(&want, NULL, c.pod), DEVCLAIM_CREATE);
    assert_int_equal(devclaim_decide(&want, stranger, c.pod), DEVCLAIM_FOREIGN);
    have = json_deep_copy(want.claim);
    assert_int_equal(devclaim_decide(&want, have, c.pod), DEVCLAIM_ALLOCATE);
    (void)json_object_update(have, want.status);
    assert_int_equal(devclaim_decide(&want, have, c.pod), DEVCLAIM_TELL);
    (void)json_object_update(c.pod, want.mappings);
    assert_int_equal(devclaim_decide(&want, have, c.pod), DEVCLAIM_READY);

    const struct devclaim_view elsewhere = { c.pod, c.asks, c.slices, c.layout, "m" };

    assert_int_equal(devclaim_make(&elsewhere, &other, NULL), 0);
    assert_int_equal(devclaim_decide(&other, have, c.pod), DEVCLAIM_DELETE);
    (void)json_object_set_new(json_object_get(have, "metadata"), "deletionTimestamp",
                              json_string("t"));
    assert_int_equal(devclaim_decide(&want, have, c.pod), DEVCLAIM_WAIT);
    end_claim(&c);
}

/* ---- channels -------------------------------------------------------------------------------- */

static const json_t *find_claim(void *ctx, const char *namespace_, const char *name)
{
    (void)namespace_;
    return json_object_get(ctx, name);
}

static void test_channel_claims(void **state)
{
    static const struct {
        const char *item, *claim;
        enum podvolume_state state;
    } cases[] = {
        { "{\"name\":\"x\",\"resourceClaimName\":\"c\"}", NULL, PODVOLUME_NEVER },
        { "{\"name\":\"x\",\"resourceClaimTemplateName\":\"t\"}", NULL, PODVOLUME_WAIT },
        { "{\"name\":\"x\",\"resourceClaimTemplateName\":\"t\"}",
          "{\"deviceClassName\":\"" DEVCHANNEL_CLASS "\"}", PODVOLUME_LATE },
        { "{\"name\":\"x\",\"resourceClaimTemplateName\":\"t\"}",
          "{\"deviceClassName\":\"" DEVCHANNEL_CLASS "\",\"count\":2}", PODVOLUME_NEVER },
        { "{\"name\":\"x\",\"resourceClaimTemplateName\":\"t\"}",
          "{\"deviceClassName\":\"" DEVCHANNEL_CLASS "\",\"allocationMode\":\"All\"}",
          PODVOLUME_NEVER },
        { "{\"name\":\"x\",\"resourceClaimTemplateName\":\"t\"}",
          "{\"deviceClassName\":\"gpu.nvidia.com\"}", PODVOLUME_LATE },
        { "{\"name\":\"x\",\"resourceClaimTemplateName\":\"t\"}",
          "{\"deviceClassName\":\"dra.cpu\",\"count\":4,\"selectors\":[]}", PODVOLUME_LATE },
        { "{\"name\":\"x\",\"resourceClaimTemplateName\":\"t\"}",
          "{\"deviceClassName\":\"mig.nvidia.com\"}", PODVOLUME_NEVER },
        { "{\"name\":\"x\",\"resourceClaimTemplateName\":\"t\"}",
          "{\"deviceClassName\":\"gpu.x,gpu:y=9\"}", PODVOLUME_NEVER },
        { "{\"name\":\"x\",\"resourceClaimTemplateName\":\"t\"}",
          "{\"deviceClassName\":\"gpu.x\",\"count\":33}", PODVOLUME_NEVER },
        { "{\"name\":\"x\",\"resourceClaimTemplateName\":\"t\"}",
          "{\"deviceClassName\":\"gpu.x\",\"count\":0}", PODVOLUME_NEVER },
        { "{\"name\":\"x\",\"resourceClaimTemplateName\":\"t\"}",
          "{\"deviceClassName\":\"gpu.x\",\"adminAccess\":true}", PODVOLUME_NEVER },
        { "{\"name\":\"x\",\"resourceClaimTemplateName\":\"t\"}",
          "{\"deviceClassName\":\"gpu.x\",\"selectors\":[{\"cel\":{}}]}", PODVOLUME_NEVER },
        { "{\"name\":\"other\",\"resourceClaimTemplateName\":\"t\"}",
          "{\"deviceClassName\":\"" DEVCHANNEL_CLASS "\"}", PODVOLUME_WAIT },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_json_ json_t *claims = json_object(), *pod = NULL;
        _cleanup_val_(strbuf_done) struct strbuf why = STRBUF_INIT;

        pod = json_pack("{s:{s:s}, s:{s:[o]}, s:{s:[{s:s, s:s}]}}", "metadata", "uid", "u", "spec",
                        "resourceClaims", read_text(cases[i].item), "status",
                        "resourceClaimStatuses", "name", "x", "resourceClaimName", "c");
        if (cases[i].claim)
            (void)json_object_set_new(claims, "c",
                                      json_pack("{s:{s:[{s:s, s:b}]}, s:{s:{s:[{s:s, s:o}]}}}",
                                                "metadata", "ownerReferences", "uid", "u",
                                                "controller", 1, "spec", "devices", "requests",
                                                "name", "r", "exactly", read_text(cases[i].claim)));
        assert_int_equal(devfill_judge(pod, find_claim, claims, &why), cases[i].state);
        assert_int_equal(why.len > 0, cases[i].state >= PODVOLUME_WAIT);
    }
}

static void test_channel_given(void **state)
{
    _cleanup_json_ json_t *slices = json_pack(
        "[o]",
        make_slice(DEVCHANNEL_DRIVER, "n", 1, 1,
                   "[{\"name\":\"channel-1\",\"attributes\":{\"type\":{\"string\":"
                   "\"channel\"},\"id\":{\"int\":1}}},{\"name\":\"daemon-0\",\"attributes\":{"
                   "\"type\":{\"string\":\"daemon\"},\"id\":{\"int\":0}}},{\"name\":"
                   "\"channel-0\",\"attributes\":{\"type\":{\"string\":\"channel\"},\"id\":{"
                   "\"int\":0}}}]"));
    _cleanup_json_ json_t *claim =
        read_text("{\"metadata\":{\"uid\":\"c\"},\"spec\":{\"devices\":{\"requests\":[{\"name\":"
                  "\"r\"}],\"config\":[{\"opaque\":{\"driver\":\"x\"}}]}}}");
    _cleanup_json_ json_t *class_ = read_text("{\"spec\":{\"config\":[{\"opaque\":{}}]}}");
    _cleanup_json_ json_t *pod = read_text(pod_text), *other = read_text("{\"metadata\":{}}");
    _cleanup_json_ json_t *channel = devchannel_of(slices), *status = NULL;
    const json_t *configs;

    (void)state;
    assert_null(devchannel_of(NULL));
    assert_string_equal(kubejson_text(channel, "device"), "channel-0");
    assert_false(devchannel_is_given(claim, pod, "n"));
    status = devchannel_status(claim, class_, channel, pod, "n");
    configs = kubejson_at(status, "status.allocation.devices.config");
    assert_string_equal(kubejson_text(json_array_get(configs, 0), "source"), "FromClass");
    assert_string_equal(kubejson_text(json_array_get(configs, 1), "source"), "FromClaim");
    (void)json_object_set(claim, "status", json_object_get(status, "status"));
    assert_true(devchannel_holds(claim, channel));
    assert_true(devchannel_is_given(claim, pod, "n"));
    assert_false(devchannel_is_given(claim, pod, "m"));
    assert_false(devchannel_is_given(claim, other, "n"));
}

static void test_needs(void **state)
{
    _cleanup_json_ json_t *pod = read_text(pod_text), *needs = json_array();
    struct bridge b = { .kube = NULL };

    (void)state;
    (void)json_object_set_new(json_object_get(pod, "spec"), "resourceClaims",
                              read_text("[{\"name\":\"x\"}]"));
    assert_int_equal(bridgedevice_add_needs(&b, pod, needs), 0);
    assert_string_equal(kubejson_text(json_array_get(needs, 0), "driver"), "gpu.x");
}

/* ---- claims of other templates --------------------------------------------------------------- */

static const json_t *find_claim_class(void *ctx, const char *namespace_, const char *name)
{
    (void)namespace_;
    return strcmp(name, "gpu.x") == 0 ? ctx : NULL;
}

static json_t *make_claim_of(const char *requests)
{
    return json_pack("{s:{s:s, s:[{s:s, s:b}]}, s:{s:{s:o, s:[{s:{s:s}}]}}}", "metadata", "uid",
                     "c", "ownerReferences", "uid", "u-u-u-u", "controller", 1, "spec", "devices",
                     "requests", read_text(requests), "config", "opaque", "driver", "gpu.x");
}

/* The pod's container takes the first devices of the job, the claim those behind them. */
static void test_claims_are_filled(void **state)
{
    struct claim_case c;
    struct err err = { .text = "" };
    _cleanup_json_ json_t *class_ = read_text("{\"spec\":{\"config\":[{\"opaque\":{}}]}}");
    _cleanup_json_ json_t *claim = make_claim_of(
        "[{\"name\":\"one\",\"exactly\":{\"deviceClassName\":\"gpu.x\"}},"
        "{\"name\":\"two\",\"exactly\":{\"deviceClassName\":\"gpu.x\",\"count\":1}}]");
    _cleanup_json_ json_t *taken = NULL, *want = NULL, *more = NULL;
    struct devclaim_view v;
    const json_t *all, *configs;

    (void)state;
    begin_claim(&c, "0-3");
    (void)json_object_set_new(json_array_get(c.asks, 0), "count", json_integer(1));
    v = (struct devclaim_view){ c.pod, c.asks, c.slices, c.layout, "n" };
    assert_int_equal(devfill_begin(&v, &taken, &err), 0);
    assert_int_equal(json_integer_value(json_object_get(taken, "gpu.x")), 1);
    assert_int_equal(devfill_status(&v, claim, find_claim_class, class_, taken, &want, &err), 0);
    all = kubejson_at(want, "status.allocation.devices.results");
    assert_int_equal(json_array_size(all), 2);
    assert_string_equal(kubejson_text(json_array_get(all, 0), "device"), "d1");
    assert_string_equal(kubejson_text(json_array_get(all, 0), "request"), "one");
    assert_string_equal(kubejson_text(json_array_get(all, 1), "device"), "d2");
    configs = kubejson_at(want, "status.allocation.devices.config");
    assert_int_equal(json_array_size(configs), 3);
    assert_string_equal(kubejson_text(json_array_get(configs, 2), "source"), "FromClaim");
    assert_false(devfill_is_given(claim, want));
    (void)json_object_set(claim, "status", json_object_get(want, "status"));
    assert_true(devfill_is_given(claim, want));
    /* One is left of the four that the job holds. */
    assert_int_equal(devfill_status(&v, claim, find_claim_class, class_, taken, &more, &err),
                     -EINVAL);
    assert_non_null(strstr(err.text, "the job holds 4 devices"));
    end_claim(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_claims_are_filled),
        cmocka_unit_test(test_asks),
        cmocka_unit_test(test_slices),
        cmocka_unit_test(test_gres),
        cmocka_unit_test(test_cores),
        cmocka_unit_test(test_which_devices),
        cmocka_unit_test(test_next_step),
        cmocka_unit_test(test_channel_claims),
        cmocka_unit_test(test_channel_given),
        cmocka_unit_test(test_needs),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
