/* test_kubelogin.c - what the operator makes of a LoginSet; host keys of sshd
 *
 * tests/golden/operator/login.json is what is made of the resource below; test_kubelogin --update
 * writes the file anew.  Whether OpenSSH reads the keys is asked of ssh-keygen by
 * tests/integration/kube/test_kube_login.py. */
#include "kube_cr_util.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "kube/api/kubejson.h"
#include "kube/make/mklogin.h"
#include "kube/operator/opkeymaker.h"
#include "kube/make/opspec.h"
#include "kube/make/sshkeys.h"

static bool update;

static void test_objects(void **state)
{
    _cleanup_json_ json_t *world =
        read_text("{\"Secret/key\":{\"data\":{\"k\":\"YQ==\"}},"
                  "\"Secret/sssd\":{\"data\":{\"sssd.conf\":\"Yg==\"}},"
                  "\"Secret/x-ssh-host-keys\":{\"data\":{\"a\":\"Yw==\"}}}");
    struct err err = { .text = "" };
    _cleanup_json_ json_t *c =
        read_cr("Controller", "x", "{\"slurmKeyRef\":{\"name\":\"key\",\"key\":\"k\"}}");
    _cleanup_json_ json_t *cr = read_cr(
        "LoginSet", "x",
        "{\"controllerRef\":{\"name\":\"x\"},\"replicas\":2,"
        "\"sssdConfRef\":{\"name\":\"sssd\",\"key\":\"sssd.conf\"},"
        "\"rootSshAuthorizedKeys\":\"ssh-ed25519 AAAA me\",\"extraSshdConfig\":\"Port 2222\","
        "\"strategy\":{\"type\":\"RollingUpdate\",\"rollingUpdate\":{\"maxSurge\":\"50%\"}},"
        "\"login\":{\"image\":\"mine\",\"ports\":[{\"name\":\"login\",\"containerPort\":2222}]},"
        "\"initconf\":{\"image\":\"init\"},"
        "\"template\":{\"metadata\":{\"labels\":{\"team\":\"x\"}},\"spec\":{\"volumes\":[{\"name\":"
        "\"home\"}]}},\"service\":{\"port\":22022,\"spec\":{\"type\":\"LoadBalancer\"}}}");
    struct mkbase_facts f = { .group = &opgroups[0],
                              .cr = cr,
                              .controller = c,
                              .image = "penstock",
                              .find = find_object,
                              .ctx = world };
    _cleanup_json_ json_t *made = NULL, *want = NULL;
    char path[600];

    (void)state;
    assert_string_equal(err.text, "");
    assert_int_equal(mklogin_objects(&f, &made), 0);
    (void)snprintf(path, sizeof(path), "%s/tests/golden/operator/login.json", SOURCE_ROOT);
    if (update)
        assert_int_equal(json_dump_file(made, path, JSON_INDENT(1) | JSON_SORT_KEYS), 0);
    want = json_load_file(path, 0, NULL);
    if (!want || !json_equal(want, made))
        fail_msg("%s is not what is made: look at it, then run with --update", path);
}

static void test_refusals(void **state)
{
    static const struct {
        const char *spec, *text;
    } cases[] = {
        { "{}", "spec.controllerRef.name: required" },
        { "{\"controllerRef\":{\"name\":\"c\"}}", "spec.sssdConfRef.name: required" },
        { "{\"controllerRef\":{\"name\":\"c\"},\"sssdConfRef\":{\"name\":\"s\"}}",
          "spec.sssdConfRef.key: required" },
        { "{\"controllerRef\":{\"name\":\"c\"},\"sssdConfRef\":{\"name\":\"s\",\"key\":\"k\"},"
          "\"strategy\":{\"type\":\"Fast\"}}",
          "spec.strategy.type: 'Fast' is none of RollingUpdate, Recreate" },
        { "{\"controllerRef\":{\"name\":\"c\"},\"sssdConfRef\":{\"name\":\"s\",\"key\":\"k\"},"
          "\"strategy\":{\"type\":\"Recreate\",\"rollingUpdate\":{}}}",
          "spec.strategy.rollingUpdate: not with type Recreate" },
        { "{\"controllerRef\":{\"name\":\"c\"},\"sssdConfRef\":{\"name\":\"s\",\"key\":\"k\"},"
          "\"service\":{\"port\":0}}",
          "spec.service.port: 0 is not between 1 and 65535" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_json_ json_t *cr = make_cr("LoginSet", "x", cases[i].spec);
        struct err err = { .text = "" };
        json_t *read = NULL;

        assert_int_equal(opspec_read(cr, &read, &err), -EINVAL);
        assert_string_equal(err.text, cases[i].text);
    }
}

static bool go_on(void *ctx)
{
    return *(bool *)ctx;
}

static void test_keys(void **state)
{
    static const char first[] = "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEA";
    bool wanted = true;
    struct sshkey k = { 0 };

    (void)state;
    assert_int_equal(sshkeys_make(SSHKEYS_ED25519, go_on, &wanted, &k), 0);
    assert_int_equal(strncmp(k.secret, first, sizeof(first) - 1), 0);
    assert_int_equal(strncmp(k.public, "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI", 37), 0);
    sshkey_done(&k);
    assert_null(k.secret);
    wanted = false;
    assert_int_equal(sshkeys_make(SSHKEYS_RSA, go_on, &wanted, &k), -ECANCELED);
    assert_null(k.secret);
    assert_string_equal(sshkeys_file(SSHKEYS_ECDSA), "ssh_host_ecdsa_key");
    assert_string_equal(sshkeys_public_file(SSHKEYS_RSA), "ssh_host_rsa_key.pub");
}

static void count_sets(void *ctx)
{
    ++*(int *)ctx;
}

/* A set is made beside the loop, and given once. */
static void test_maker(void **state)
{
    struct kubeloop *loop;
    struct opkeymaker *m;
    _cleanup_json_ json_t *data = NULL, *secret = NULL, *more = NULL;
    int made = 0;

    (void)state;
    assert_int_equal(kubeloop_new(&loop), 0);
    assert_int_equal(opkeymaker_new(loop, count_sets, &made, &m), 0);
    assert_int_equal(opkeymaker_take(m, &data), 0);
    assert_null(data);
    for (int i = 0; i < 600 && !made; i++)
        assert_int_equal(kubeloop_turn(loop, 100), 0);
    assert_int_equal(made, 1);
    assert_int_equal(opkeymaker_take(m, &data), 0);
    assert_int_equal(json_object_size(data), 2 * SSHKEYS_TYPES);
    secret = json_pack("{s:O}", "data", data);
    assert_true(mklogin_keys_are_whole(secret));
    (void)json_object_del(data, "ssh_host_rsa_key.pub");
    assert_false(mklogin_keys_are_whole(secret));
    assert_int_equal(opkeymaker_take(m, &more), 0); /* the next set; given up at once */
    assert_null(more);
    (void)opkeymaker_free(m);
    (void)kubeloop_free(loop);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_objects),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_keys),
        cmocka_unit_test(test_maker),
    };

    update = argc > 1 && strcmp(argv[1], "--update") == 0;
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
