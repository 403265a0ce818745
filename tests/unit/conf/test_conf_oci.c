/* test_conf_oci.c - oci.conf: patterns of commands, and what is wrong in them */
#include "conf_util.h"

#include "base/cleanup.h"

#define RUN "RunTimeRun=\"run %n\"\n"

static struct conf *load_good(const char *text)
{
    struct conf *c = conf_of_two("", "oci.conf", text, "");

    assert_non_null(c);
    return c;
}

static void test_values(void **state)
{
    _cleanup_(conf_free) struct conf *c =
        load_good("RunTimeCreate=\"rt create %n\"\nRunTimeStart=\"rt start %n\"\n"
                  "RunTimeQuery=\"rt state %n 100%%\"\nContainerPath=/run/%u/%j.%s\n"
                  "EnvExclude=\"^(SLURM|X)_\"\nCreateEnvFile=newline\nDisableCleanup=true\n");
    struct conf_oci o;

    (void)state;
    assert_true(conf_oci(c, &o));
    assert_string_equal(o.create, "rt create %n");
    assert_string_equal(o.query, "rt state %n 100%%");
    assert_null(o.run);
    assert_string_equal(o.container_path, "/run/%u/%j.%s");
    assert_string_equal(o.env_exclude, "^(SLURM|X)_");
    assert_int_equal(o.env_file, 'n');
    assert_true(o.disable_cleanup && !o.ignore_config_json);
}

static void test_env_file(void **state)
{
    static const struct {
        const char *text;
        char end;
    } rows[] = { { RUN, 0 },
                 { RUN "CreateEnvFile=null\n", '0' },
                 { RUN "CreateEnvFile=true\n", '0' },
                 { RUN "CreateEnvFile=disabled\n", 0 } };
    struct conf_oci o;

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_(conf_free) struct conf *c = load_good(rows[i].text);

        assert_true(conf_oci(c, &o));
        assert_int_equal(o.env_file, rows[i].end);
    }
}

static void test_no_file(void **state)
{
    _cleanup_(conf_free) struct conf *c = conf_with_lines("");
    struct conf_oci o;

    (void)state;
    assert_false(conf_oci(c, &o));
}

static void test_wrong(void **state)
{
    static const char *const rows[][2] = {
        { RUN "ContainerPath=run\n",
          "oci.conf:2: error: ContainerPath=run is not an absolute path\n" },
        { "RunTimeRun=\"run %q\"\n",
          "oci.conf:1: error: RunTimeRun: %q stands for nothing; a per cent sign is %%\n" },
        { "RunTimeRun=\"run %\"\n",
          "oci.conf:1: error: RunTimeRun: % stands for nothing; a per cent sign is %%\n" },
        { RUN "EnvExclude=\"(\"\n",
          "oci.conf:2: error: EnvExclude=( is no regular expression: Unmatched ( or \\(\n" },
        { "RunTimeCreate=\"c\"\nRunTimeStart=\"s\"\n",
          "oci.conf: error: RunTimeQuery is missing: a runtime needs RunTimeRun, or RunTimeCreate, "
          "RunTimeStart and RunTimeQuery\n" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        assert_null(conf_of_two("", "oci.conf", rows[i][0], rows[i][1]));
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_values),
                                        cmocka_unit_test(test_env_file),
                                        cmocka_unit_test(test_no_file),
                                        cmocka_unit_test(test_wrong) };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
