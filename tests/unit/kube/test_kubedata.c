/* test_kubedata.c - what comes from an API server and its files: JSON, YAML, quantities, watches,
 * kubeconfigs, credentials; and the map */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/timefmt.h"
#include "kube/api/kubeconfig.h"
#include "kube/api/kubecred.h"
#include "kube/api/kubejson.h"
#include "kube/api/kubemap.h"
#include "kube/api/kubequantity.h"
#include "kube/api/kubewatch.h"

static void test_json(void **state)
{
    static const char text[] =
        "{\"metadata\":{\"name\":\"a\",\"uid\":7,\"labels\":{\"x.y/z\":\"1\"},"
        "\"finalizers\":[1,\"f/g\"],\"ownerReferences\":[{\"kind\":\"A\"},"
        "{\"kind\":\"B\",\"controller\":true}]},\"n\":5}";
    _cleanup_json_ json_t *j = NULL;
    struct err err = { .text = "" };

    (void)state;
    assert_int_equal(kubejson_parse("{} x", 4, &j, &err), -EINVAL);
    assert_true(err.text[0]);
    assert_int_equal(kubejson_parse(text, strlen(text), &j, &err), 0);
    assert_string_equal(kubejson_name(j), "a");
    assert_string_equal(kubejson_uid(j), ""); /* a number is no text */
    assert_string_equal(kubejson_label(j, "x.y/z"), "1");
    assert_null(kubejson_annotation(j, "x.y/z"));
    assert_true(kubejson_has_finalizer(j, "f/g"));
    assert_false(kubejson_has_finalizer(j, "f"));
    assert_string_equal(kubejson_text(kubejson_controller(j), "kind"), "B");
    assert_int_equal(kubejson_int(j, "n", -1), 5);
    assert_int_equal(kubejson_int(j, "n.m", -1), -1);
    assert_false(kubejson_is_deleted(j));
}

static void test_names(void **state)
{
    static const struct {
        const char *name;
        bool good;
    } cases[] = { { "a", true },     { "a-b.c0", true }, { "", false },    { "-a", false },
                  { "a.", false },   { "A", false },     { "a/b", false }, { "..", false },
                  { "a%2f", false }, { "a b", false } };
    char long_name[256];

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        assert_int_equal(kubejson_name_is_good(cases[i].name), cases[i].good);
    memset(long_name, 'a', sizeof(long_name));
    long_name[253] = '\0';
    assert_true(kubejson_name_is_good(long_name));
    long_name[253] = 'a';
    long_name[254] = '\0';
    assert_false(kubejson_name_is_good(long_name));
}

static void test_stamps(void **state)
{
    int64_t us = 0;
    char buf[40];

    (void)state;
    assert_int_equal(kubejson_read_stamp("1970-01-02T00:00:00Z", &us), 0);
    assert_true(us == INT64_C(86400000000));
    assert_int_equal(kubejson_read_stamp("1970-01-02T01:00:00.25+01:00", &us), 0);
    assert_true(us == INT64_C(86400250000));
    kubejson_stamp(us, true, buf, sizeof(buf));
    assert_string_equal(buf, "1970-01-02T00:00:00.250000Z");
    assert_int_equal(kubejson_read_stamp("1970-01-02", &us), -EINVAL);
    assert_int_equal(kubejson_read_stamp("1970-01-02T00:00:00Zx", &us), -EINVAL);
}

static void test_quantities(void **state)
{
    static const struct {
        const char *text;
        int r;
        int64_t milli;
    } cases[] = {
        { "1", 0, 1000 },        { "500m", 0, 500 },     { "1.5", 0, 1500 },
        { ".5", 0, 500 },        { "1n", 0, 1 },         { "2e3", 0, 2000000 },
        { "1Ki", 0, 1024000 },   { "1E", -ERANGE, 0 },   { "128Mi", 0, 134217728000 },
        { "-1", -ERANGE, 0 },    { "", -EINVAL, 0 },     { "1Q", -EINVAL, 0 },
        { "m", -EINVAL, 0 },     { "1 Gi", -EINVAL, 0 }, { "nan", -EINVAL, 0 },
        { "9Ei", -ERANGE, 0 },   { "+3", 0, 3000 },      { "0", 0, 0 },
        { "1e999", -ERANGE, 0 },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        int64_t milli = 0;

        assert_int_equal(kubequantity_parse(cases[i].text, &milli), cases[i].r);
        assert_true(milli == cases[i].milli);
    }
    assert_true(kubequantity_units(1001) == 2 && kubequantity_units(1000) == 1);
    assert_int_equal(kubequantity_read(NULL, &(int64_t){ 0 }), -ENOENT);
}

static void test_watch_lines(void **state)
{
    static const struct {
        const char *line;
        int r;
        enum kubewatch_type type;
    } cases[] = {
        { "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"a\",\"uid\":\"u\","
          "\"resourceVersion\":\"5\"}}}",
          0, KUBEWATCH_ADDED },
        { "{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{\"resourceVersion\":\"9\"}}}", 0,
          KUBEWATCH_BOOKMARK },
        { "{\"type\":\"ERROR\",\"object\":{\"code\":410,\"message\":\"old\"}}", 0, KUBEWATCH_GONE },
        { "{\"type\":\"ERROR\",\"object\":{\"code\":500}}", 0, KUBEWATCH_ERROR },
        { "{\"type\":\"DELETED\",\"object\":{\"metadata\":{\"name\":\"a\"}}}", -EINVAL, 0 },
        { "{\"type\":\"BOOKMARK\",\"object\":{}}", -EINVAL, 0 },
        { "{\"type\":\"OTHER\",\"object\":{}}", -EINVAL, 0 },
        { "{\"type\":", -EINVAL, 0 },
        { "[]", -EINVAL, 0 },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_json_ json_t *object = NULL;
        struct err err = { .text = "" };
        enum kubewatch_type type = 0;

        assert_int_equal(kubewatch_read(cases[i].line, strlen(cases[i].line), &type, &object, &err),
                         cases[i].r);
        assert_int_equal(type, cases[i].type);
        assert_int_equal(object != NULL, cases[i].r == 0 && type <= KUBEWATCH_BOOKMARK);
    }
}

static int parse_config(const char *text, struct kubeconfig *ret, struct err *err)
{
    return kubeconfig_parse(text, strlen(text), "/etc/kube", NULL, ret, err);
}

static void test_kubeconfig(void **state)
{
    static const char good[] =
        "current-context: c\ncontexts: [{name: c, context: {cluster: k, user: u, namespace: n}}]\n"
        "clusters: [{name: k, cluster: {server: 'https://h:6443/', certificate-authority: ca.crt}}]\n"
        "users:\n- name: u\n  user:\n    client-certificate-data: YWJj\n    client-key: /k\n"
        "    tokenFile: tok\n";
    struct kubeconfig c = { 0 };
    struct err err = { .text = "" };

    (void)state;
    assert_int_equal(parse_config(good, &c, &err), 0);
    assert_string_equal(c.server, "https://h:6443");
    assert_string_equal(c.ca_file, "/etc/kube/ca.crt");
    assert_string_equal(c.cert_pem, "abc");
    assert_string_equal(c.key_file, "/k");
    assert_string_equal(c.token_file, "/etc/kube/tok");
    assert_string_equal(c.namespace_, "n");
    assert_false(c.insecure);
    kubeconfig_done(&c);
    assert_int_equal(parse_config("a: [", &c, &err), -EINVAL);
    assert_int_equal(parse_config("", &c, &err), -EINVAL);
    assert_string_equal(err.text, "no context is chosen");
    assert_int_equal(parse_config("current-context: c\ncontexts: [{name: c, context: {cluster: "
                                  "k}}]\nclusters: [{name: k, cluster: {server: 'ftp://h'}}]",
                                  &c, &err),
                     -EINVAL);
    assert_int_equal(kubeconfig_in_cluster("/d", "", "1", &c, &err), -ENOENT);
    assert_int_equal(kubeconfig_in_cluster("/d", "fd00::1", "443", &c, &err), 0);
    assert_string_equal(c.server, "https://[fd00::1]:443");
    assert_string_equal(c.token_file, "/d/token");
    kubeconfig_done(&c);
}

static void write_text(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");

    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

static void write_config(const char *dir, const char *name, const char *text)
{
    char path[64];

    (void)snprintf(path, sizeof(path), "%s/%s", dir, name);
    write_text(path, text);
}

static void remove_config(const char *dir, const char *name)
{
    char path[64];

    (void)snprintf(path, sizeof(path), "%s/%s", dir, name);
    assert_int_equal(unlink(path), 0);
}

/* "a:b": the first file that has an entry counts, and paths begin at their own file. */
static void test_kubeconfig_list(void **state)
{
    char one[] = "/tmp/kubeoneXXXXXX", two[] = "/tmp/kubetwoXXXXXX", list[160], path[64];
    struct kubeconfig c = { 0 };
    struct err err = { .text = "" };

    (void)state;
    assert_non_null(mkdtemp(one));
    assert_non_null(mkdtemp(two));
    write_config(one, "c",
                 "contexts: [{name: c, context: {cluster: k, user: u}}]\n"
                 "users: [{name: u, user: {tokenFile: tok}}]\n");
    write_config(
        two, "c",
        "current-context: c\ncontexts: [{name: c, context: {cluster: x, user: x}}]\n"
        "clusters: [{name: k, cluster: {server: 'https://h', certificate-authority: ca}}]\n"
        "users: [{name: u, user: {token: t}}]\n");
    (void)snprintf(list, sizeof(list), "%s/none::%s/c:%s/c", one, one, two);
    assert_int_equal(kubeconfig_load_list(list, NULL, &c, &err), 0);
    assert_string_equal(c.server, "https://h");
    (void)snprintf(path, sizeof(path), "%s/ca", two);
    assert_string_equal(c.ca_file, path);
    (void)snprintf(path, sizeof(path), "%s/tok", one);
    assert_string_equal(c.token_file, path);
    assert_null(c.token); /* the second file's user is left out, whole */
    kubeconfig_done(&c);
    (void)snprintf(list, sizeof(list), "%s/none:%s/no", one, one);
    assert_int_equal(kubeconfig_load_list(list, NULL, &c, &err), -ENOENT);
    (void)snprintf(list, sizeof(list), "%s/c:%s/bad", two, one);
    write_config(one, "bad", "a: [");
    assert_int_equal(kubeconfig_load_list(list, NULL, &c, &err), -EINVAL);
    remove_config(one, "c");
    remove_config(one, "bad");
    remove_config(two, "c");
    assert_int_equal(rmdir(one) + rmdir(two), 0);
}

static void test_base64(void **state)
{
    char *out = NULL;
    size_t len;

    (void)state;
    assert_int_equal(kubeconfig_base64("aGVs\nbG8=", &out, &len), 0);
    assert_string_equal(out, "hello");
    assert_int_equal(len, 5);
    free(out);
    assert_int_equal(kubeconfig_base64("a", &out, &len), -EINVAL);
    assert_int_equal(kubeconfig_base64("a*bc", &out, &len), -EINVAL);
    assert_int_equal(kubeconfig_base64("aGk=x", &out, &len), -EINVAL);
}

/* What an exec plugin says, and a token file that changes. */
static void test_credentials(void **state)
{
    static const char answer[] = "{\"kind\":\"ExecCredential\",\"status\":{\"token\":\"t\","
                                 "\"expirationTimestamp\":\"1970-01-01T00:01:00Z\"}}";
    char *token = NULL, *cert = NULL, *key = NULL;
    int64_t until = 0;
    struct err err = { .text = "" };

    (void)state;
    assert_int_equal(kubecred_read_exec(answer, strlen(answer), &token, &cert, &key, &until, &err),
                     0);
    assert_string_equal(token, "t");
    assert_null(cert);
    assert_true(until == INT64_C(60000000));
    free(token);
    assert_int_equal(kubecred_read_exec("{}", 2, &token, &cert, &key, &until, &err), -EINVAL);
}

static void test_token_file(void **state)
{
    char path[] = "/tmp/test_kubedata.XXXXXX";
    int fd = mkstemp(path);
    struct kubeconfig config = { .token_file = path };
    struct kubecred *c = NULL;
    const char *token, *cert, *key;
    struct err err = { .text = "" };

    (void)state;
    assert_true(fd >= 0);
    (void)close(fd);
    write_text(path, "one\n");
    assert_int_equal(kubecred_new(&config, &c), 0);
    assert_int_equal(kubecred_get(c, 1000, &token, &cert, &key, &err), 0);
    assert_string_equal(token, "one");
    write_text(path, "two");
    assert_int_equal(kubecred_get(c, 2000, &token, &cert, &key, &err), 0);
    assert_string_equal(token, "one"); /* a minute old at most */
    kubecred_forget(c);                /* refused: read at once */
    assert_int_equal(kubecred_get(c, 2000, &token, &cert, &key, &err), 0);
    assert_string_equal(token, "two");
    write_text(path, "a\nb\n");
    kubecred_forget(c);
    assert_int_equal(kubecred_get(c, 3000, &token, &cert, &key, &err), -EINVAL);
    c = kubecred_free(c);
    (void)unlink(path);
}

/* A plugin that has answered and closed its output, and does not end, is ended. */
static void test_plugin_that_stays(void **state)
{
    _cleanup_json_ json_t *exec =
        json_pack("{s:s, s:[s, s]}", "command", "sh", "args", "-c",
                  "echo '{\"kind\":\"ExecCredential\",\"status\":{\"token\":\"t\"}}';"
                  "exec sleep 600 >&- 2>&-");
    struct kubeconfig config = { .exec = exec, .exec_dir = (char[]){ "." } };
    const char *token = NULL, *cert = NULL, *key = NULL;
    struct err err = { .text = "" };
    struct kubecred *c = NULL;
    int64_t begin = now_mono_us();

    (void)state;
    assert_int_equal(kubecred_new(&config, &c), 0);
    assert_int_equal(kubecred_get(c, now_us(), &token, &cert, &key, &err), -ECHILD);
    assert_non_null(strstr(err.text, "it failed"));
    assert_null(token);
    assert_true(now_mono_us() - begin < 10 * KUBECRED_EXEC_MS * INT64_C(1000));
    c = kubecred_free(c);
}

static void count_entry(void *ctx, const char *key, void *value)
{
    (void)value;
    assert_true(strcmp(ctx, key) < 0);
    (void)snprintf(ctx, 16, "%s", key);
}

static void test_map(void **state)
{
    struct kubemap m = { 0 };
    char key[16], last[16] = "", value[] = "v", other[] = "w";

    (void)state;
    for (int i = 0; i < 1000; i++) {
        (void)snprintf(key, sizeof(key), "k%04d", i * 7 % 1000);
        assert_int_equal(kubemap_put(&m, key, value), 0);
    }
    assert_int_equal(m.n, 1000);
    kubemap_walk(&m, count_entry, last);
    assert_string_equal(last, "k0999");
    assert_int_equal(kubemap_put(&m, "k0500", other), 0);
    assert_ptr_equal(kubemap_take(&m, "k0500"), other);
    assert_null(kubemap_get(&m, "k0500"));
    assert_null(kubemap_take(&m, "k0500"));
    assert_int_equal(m.n, 999);
    kubemap_done(&m, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_json),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_stamps),
        cmocka_unit_test(test_quantities),
        cmocka_unit_test(test_watch_lines),
        cmocka_unit_test(test_kubeconfig),
        cmocka_unit_test(test_kubeconfig_list),
        cmocka_unit_test(test_base64),
        cmocka_unit_test(test_credentials),
        cmocka_unit_test(test_plugin_that_stays),
        cmocka_unit_test(test_token_file),
        cmocka_unit_test(test_map),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
