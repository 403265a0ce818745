/* test_conf_namespace.c - job_container.conf: which lines are about a node, and what is wrong */
#include "conf_util.h"

#include <errno.h>

#include "base/cleanup.h"

#define ON "PrologFlags=Contain\nNamespaceType=namespace/tmpfs"
#define FILE_NAME "job_container.conf"

static struct conf *load_good(const char *text)
{
    struct conf *c = conf_of_two(ON, FILE_NAME, text, "");

    assert_non_null(c);
    return c;
}

/* Lines without NodeName are about all nodes; later ones win, key by key. */
static void test_lines(void **state)
{
    _cleanup_(conf_free) struct conf *c =
        load_good("AutoBasePath=true BasePath=/all Dirs=/tmp,/x\n"
                  "NodeName=n[1-2] BasePath=/few Shared=true\n"
                  "NodeName=n2 InitScript=/i CloneNSScript=/c CloneNSScript_Wait=7\n"
                  "NodeName=n4 BasePath=none\n");
    struct conf_namespace ns;

    (void)state;
    assert_int_equal(conf_namespace(c, "n3", &ns), 1);
    assert_string_equal(ns.base_path, "/all");
    assert_string_equal(ns.dirs, "/tmp,/x");
    assert_true(ns.auto_base_path && !ns.shared);
    assert_null(ns.init_script);
    assert_int_equal(ns.clone_script_wait_s, 10);
    assert_int_equal(conf_namespace(c, "n2", &ns), 1);
    assert_string_equal(ns.base_path, "/few");
    assert_string_equal(ns.dirs, "/tmp,/x");
    assert_true(ns.auto_base_path && ns.shared);
    assert_string_equal(ns.init_script, "/i");
    assert_string_equal(ns.clone_script, "/c");
    assert_int_equal(ns.clone_script_wait_s, 7);
    assert_int_equal(conf_namespace(c, "n4", &ns), 0); /* none there */
}

static void test_nowhere(void **state)
{
    _cleanup_(conf_free) struct conf *c = load_good("NodeName=n1 BasePath=/b\n");
    struct conf_namespace ns;

    (void)state;
    assert_int_equal(conf_namespace(c, "n1", &ns), 1);
    assert_int_equal(conf_namespace(c, "n2", &ns), -ENOENT); /* no line says where */
}

/* Without the plugin the file is not read; with namespace/linux another file counts. */
static void test_types(void **state)
{
    static const char wrong[] = "NoSuchKey=1\n";
    struct conf_namespace ns;
    struct conf *c = conf_of_two("", FILE_NAME, wrong, "");

    (void)state;
    assert_non_null(c);
    assert_int_equal(conf_namespace(c, "n1", &ns), 0);
    assert_false(conf_namespace_yaml(c));
    conf_free(c);
    c = conf_of_two("PrologFlags=X11\nNamespaceType=namespace/linux", FILE_NAME, wrong, "");
    assert_non_null(c);
    assert_true(conf_namespace_yaml(c));
    conf_free(c);
    c = conf_of_two("PrologFlags=Contain\nJobContainerType=job_container/tmpfs", FILE_NAME,
                    "BasePath=/b\n", "");
    assert_non_null(c);
    assert_int_equal(conf_namespace(c, "n1", &ns), 1); /* the name of older releases */
    conf_free(c);
}

static void test_wrong(void **state)
{
    static const char *const rows[][2] = {
        { "BasePath=here\n",
          "job_container.conf:1: error: BasePath=here is not an absolute path\n" },
        { "\nBasePath=/b Dirs=/tmp,x\n",
          "job_container.conf:2: error: Dirs=x is not the absolute path of a folder\n" },
        { "BasePath=/b Dirs=/\n",
          "job_container.conf:1: error: Dirs=/ is not the absolute path of a folder\n" },
        { "BasePath=/b Dirs=/tmp,/b\n",
          "job_container.conf:1: error: BasePath=/b must not be one of Dirs\n" },
        { "BasePaht=/b\n", "job_container.conf:1: error: unknown key BasePaht in "
                           "job_container.conf; did you mean BasePath?\n" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        assert_null(conf_of_two(ON, FILE_NAME, rows[i][0], rows[i][1]));
    assert_null(conf_of_two("NamespaceType=namespace/tmpfs", FILE_NAME, "BasePath=/b\n",
                            "slurm.conf: error: NamespaceType needs PrologFlags=Contain\n"));
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_lines),
                                        cmocka_unit_test(test_nowhere),
                                        cmocka_unit_test(test_types),
                                        cmocka_unit_test(test_wrong) };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
