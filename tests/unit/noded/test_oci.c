/* test_oci.c - containers: patterns of oci.conf, lists of variables, config.json rewritten. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "oci/oci.h"
#include "oci/ocipattern.h"

/* ---- patterns -------------------------------------------------------------------------------- */

static const char *const argv[] = { "echo", "it's", "", "$HOME", NULL };
static const struct oci_vars vars = { .argv = argv,
                                      .bundle = "/b c/it's",
                                      .env_file = "/e",
                                      .spool_dir = "/m",
                                      .node = "n1",
                                      .root = "/r$x\"`\\",
                                      .step = "batch",
                                      .user = "ann",
                                      .work_dir = "/w",
                                      .job_id = 7,
                                      .task = 3,
                                      .uid = 1000,
                                      .pid = 42 };

static void check(int (*fn)(const char *, const struct oci_vars *, char **), const char *pattern,
                  const char *want)
{
    _cleanup_free_ char *got = NULL;

    assert_int_equal(fn(pattern, &vars, &got), 0);
    assert_string_equal(got, want);
}

static void test_patterns(void **state)
{
    (void)state;
    check(oci_command, "", "");
    check(oci_command, "run %n.%u.%j.%s.%t", "exec run n1.ann.7.batch.3");
    check(oci_command, "/bin/run", "exec /bin/run");
    check(oci_command, "run %n && run %j", "run n1 && run 7");
    check(oci_command, "exec run", "exec run");
    check(oci_command, "A=1 run", "A=1 run");
    check(oci_command, "if run; then :; fi", "if run; then :; fi");
    check(oci_command, "%U %p %e %m %Z %%j %x 100%", "1000 42 /e /m /w %j %x 100%");
    check(oci_command, "%@", "'echo' 'it'\\''s' '' '$HOME'");
    check(oci_path, "/run/%U/%b", "/run/1000//b c/it's");
}

/* What a value holds stays one word, wherever the pattern puts it. */
static void test_quotes(void **state)
{
    (void)state;
    check(oci_command, "-b %b", "exec -b '/b c/it'\\''s'");
    check(oci_command, "-b '%b' %n", "exec -b '/b c/it'\\''s' n1");
    check(oci_command, "\"x%r\" %r", "\"x/r\\$x\\\"\\`\\\\\" '/r$x\"`\\'");
    check(oci_command, "\"it's %b\" %b", "\"it's /b c/it's\" '/b c/it'\\''s'");
    check(oci_command, "\\\"%b", "\\\"'/b c/it'\\''s'");
}

/* The shell's own opinion. */
static void test_in_a_shell(void **state)
{
    static const char *const patterns[] = { "printf %%s %r", "printf %%s \"%r\"",
                                            "printf %%s '%r'" };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(patterns); i++) {
        _cleanup_free_ char *line = NULL;
        char got[64] = "";
        FILE *f;

        assert_int_equal(oci_command(patterns[i], &vars, &line), 0);
        f = popen(line, "r");
        assert_non_null(f);
        assert_int_equal(fread(got, 1, sizeof(got) - 1, f), strlen(vars.root));
        assert_int_equal(pclose(f), 0);
        assert_string_equal(got, vars.root);
    }
}

/* The task's arguments stay what they are when the pattern quotes the line they are in, too. */
static void test_arguments_in_a_shell(void **state)
{
    static const char *const patterns[] = { "printf '<%%s>' %@", "sh -c \"printf '<%%s>' %@\"",
                                            "sh -c 'printf \"<%%s>\" %@'" };
    static const char *const hard[] = { "it's", "", "$HOME `id` \\ \"x\" $(id)", "a;b", NULL };
    const struct oci_vars with = { .argv = hard };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(patterns); i++) {
        _cleanup_free_ char *line = NULL;
        char got[128] = "";
        FILE *f;

        assert_int_equal(oci_command(patterns[i], &with, &line), 0);
        f = popen(line, "r");
        assert_non_null(f);
        assert_true(fread(got, 1, sizeof(got) - 1, f) > 0);
        assert_int_equal(pclose(f), 0);
        assert_string_equal(got, "<it's><><$HOME `id` \\ \"x\" $(id)><a;b>");
    }
}

/* ---- variables ------------------------------------------------------------------------------- */

static void test_env(void **state)
{
    char *env[] = { "A=1", "SECRET=x", "B=SECRET=", NULL };
    char **list;

    (void)state;
    assert_int_equal(oci_env_filter(env, NULL, &list), 0);
    assert_string_equal(list[2], "B=SECRET=");
    assert_null(list[3]);
    free(list);
    assert_int_equal(oci_env_filter(env, "^(SECRET|C)=", &list), 0);
    assert_string_equal(list[1], "B=SECRET=");
    assert_null(list[2]);
    assert_int_equal(oci_env_set(&list, "A=2"), 0);
    assert_int_equal(oci_env_set(&list, "AB=3"), 0);
    assert_string_equal(list[0], "A=2");
    assert_string_equal(list[2], "AB=3");
    assert_null(list[3]);
    free(list);
    assert_int_equal(oci_env_filter(env, "(", &list), -EINVAL);
}

/* ---- config.json ----------------------------------------------------------------------------- */

static char *args[] = { "prog", "x", NULL };
static char *variables[] = { "PATH=/host", "SLURM_JOB_ID=7", "NEW=1", "BAD=\xff", NULL };

static json_t *rewritten(const char *text, const struct oci_edit *e, char **ret_root)
{
    _cleanup_free_ char *out = NULL;
    struct err err = { .text = "" };
    json_t *j;

    if (oci_config(text, strlen(text), e, &out, ret_root, &err) < 0)
        fail_msg("%s", err.text);
    j = json_loads(out, 0, NULL);
    assert_non_null(j);
    return j;
}

/* The value at a path of keys and indices, as text. */
static void check_at(const json_t *config, const char *path, const char *want)
{
    _cleanup_free_ char *copy = strdup(path), *got = NULL;
    char *save = NULL;

    for (char *key = strtok_r(copy, ".", &save); key; key = strtok_r(NULL, ".", &save))
        config = json_is_array(config) ? json_array_get(config, strtoul(key, NULL, 10))
                                       : json_object_get(config, key);
    got = config ? json_dumps(config, JSON_ENCODE_ANY | JSON_COMPACT) : strdup("none");
    assert_string_equal(got, want);
}

static void test_config(void **state)
{
    static const char text[] =
        "{\"root\": {\"path\": \"rootfs\"}, \"hooks\": {\"prestart\": [], \"poststop\": [], "
        "\"startContainer\": []},"
        " \"process\": {\"cwd\": \"/inside\", \"args\": [\"sh\"], \"env\": [\"PATH=/bin\", "
        "\"SLURM_JOB_ID=1\"],"
        " \"terminal\": true, \"user\": {\"uid\": 5, \"gid\": 6}},"
        " \"mounts\": [{\"destination\": \"/d\", \"source\": \"rel\", \"options\": [\"rbind\"]},"
        " {\"destination\": \"/proc\", \"type\": \"proc\", \"source\": \"proc\"}],"
        " \"linux\": {\"namespaces\": [{\"type\": \"pid\"}, {\"type\": \"user\"}]}}";
    char *mounts[] = { "/spool/pmix" };
    const struct oci_edit e = { .argv = args,
                                .env = variables,
                                .bundle = "/bundle",
                                .work_dir = "/nowhere",
                                .mount_from = "/spool/task-0",
                                .mount_at = "/var/run/slurm/",
                                .mounts = mounts,
                                .n_mounts = 1,
                                .disable_hooks = "prestart,startContainer",
                                .uid = 1000,
                                .gid = 100 };
    _cleanup_free_ char *root = NULL;
    json_t *j = rewritten(text, &e, &root);

    (void)state;
    assert_string_equal(root, "/bundle/rootfs");
    check_at(j, "root.path", "\"/bundle/rootfs\"");
    check_at(j, "process.args", "[\"prog\",\"x\"]");
    check_at(j, "process.env", "[\"PATH=/bin\",\"SLURM_JOB_ID=7\",\"NEW=1\"]");
    check_at(j, "process.terminal", "false");
    check_at(j, "process.cwd", "\"/inside\"");
    check_at(j, "hooks", "{\"poststop\":[]}");
    check_at(j, "mounts.0.source", "\"/bundle/rel\"");
    check_at(j, "mounts.1.source", "\"proc\"");
    check_at(j, "mounts.2.destination", "\"/var/run/slurm/\"");
    check_at(j, "mounts.3.source", "\"/spool/pmix\"");
    check_at(j, "linux.uidMappings", "[{\"containerID\":5,\"hostID\":1000,\"size\":1}]");
    check_at(j, "linux.gidMappings", "[{\"containerID\":6,\"hostID\":100,\"size\":1}]");
    json_decref(j);
}

/* Ranges of ids are the user's own; root maps nothing; without a user namespace there is nothing to
 * map. */
static void test_mappings(void **state)
{
    static const struct {
        const char *linux_, *want;
        uint32_t uid;
    } rows[] = {
        { "{\"namespaces\": [{\"type\": \"user\"}], \"uidMappings\": [{\"containerID\": 0, "
          "\"hostID\": 1, \"size\": 65536}]}",
          "[{\"containerID\":0,\"hostID\":1,\"size\":65536}]", 1000 },
        { "{\"namespaces\": [{\"type\": \"user\"}], \"uidMappings\": [{\"containerID\": 9, "
          "\"hostID\": 1, \"size\": 1}]}",
          "[{\"containerID\":9,\"hostID\":1000,\"size\":1}]", 1000 },
        { "{\"namespaces\": [{\"type\": \"user\"}]}", "none", 0 },
        { "{\"namespaces\": [{\"type\": \"user\", \"path\": \"/proc/1/ns/user\"}]}", "none", 1000 },
        { "{\"namespaces\": [{\"type\": \"pid\"}]}", "none", 1000 },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_free_ char *root = NULL, *text = NULL;
        const struct oci_edit e = {
            .argv = args, .env = variables, .bundle = "/b", .work_dir = "/", .uid = rows[i].uid
        };
        json_t *j;

        assert_true(
            asprintf(&text, "{\"root\": {\"path\": \"/r\"}, \"linux\": %s}", rows[i].linux_) > 0);
        j = rewritten(text, &e, &root);
        check_at(j, "linux.uidMappings", rows[i].want);
        json_decref(j);
    }
}

/* The working directory is the task's where the container has it: in its root, through links that
 * lead there, in a folder of the node, but not behind what is mounted over it. */
static void test_work_dir(void **state)
{
    char top[] = "/tmp/test-oci-XXXXXX", path[128], text[512];
    static const struct {
        const char *work_dir, *want;
    } rows[] = {
        { "/data", "\"/data\"" },         { "/none", "\"/\"" },
        { "/link/sub", "\"/link/sub\"" }, { "/out/etc", "\"/\"" },
        { "/host", "\"/host\"" },         { "/host/data/sub", "\"/host/data/sub\"" },
        { "/host/none", "\"/\"" },        { "/tmpfs", "\"/tmpfs\"" },
        { "/tmpfs/sub", "\"/\"" },        { "/hostess", "\"/\"" },
        { "relative", "\"/\"" },          { "/", "\"/\"" },
    };
    static const char *const made[] = { "/data", "/data/sub", "/tmpfs", "/tmpfs/sub" };

    (void)state;
    assert_non_null(mkdtemp(top));
    for (size_t i = 0; i < ARRAY_SIZE(made); i++) {
        (void)snprintf(path, sizeof(path), "%s%s", top, made[i]);
        assert_int_equal(mkdir(path, 0700), 0);
    }
    (void)snprintf(path, sizeof(path), "%s/link", top);
    assert_int_equal(symlink("/data", path), 0);
    (void)snprintf(path, sizeof(path), "%s/out", top);
    assert_int_equal(symlink("../../../..", path), 0);
    (void)snprintf(text, sizeof(text),
                   "{\"root\": {\"path\": \"%s\"}, \"mounts\": [{\"destination\": \"/host/\", "
                   "\"type\": \"bind\", "
                   "\"source\": \"%s\"}, {\"destination\": \"/tmpfs\", \"type\": \"tmpfs\"}]}",
                   top, top);
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        const struct oci_edit e = {
            .argv = args, .env = variables, .bundle = "/b", .work_dir = rows[i].work_dir
        };
        _cleanup_free_ char *root = NULL;
        json_t *j = rewritten(text, &e, &root);

        check_at(j, "process.cwd", rows[i].want);
        json_decref(j);
    }
    for (size_t i = ARRAY_SIZE(made); i-- > 0;) {
        (void)snprintf(path, sizeof(path), "%s%s", top, made[i]);
        assert_int_equal(rmdir(path), 0);
    }
    (void)snprintf(path, sizeof(path), "%s/link", top);
    assert_int_equal(unlink(path), 0);
    (void)snprintf(path, sizeof(path), "%s/out", top);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(top), 0);
}

static void test_refused(void **state)
{
    static const struct {
        const char *text, *why;
    } rows[] = {
        { "", "line 1: '[' or '{' expected near end of file" },
        { "[1]", "it is not an object" },
        { "{}", "root.path is missing" },
        { "{\"root\": {\"path\": 1}}", "root.path is missing" },
        { "{\"root\": {\"path\": \"r\"}, \"process\": 1}", "process is not an object" },
        { "{\"root\": {\"path\": \"r\"}, \"process\": {\"env\": {}}}",
          "process.env is not a list" },
        { "{\"root\": {\"path\": \"r\"}, \"process\": {\"env\": [null]}}",
          "process.env holds something that is no text" },
        { "{\"root\": {\"path\": \"r\"}, \"mounts\": [1]}",
          "mounts holds something that is no object" },
        { "{\"root\": {\"path\": \"r\"}, \"linux\": {\"namespaces\": [{\"type\": \"user\"}], "
          "\"uidMappings\": 1}}",
          "linux.uidMappings is not a list" },
    };
    char *bad_args[] = { "prog", "\xff", NULL };
    struct oci_edit e = {
        .argv = args, .env = variables, .bundle = "/b", .work_dir = "/", .uid = 1
    };
    struct err err = { .text = "" };
    char *text = NULL, *root = NULL;

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        assert_int_equal(oci_config(rows[i].text, strlen(rows[i].text), &e, &text, &root, &err),
                         -EINVAL);
        assert_string_equal(err.text, rows[i].why);
        assert_null(text);
        assert_null(root);
    }
    e.argv = bad_args;
    assert_int_equal(oci_config("{\"root\": {\"path\": \"r\"}}", 23, &e, &text, &root, &err),
                     -EILSEQ);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_patterns),   cmocka_unit_test(test_quotes),
        cmocka_unit_test(test_in_a_shell), cmocka_unit_test(test_arguments_in_a_shell),
        cmocka_unit_test(test_env),        cmocka_unit_test(test_config),
        cmocka_unit_test(test_mappings),   cmocka_unit_test(test_work_dir),
        cmocka_unit_test(test_refused),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
