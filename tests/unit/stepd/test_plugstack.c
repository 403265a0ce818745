/* test_plugstack.c - plugstack.conf: lines, quotes, included files, limits and mistakes with their
 * place */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "spank/plugstack.h"

static char dir[] = "/tmp/test_plugstack.XXXXXX";

static void put(const char *name, const char *text)
{
    char path[256];
    FILE *f;

    (void)snprintf(path, sizeof(path), "%s/%s", dir, name);
    f = fopen(path, "w");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

static int read_conf(const char *text, struct plugstack *p, struct err *err)
{
    char path[256];

    put("plugstack.conf", text);
    (void)snprintf(path, sizeof(path), "%s/plugstack.conf", dir);
    *err = (struct err){ .text = "" };
    return plugstack_read(path, p, err);
}

static int make_dir(void **state)
{
    char sub[256];

    (void)state;
    if (!mkdtemp(dir))
        return -1;
    (void)snprintf(sub, sizeof(sub), "%s/d", dir);
    return mkdir(sub, 0700);
}

static int remove_dir(void **state)
{
    static const char *const names[] = { "d/1.conf",       "d/2.conf",  "d",
                                         "plugstack.conf", "loop.conf", "" };
    char path[256];

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        (void)snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
        (void)remove(path); /* a test that failed may not have made it */
    }
    return access(dir, F_OK) < 0 ? 0 : -1;
}

static void test_lines(void **state)
{
    struct plugstack p;
    struct err err;

    (void)state;
    assert_int_equal(
        read_conf(
            "# nothing\n\n  required a.so\t'one two' \"th\\\"ree\" # rest\noptional /b/c.so x=\\#",
            &p, &err),
        0);
    assert_int_equal(p.n, 2);
    assert_true(p.list[0].required);
    assert_string_equal(p.list[0].path, "a.so");
    assert_int_equal(p.list[0].argc, 2);
    assert_string_equal(p.list[0].argv[0], "one two");
    assert_string_equal(p.list[0].argv[1], "th\"ree");
    assert_null(p.list[0].argv[2]);
    assert_false(p.list[1].required);
    assert_string_equal(p.list[1].path, "/b/c.so");
    assert_string_equal(p.list[1].argv[0], "x=#");
    plugstack_done(&p);
}

static void test_includes(void **state)
{
    struct plugstack p;
    struct err err;

    (void)state;
    put("d/1.conf", "optional one.so\n");
    put("d/2.conf", "optional two.so\ninclude 1.conf\n");
    assert_int_equal(
        read_conf("optional first.so\ninclude d/*.conf\ninclude none/*\noptional last.so\n", &p,
                  &err),
        0);
    assert_int_equal(p.n, 5);
    assert_string_equal(p.list[1].path, "one.so");
    assert_string_equal(p.list[2].path, "two.so");
    assert_string_equal(p.list[3].path, "one.so");
    assert_string_equal(p.list[4].path, "last.so");
    plugstack_done(&p);
    put("d/2.conf", "optional two.so\noptional\n");
    assert_int_equal(read_conf("include d/*.conf\n", &p, &err), -EINVAL);
    assert_non_null(strstr(err.text, "/d/2.conf line 2: optional wants the file of a plugin"));
    assert_null(strstr(err.text, "plugstack.conf"));
    plugstack_done(&p);
    put("loop.conf", "include loop.conf\n");
    assert_int_equal(read_conf("include loop.conf\n", &p, &err), -ELOOP);
    assert_non_null(strstr(err.text, "too many files include each other"));
    plugstack_done(&p);
}

static void test_mistakes(void **state)
{
    static const struct {
        const char *text, *said;
        int r;
    } rows[] = {
        { "required", "line 1: required wants the file of a plugin", -EINVAL },
        { "\nRequired x.so\n",
          "line 2: a line begins with required, optional or include, not \"Required\"", -EINVAL },
        { "required \"\"\n", "required wants the file of a plugin", -EINVAL },
        { "include\n", "include wants one pattern", -EINVAL },
        { "include a b\n", "include wants one pattern", -EINVAL },
        { "optional 'x.so\n", "a quote is not closed", -EINVAL },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct plugstack p;
        struct err err;

        assert_int_equal(read_conf(rows[i].text, &p, &err), rows[i].r);
        assert_non_null(strstr(err.text, rows[i].said));
        assert_int_equal(p.n, 0);
        plugstack_done(&p);
    }
}

static void test_limits(void **state)
{
    static char text[PLUGSTACK_FILE_MAX + 64];
    struct plugstack p;
    struct err err;
    size_t at = 0;

    (void)state;
    for (unsigned i = 0; i <= PLUGSTACK_PLUGINS_MAX; i++)
        at += (size_t)snprintf(text + at, sizeof(text) - at, "optional p%u.so\n", i);
    assert_int_equal(read_conf(text, &p, &err), -E2BIG);
    assert_int_equal(p.n, PLUGSTACK_PLUGINS_MAX);
    plugstack_done(&p);
    at = (size_t)snprintf(text, sizeof(text), "optional x.so");
    for (unsigned i = 0; i < PLUGSTACK_WORDS_MAX; i++)
        at += (size_t)snprintf(text + at, sizeof(text) - at, " w");
    assert_int_equal(read_conf(text, &p, &err), -E2BIG);
    plugstack_done(&p);
    memset(text, 'x', sizeof(text) - 1);
    assert_int_equal(read_conf(text, &p, &err), -EFBIG);
    plugstack_done(&p);
    text[PLUGSTACK_LINE_MAX + 1] = '\0';
    assert_int_equal(read_conf(text, &p, &err), -E2BIG);
    plugstack_done(&p);
}

static void test_path(void **state)
{
    static const struct {
        const char *configured, *conf, *path;
    } rows[] = {
        { NULL, "/etc/slurm/slurm.conf", "/etc/slurm/plugstack.conf" },
        { "", "/etc/slurm/slurm.conf", "/etc/slurm/plugstack.conf" },
        { "other", "/etc/slurm/slurm.conf", "/etc/slurm/other" },
        { "/x/y", "/etc/slurm/slurm.conf", "/x/y" },
    };
    struct plugstack p;

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_free_ char *path = plugstack_path(rows[i].configured, rows[i].conf);

        assert_string_equal(path, rows[i].path);
    }
    assert_int_equal(plugstack_read("/nowhere/plugstack.conf", &p, NULL), 0);
    assert_int_equal(p.n, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines),    cmocka_unit_test(test_includes),
        cmocka_unit_test(test_mistakes), cmocka_unit_test(test_limits),
        cmocka_unit_test(test_path),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
