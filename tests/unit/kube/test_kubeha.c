/* test_kubeha.c - several slurmctld of a Controller whose log is in etcd */
#include "kube_cr_util.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "kube/api/kubejson.h"
#include "kube/make/mkha.h"
#include "kube/make/opspec.h"

/* A log cannot be moved; the pair of keys is new each time, and outlives its Controller. */
static void test_log_in_etcd(void **state)
{
    static const char *const etcd = "{\"ha\":{\"enabled\":true,\"etcd\":{\"endpoints\":"
                                    "[\"http://a:1\"],\"prefix\":\"p\"}}}";
    _cleanup_json_ json_t *in = read_cr("Controller", "c", etcd);
    _cleanup_json_ json_t *out = read_cr("Controller", "c", "{}"), *moved = json_deep_copy(in);
    _cleanup_json_ json_t *one = NULL, *two = NULL;
    struct mkbase_facts f = { .group = &opgroups[0], .cr = in, .controller = in };
    struct err err = { .text = "" };
    char name[300];

    (void)state;
    assert_true(mkha_in_etcd(in) && !mkha_in_etcd(out));
    assert_int_equal(opspec_check_change(out, in, &err), -EPERM);
    assert_non_null(strstr(err.text, "cannot be moved"));
    assert_int_equal(opspec_check_change(in, out, &err), -EPERM);
    (void)json_object_set_new(kubejson_at(moved, "spec.ha.etcd"), "prefix", json_string("q"));
    assert_int_equal(opspec_check_change(in, moved, &err), -EPERM);
    (void)json_object_set_new(kubejson_at(moved, "spec.ha.etcd"), "prefix", json_string("p"));
    (void)json_array_append_new(kubejson_at(moved, "spec.ha.etcd.endpoints"),
                                json_string("http://b:1"));
    assert_int_equal(opspec_check_change(in, moved, &err), 0);
    one = mkha_identity(&f);
    two = mkha_identity(&f);
    assert_string_equal(kubejson_name(one), mkha_identity_name(in, name));
    assert_null(kubejson_at(one, "metadata.ownerReferences"));
    assert_int_equal(
        json_string_length(json_object_get(json_object_get(one, "data"), "slurmctld.key")),
        104); /* ed25519-seed: and 64 digits */
    assert_false(json_equal(json_object_get(one, "data"), json_object_get(two, "data")));
}

/* Each file of the Secret that is there has its option; what is missing is said. */
static void test_files_of_the_secret(void **state)
{
    _cleanup_json_ json_t *cr =
        read_cr("Controller", "c",
                "{\"ha\":{\"enabled\":true,\"etcd\":{\"endpoints\":[\"http://a:1\"],\"user\":\"u\","
                "\"secretRef\":{\"name\":\"s\"}}}}");
    _cleanup_json_ json_t *world = read_text("{}");
    struct mkbase_facts f = {
        .group = &opgroups[0], .cr = cr, .controller = cr, .find = find_object, .ctx = world
    };
    _cleanup_val_(strbuf_done) struct strbuf conf = STRBUF_INIT;

    (void)state;
    assert_non_null(strstr(mkha_missing(&f), "no such Secret"));
    (void)json_object_set_new(world, "Secret/s", read_text("{\"data\":{\"tls.crt\":\"YQ==\"}}"));
    assert_non_null(strstr(mkha_missing(&f), "go together"));
    (void)json_object_set_new(world, "Secret/s", read_text("{\"data\":{\"ca.crt\":\"YQ==\"}}"));
    assert_non_null(strstr(mkha_missing(&f), "password"));
    (void)json_object_set_new(world, "Secret/s",
                              read_text("{\"data\":{\"ca.crt\":\"YQ==\",\"password\":\"YQ==\"}}"));
    assert_null(mkha_missing(&f));
    mkha_write_conf(&f, &conf);
    assert_string_equal(
        strbuf_str(&conf),
        "JournalType=etcd\nJournalParameters=endpoints=http://a:1,prefix=penstock/ns/c,"
        "identity=/etc/penstock/identity/slurmctld.key,cacert=/etc/penstock/etcd/ca.crt,"
        "user=u,passwordfile=/etc/penstock/etcd/password\nSlurmctldLease=5000\n");
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_log_in_etcd),
        cmocka_unit_test(test_files_of_the_secret),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
