/* test_helpers.c - helpers of features: what they print, those that fail, hang or print too much;
 * the calls before a boot */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "noded/site/helpers.h"
#include "noded/site/siteprog.h"

static char dir[64];

static int setup(void **state)
{
    (void)state;
    (void)snprintf(dir, sizeof(dir), "/tmp/test_helpers-XXXXXX");
    return mkdtemp(dir) ? 0 : -1;
}

static int teardown(void **state)
{
    static const char *const files[] = { "tell", "name", "fail",  "hang", "much",
                                         "zero", "set",  "other", "boot", "calls" };
    char path[128];

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
        (void)snprintf(path, sizeof(path), "%s/%s", dir, files[i]);
        (void)unlink(path);
    }
    return rmdir(dir);
}

static void script(const char *name, const char *body)
{
    char path[128];
    FILE *f;

    (void)snprintf(path, sizeof(path), "%s/%s", dir, name);
    f = fopen(path, "we");
    assert_non_null(f);
    (void)fprintf(f, "#!/bin/sh\n%s\n", body);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(chmod(path, 0755), 0);
}

/* Every @ of helpers stands for the folder. */
static struct conf *read_conf(const char *helpers)
{
    struct conf_text files[] = { { .name = "slurm.conf" }, { .name = "helpers.conf" } };
    struct conf *conf = NULL;
    struct err err = { .text = "" };
    char text[512], own[1024] = "";
    size_t n = 0;

    for (const char *p = helpers; *p; p++)
        n += (size_t)(*p == '@' ? snprintf(own + n, sizeof(own) - n, "%s", dir)
                                : snprintf(own + n, sizeof(own) - n, "%c", *p));
    (void)snprintf(text, sizeof(text),
                   "ClusterName=c\nSlurmctldHost=h\nNodeName=n[1-2] CPUs=2\nPartitionName=p "
                   "Nodes=ALL\nNodeFeaturesPlugins=node_features/helpers\nRebootProgram=%s/boot\n",
                   dir);
    files[0].text = text;
    files[0].len = strlen(text);
    files[1].text = own;
    files[1].len = strlen(own);
    assert_int_equal(conf_load_text(files, 2, CONF_FULL, &conf, NULL, &err), 0);
    return conf;
}

static void expect_answer(const char *helpers, const char *can, const char *active)
{
    struct conf *conf = read_conf(helpers);
    struct noded d = { .name = (char *)"n1", .conf = conf };
    Pst__NodeRecord *rec = calloc(1, sizeof(*rec));

    assert_non_null(rec);
    pst__node_record__init(rec);
    assert_int_equal(helpers_ask(&d, rec), 0);
    if (can) {
        assert_string_equal(rec->changeable_features, can);
        assert_string_equal(rec->active_features, active);
    } else {
        assert_null(rec->changeable_features);
        assert_null(rec->active_features);
    }
    pst__node_record__free_unpacked(rec, NULL);
    (void)conf_free(conf);
}

static void test_answers(void **state)
{
    (void)state;
    script("tell", "echo a; echo foreign; echo \"c d\"");
    script("name", "echo $SLURMD_NODENAME");
    script("fail", "echo a; exit 3");
    script("hang", "echo a; sleep 60");
    script("much", "head -c 100000 /dev/zero | tr '\\0' a");
    script("zero", "printf 'a\\0b'");
    expect_answer("Feature=a,b,c Helper=@/tell\n", "a,b,c", "a,c");
    expect_answer("Feature=a Helper=@/tell\nFeature=n1 Helper=@/name\n", "a,n1", "a,n1");
    expect_answer("NodeName=n2 Feature=a Helper=@/tell\n", NULL, NULL);
    expect_answer("NodeName=n[1-2] Feature=x Helper=@/tell\n", "x", "");
    expect_answer("Feature=a Helper=@/fail\nFeature=b Helper=@/tell\n", "b", "");
    expect_answer("Feature=a Helper=@/hang\nExecTime=1\n", NULL, NULL);
    expect_answer("Feature=a Helper=@/much\n", NULL, NULL);
    expect_answer("Feature=a Helper=@/zero\n", NULL, NULL);
    expect_answer("Feature=a Helper=@/missing\n", NULL, NULL);
}

/* Wait for what runs until nothing does; what was written then. */
static void expect_calls(const char *helpers, const char *features, const char *want)
{
    struct conf *conf = read_conf(helpers);
    struct noded d = { .name = (char *)"n1", .conf = conf };
    char path[128], got[256] = "";
    int status;
    pid_t pid;
    FILE *f;

    (void)snprintf(path, sizeof(path), "%s/calls", dir);
    (void)unlink(path);
    assert_int_equal(uv_loop_init(&d.loop), 0);
    assert_int_equal(siteprogs_new(&d, &d.siteprogs), 0);
    assert_int_equal(helpers_new(&d, &d.helpers), 0);
    helpers_boot(&d, features);
    while ((pid = waitpid(-1, &status, 0)) > 0)
        assert_true(helpers_child_exited(&d, pid, status) ||
                    siteprog_child_exited(&d, pid, status));
    f = fopen(path, "re");
    if (f) {
        got[fread(got, 1, sizeof(got) - 1, f)] = '\0';
        (void)fclose(f);
    }
    assert_string_equal(got, want);
    helpers_close(d.helpers);
    siteprogs_close(d.siteprogs);
    (void)uv_run(&d.loop, UV_RUN_DEFAULT);
    (void)uv_loop_close(&d.loop);
    d.helpers = helpers_free(d.helpers);
    d.siteprogs = siteprogs_free(d.siteprogs);
    (void)conf_free(conf);
}

static void test_calls(void **state)
{
    static const char both[] = "Feature=a,b Helper=@/set\nFeature=c Helper=@/other\n";

    (void)state;
    script("set", "echo set $* >> ${0%/*}/calls");
    script("other", "echo other $* >> ${0%/*}/calls; exit 1");
    script("boot", "echo boot $* >> ${0%/*}/calls");
    expect_calls(both, NULL, "boot\n");
    expect_calls(both, "", "boot\n");
    expect_calls(both, "b", "set b\nboot b\n");
    expect_calls(both, "a,b", "set a\nset b\nboot a,b\n");
    expect_calls(both, "c,a", "other c\n"); /* it failed: no boot */
    expect_calls(both, "x", "");            /* nobody's */
    expect_calls("NodeName=n2 Feature=a Helper=@/set\n", "a", "");
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_answers),
                                        cmocka_unit_test(test_calls) };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, setup, teardown);
}
