/* test_ociconfig.c - bundles that are not what they should be: a config.json of any shape is
 * refused with its place, or kept */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "oci/oci.h"

static char *one_arg[] = { (char *)"run", NULL };
static char *one_var[] = { (char *)"SLURM_JOB_ID=7", (char *)"HOME=/node", NULL };

static struct oci_edit edit(void)
{
    return (struct oci_edit){ .argv = one_arg,
                              .env = one_var,
                              .bundle = "/nowhere/b",
                              .work_dir = "/nowhere/w",
                              .uid = 1000,
                              .gid = 1000 };
}

static int rewrite(const char *text, const struct oci_edit *e, char **ret, struct err *err)
{
    _cleanup_free_ char *root = NULL;

    *ret = NULL;
    err->text[0] = '\0';
    return oci_config(text, strlen(text), e, ret, &root, err);
}

static void test_refused(void **state)
{
    static const struct {
        const char *text, *say;
    } rows[] = {
        { "", "line 1: " },
        { "{", "line 1: " },
        { "{\n\"a\":\n}", "line 3: " },
        { "[]", "it is not an object" },
        { "{}", "root.path is missing" },
        { "{\"root\":\"/r\"}", "root.path is missing" },
        { "{\"root\":{\"path\":7}}", "root.path is missing" },
        { "{\"root\":{\"path\":\"/r\"},\"process\":[]}", "process is not an object" },
        { "{\"root\":{\"path\":\"/r\"},\"process\":{\"env\":{}}}", "process.env is not a list" },
        { "{\"root\":{\"path\":\"/r\"},\"process\":{\"env\":[7]}}",
          "process.env holds something that is no text" },
        { "{\"root\":{\"path\":\"/r\"},\"mounts\":{}}", "mounts is not a list" },
        { "{\"root\":{\"path\":\"/r\"},\"mounts\":[7]}",
          "mounts holds something that is no object" },
        { "{\"root\":{\"path\":\"/r\"},\"linux\":{\"namespaces\":[{\"type\":\"user\"}],"
          "\"uidMappings\":{}}}",
          "linux.uidMappings is not a list" },
    };
    const struct oci_edit e = edit();

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct err err;
        char *text;

        print_message("# %zu\n", i);
        assert_int_equal(rewrite(rows[i].text, &e, &text, &err), -EINVAL);
        assert_null(text);
        assert_memory_equal(err.text, rows[i].say, strlen(rows[i].say));
    }
}

/* What the task is given must fit into JSON: an argument fails, a variable is left out. */
static void test_no_utf8(void **state)
{
    char *bad_arg[] = { (char *)"run", (char *)"\xff", NULL };
    char *bad_var[] = { (char *)"A=\xff", (char *)"B=1", NULL };
    static const char config[] = "{\"root\":{\"path\":\"/r\"}}";
    struct oci_edit e = edit();
    struct err err;
    char *text;

    (void)state;
    e.argv = bad_arg;
    assert_int_equal(rewrite(config, &e, &text, &err), -EILSEQ);
    assert_memory_equal(err.text, "argument 1 of the task is no text in UTF-8", 42);
    e = edit();
    e.env = bad_var;
    assert_int_equal(rewrite(config, &e, &text, &err), 0);
    assert_null(strstr(text, "\"A="));
    assert_non_null(strstr(text, "\"B=1\""));
    free(text);
    e = edit();
    e.mount_from = "/m\xff";
    e.mount_at = "/var/run/slurm";
    assert_int_equal(rewrite(config, &e, &text, &err), -EILSEQ);
    assert_null(text);
}

/* The bundle knows its own files better, the step its devices. */
static void test_whose_variable(void **state)
{
    const struct oci_edit e = edit();
    struct err err;
    char *text;

    (void)state;
    assert_int_equal(rewrite("{\"root\":{\"path\":\"rootfs\"},\"process\":{\"env\":[\"HOME=/root\","
                             "\"SLURM_JOB_ID=666\",\"HOMER=1\",\"X\"]}}",
                             &e, &text, &err),
                     0);
    assert_non_null(strstr(text, "\"HOME=/root\""));
    assert_null(strstr(text, "HOME=/node"));
    assert_non_null(strstr(text, "\"SLURM_JOB_ID=7\""));
    assert_null(strstr(text, "666"));
    assert_non_null(strstr(text, "\"HOMER=1\""));
    assert_non_null(
        strstr(text, "\"/nowhere/b/rootfs\"")); /* the file is about to leave the bundle */
    free(text);
}

/* One id is mapped to the user's own; what maps several is subuid(5)'s affair. */
static void test_mappings(void **state)
{
    static const char form[] = "{\"root\":{\"path\":\"/r\"},\"linux\":{\"namespaces\":[%s],"
                               "\"uidMappings\":[%s]}}";
    static const struct {
        const char *namespaces, *mappings, *has;
    } rows[] = {
        { "{\"type\":\"user\"}", "{\"containerID\":0,\"hostID\":5,\"size\":1}",
          "\"hostID\": 1000" },
        { "{\"type\":\"user\"}", "", "\"hostID\": 1000" },
        { "{\"type\":\"user\"}", "{\"containerID\":0,\"hostID\":5,\"size\":9}", "\"hostID\": 5" },
        { "{\"type\":\"user\"}", "{\"hostID\":5,\"size\":1},{\"hostID\":6,\"size\":1}",
          "\"hostID\": 6" },
        { "{\"type\":\"user\",\"path\":\"/proc/1/ns/user\"}", "{\"hostID\":5,\"size\":1}",
          "\"hostID\": 5" },
        { "7", "{\"hostID\":5,\"size\":1}", "\"hostID\": 5" },
    };
    struct oci_edit e = edit();
    struct err err;
    char *text, config[512];

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        (void)snprintf(config, sizeof(config), form, rows[i].namespaces, rows[i].mappings);
        assert_int_equal(rewrite(config, &e, &text, &err), 0);
        assert_non_null(strstr(text, rows[i].has));
        free(text);
    }
    e.uid = 0; /* root maps whom it likes */
    (void)snprintf(config, sizeof(config), form, rows[0].namespaces, rows[0].mappings);
    assert_int_equal(rewrite(config, &e, &text, &err), 0);
    assert_non_null(strstr(text, "\"hostID\": 5"));
    free(text);
}

static void test_hooks(void **state)
{
    static const char config[] = "{\"root\":{\"path\":\"/r\"},\"hooks\":{\"prestart\":[],"
                                 "\"poststop\":[],\"createRuntime\":[]}}";
    struct oci_edit e = edit();
    struct err err;
    char *text;

    (void)state;
    e.disable_hooks = ",, prestart,nosuchhookofanyruntimewhosenameisthislong,poststop,";
    assert_int_equal(rewrite(config, &e, &text, &err), 0);
    assert_null(strstr(text, "prestart"));
    assert_null(strstr(text, "poststop"));
    assert_non_null(strstr(text, "createRuntime"));
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refused),        cmocka_unit_test(test_no_utf8),
        cmocka_unit_test(test_whose_variable), cmocka_unit_test(test_mappings),
        cmocka_unit_test(test_hooks),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
