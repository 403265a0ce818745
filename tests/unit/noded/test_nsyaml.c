/* test_nsyaml.c - namespace.yaml: what it says for a node, and mistakes with their line */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mount.h>

#include <cmocka.h>
#include <errno.h>
#include <sched.h>

#include "base/cleanup.h"
#include "noded/plan/nsyaml.h"

#define FILE_TEXT                                                                                  \
    "node_confs:\n"                                                                                \
    "  - nodes: [\"login[1-2]\", extra]\n"                                                         \
    "    options: {base_path: none}\n"                                                             \
    "  - nodes: fat7\n"                                                                            \
    "    options:\n"                                                                               \
    "      base_path: /fat/%n\n"                                                                   \
    "      dirs: /tmp,/var/tmp\n"                                                                  \
    "defaults:\n"                                                                                  \
    "  base_path: /local/ns\n"                                                                     \
    "  auto_base_path: true\n"                                                                     \
    "  clone_ns_flags: [CLONE_NEWNS]\n"                                                            \
    "  clone_ns_script: /usr/local/ns\n"                                                           \
    "  clone_ns_script_wait: 3\n"                                                                  \
    "  dir_confs:\n"                                                                               \
    "    - {path: /tmp, options: \"nosuid,nodev\"}\n"                                              \
    "    - {path: /dev/shm, tmpfs: true, options: \"size=50%,ro,mode=700\"}\n"                     \
    "disable_bpf_token: true\n"

static Pst__Namespace *parse(const char *text, const char *node)
{
    struct err err = { .text = "" };
    Pst__Namespace *ns = NULL;

    if (nsyaml_parse(text, strlen(text), node, &ns, &err) < 0)
        fail_msg("%s", err.text);
    return ns;
}

static void test_defaults(void **state)
{
    Pst__Namespace *ns = parse(FILE_TEXT, "n1");

    (void)state;
    assert_string_equal(ns->base_path, "/local/ns");
    assert_true(ns->auto_base_path);
    assert_false(ns->shared);
    assert_string_equal(ns->clone_script, "/usr/local/ns");
    assert_int_equal(ns->clone_script_wait_s, 3);
    assert_int_equal(ns->clone_epilog_wait_s, 10);
    assert_int_equal(ns->n_dirs, 0);
    assert_int_equal(ns->n_confs, 2);
    assert_string_equal(ns->confs[0]->path, "/tmp");
    assert_int_equal(ns->confs[0]->flags, MS_NOSUID | MS_NODEV);
    assert_null(ns->confs[0]->data);
    assert_false(ns->confs[0]->tmpfs);
    assert_int_equal(ns->confs[1]->flags, MS_RDONLY);
    assert_string_equal(ns->confs[1]->data, "size=50%,mode=700");
    assert_true(ns->confs[1]->tmpfs);
    pst__namespace__free_unpacked(ns, NULL);
}

static void test_nodes(void **state)
{
    Pst__Namespace *ns;

    (void)state;
    assert_null(parse(FILE_TEXT, "login2"));
    assert_null(parse(FILE_TEXT, "extra"));
    ns = parse(FILE_TEXT, "fat7");
    assert_string_equal(ns->base_path, "/fat/%n");
    assert_int_equal(ns->n_confs, 2); /* they win */
    assert_int_equal(ns->n_dirs, 0);
    pst__namespace__free_unpacked(ns, NULL);
    ns = parse("defaults: {base_path: /b}\n", "n1");
    assert_int_equal(ns->n_dirs, 2);
    assert_string_equal(ns->dirs[0], "/tmp");
    assert_string_equal(ns->dirs[1], "/dev/shm");
    pst__namespace__free_unpacked(ns, NULL);
    assert_null(parse(
        "defaults: {base_path: /b}\nnode_confs: [{nodes: [n1], options: {base_path: None}}]\n",
        "n1"));
    ns = parse(
        "defaults: {base_path: none}\nnode_confs: [{nodes: [n1], options: {base_path: /x}}]\n",
        "n1");
    assert_string_equal(ns->base_path, "/x");
    pst__namespace__free_unpacked(ns, NULL);
}

static void test_flags(void **state)
{
    Pst__Namespace *ns =
        parse("defaults: {base_path: /b, clone_ns_flags: [CLONE_NEWNS, CLONE_NEWPID], "
              "user_ns_script: /m}\n"
              "node_confs: [{nodes: u1, options: {clone_ns_flags: [CLONE_NEWUSER]}}]\n",
              "n1");

    (void)state;
    assert_int_equal(ns->clone_flags, CLONE_NEWPID);
    assert_string_equal(ns->user_ns_script, "/m");
    pst__namespace__free_unpacked(ns, NULL);
    ns = parse("defaults: {base_path: /b, clone_ns_flags: [CLONE_NEWNS, CLONE_NEWPID]}\n"
               "node_confs: [{nodes: u1, options: {clone_ns_flags: [CLONE_NEWUSER]}}]\n",
               "u1");
    assert_int_equal(ns->clone_flags, CLONE_NEWUSER); /* a node's replace the others */
    pst__namespace__free_unpacked(ns, NULL);
    ns = parse("defaults: {base_path: /b, clone_ns_flags: [CLONE_NEWNS]}\n", "n1");
    assert_int_equal(ns->clone_flags, 0);
    pst__namespace__free_unpacked(ns, NULL);
}

static const struct {
    const char *text, *says;
} bad[] = {
    { "", "the file is empty" },
    { "defaults: [\n", "line 2: " },
    { "- a\n", "line 1: a mapping (key: value) is expected here" },
    { "defaults:\n  base_pth: /x\n", "line 2: unknown key \"base_pth\"" },
    { "defaults: {base_path: x}\n", "line 1: an absolute path is expected here" },
    { "defaults:\n  shared: true\n  shared: false\n", "line 3: the key shared stands twice" },
    { "defaults: {base_path: [x]}\n", "line 1: an absolute path is expected here" },
    { "defaults: {dirs: /tmp}\n", "there is no base_path for node n1" },
    { "defaults: {base_path: /tmp}\n", "base_path /tmp must not be one of the private folders" },
    { "defaults:\n  base_path: /x\n  dirs: tmp\n", "line 3: dirs wants absolute paths of folders" },
    { "defaults:\n  base_path: /x\n  shared: perhaps\n", "line 3: true or false is expected here" },
    { "defaults:\n  base_path: /x\n  clone_ns_script_wait: -1\n",
      "line 3: a number of seconds is expected here" },
    { "defaults: {base_path: /x, dir_confs: [{tmpfs: true}]}\n",
      "line 1: an entry of dir_confs needs a path" },
    { "defaults: {base_path: /x, dir_confs: {path: /y}}\n", "line 1: a list is expected here" },
    { "defaults: {base_path: /x, clone_ns_flags: [CLONE_NEWNET]}\n",
      "line 1: clone_ns_flags knows CLONE_NEWNS, CLONE_NEWPID and CLONE_NEWUSER" },
    { "defaults: {base_path: /x, user_ns_script: y}\n",
      "line 1: an absolute path is expected here" },
    { "node_confs: [{nodes: [\"a[1\"], options: {}}]\n", "line 1: " },
    { "node_confs: {}\n", "line 1: a list is expected here" },
};

static void test_bad(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        struct err err = { .text = "" };
        Pst__Namespace *ns = NULL;

        assert_int_equal(nsyaml_parse(bad[i].text, strlen(bad[i].text), "n1", &ns, &err), -EINVAL);
        assert_null(ns);
        if (strncmp(err.text, bad[i].says, strlen(bad[i].says)) != 0)
            fail_msg("%zu: %s", i, err.text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_nodes),
        cmocka_unit_test(test_flags),
        cmocka_unit_test(test_bad),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
