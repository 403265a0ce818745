/* test_plugoptions.c - options of plugins: names that are refused, how many there may be, and the
 * variables in which they travel */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "spank/stack_impl.h"

static char said[2048];
static int calls, called_with, refuse_with;
static char last_arg[64];

static void say(void *ctx, enum log_level level, const char *text)
{
    (void)ctx;
    (void)snprintf(said, sizeof(said), "%d %s", (int)level, text);
}

static bool option_free(void *ctx, const char *name)
{
    (void)ctx;
    return strcmp(name, "mem") != 0;
}

static int take_option(int val, const char *arg, int remote)
{
    calls++;
    called_with = val + 100 * remote;
    (void)snprintf(last_arg, sizeof(last_arg), "%s", arg ? arg : "(none)");
    return refuse_with;
}

static struct spank_host host = { .context = S_CTX_LOCAL, .log = say, .option_free = option_free };
static const struct plugin plugin = { .name = "my.plug-in" }, other = { .name = "other" };

static int add_option(struct spank_stack *st, const char *name, int has_arg)
{
    struct spank_option o = { (char *)name, NULL, NULL, has_arg, 7, take_option };

    said[0] = '\0';
    return options_add(st, &plugin, &o);
}

static int begin_test(void **state)
{
    static struct spank_stack st;

    st = (struct spank_stack){ .host = &host };
    host.context = S_CTX_LOCAL;
    calls = refuse_with = 0;
    *state = &st;
    return 0;
}

static int end_test(void **state)
{
    options_done(*state);
    return 0;
}

static void test_names(void **state)
{
    static const char *const bad[] = { NULL, "", "-x", "_x", ".x", "a b", "a=b", "a/b", "a\n" };
    struct spank_stack *st = *state;
    char name[78];

    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        assert_int_equal(add_option(st, bad[i], 0), -EINVAL);
        assert_memory_equal(said, "2 plugin my.plug-in: option \"", 29);
    }
    memset(name, 'n', sizeof(name));
    name[76] = '\0';
    assert_int_equal(add_option(st, name, 0), -EINVAL);
    name[75] = '\0';
    assert_int_equal(add_option(st, name, 0), 0);
    assert_int_equal(add_option(st, "0.a-b_C", 0), 0);
    assert_int_equal(add_option(st, "arg", -1), -EINVAL);
    assert_int_equal(add_option(st, "arg", 3), -EINVAL);
    assert_int_equal(spank_option_count(st), 2);
    assert_int_equal(spank_option_count(NULL), 0);
    assert_string_equal(spank_option_at(st, 1)->usage, ""); /* none was given */
    assert_null(spank_option_at(st, 1)->arginfo);
}

static void test_taken_names(void **state)
{
    struct spank_stack *st = *state;
    const struct spank_option same = { (char *)"x", NULL, NULL, 0, 1, NULL };

    assert_int_equal(add_option(st, "mem", 1), -EEXIST); /* the command's own */
    assert_string_equal(said, "2 plugin my.plug-in: there is an option --mem already");
    assert_int_equal(add_option(st, "x", 1), 0);
    assert_int_equal(options_add(st, &other, &same), -EEXIST); /* the first plugin has it */
    assert_non_null(options_find(st, &plugin, "x"));
    assert_null(options_find(st, &other, "x"));
    assert_null(options_find(st, &plugin, "X"));
}

static void test_how_many(void **state)
{
    struct spank_stack *st = *state;
    char name[16];

    for (int i = 0; i < 1024; i++) {
        (void)snprintf(name, sizeof(name), "o%d", i);
        assert_int_equal(add_option(st, name, 0), 0);
    }
    assert_int_equal(add_option(st, "more", 0), -EINVAL);
    assert_int_equal(spank_option_count(st), 1024);
}

static void test_given(void **state)
{
    struct spank_stack *st = *state;
    struct err err = { .text = "" };

    assert_int_equal(add_option(st, "x", 2), 0);
    assert_int_equal(spank_option_given(st, 0, "one", &err), 0);
    assert_string_equal(last_arg, "one");
    assert_int_equal(called_with, 7);
    refuse_with = 5; /* whatever number it is */
    assert_int_equal(spank_option_given(st, 0, "two", &err), -EINVAL);
    assert_string_equal(err.text, "Invalid --x argument: two");
    assert_int_equal(spank_option_given(st, 0, NULL, &err), -EINVAL);
    assert_string_equal(err.text, "--x was refused by plugin my.plug-in");
    spank_options_forget(st);
    assert_false(st->options[0].given);
    assert_null(st->options[0].arg);
}

struct told {
    char text[256];
};

static void tell_variable(void *ctx, const char *name, const char *value)
{
    struct told *t = ctx;
    size_t len = strlen(t->text);

    (void)snprintf(t->text + len, sizeof(t->text) - len, "%s='%s' ", name, value);
}

static const char *variables[3][2];

static const char *find_variable(void *ctx, const char *name)
{
    (void)ctx;
    for (size_t i = 0; i < ARRAY_SIZE(variables); i++)
        if (variables[i][0] && strcmp(variables[i][0], name) == 0)
            return variables[i][1];
    return NULL;
}

/* A name has marks that a variable may not have; what travels comes back as it was given. */
static void test_variables(void **state)
{
    struct spank_stack *st = *state;
    struct told told = { "" };
    struct err err = { .text = "" };

    assert_int_equal(add_option(st, "no-arg", 0), 0);
    assert_int_equal(add_option(st, "arg", 1), 0);
    assert_int_equal(add_option(st, "may.be", 2), 0);
    assert_int_equal(spank_option_given(st, 0, NULL, &err), 0);
    assert_int_equal(spank_option_given(st, 1, "", &err), 0);
    spank_option_variables(st, tell_variable, &told);
    assert_string_equal(told.text, "_SLURM_SPANK_OPTION_my_plug_in_no_arg='' "
                                   "_SLURM_SPANK_OPTION_my_plug_in_arg='' ");

    spank_options_forget(st);
    host.context = S_CTX_REMOTE;
    calls = 0;
    variables[0][0] = "_SLURM_SPANK_OPTION_my_plug_in_no_arg";
    variables[0][1] = "junk"; /* it takes none */
    variables[1][0] = "_SLURM_SPANK_OPTION_my_plug_in_arg";
    variables[1][1] = "";
    assert_int_equal(spank_options_from(st, find_variable, NULL, &err), 0);
    assert_int_equal(calls, 2);
    assert_string_equal(last_arg, ""); /* an empty one is one */
    assert_int_equal(called_with, 107);
    assert_null(st->options[0].arg);
    variables[2][0] = "_SLURM_SPANK_OPTION_my_plug_in_may_be";
    variables[2][1] = "";
    assert_int_equal(spank_options_from(st, find_variable, NULL, &err), 0);
    assert_string_equal(last_arg, "(none)");
    refuse_with = 1;
    assert_int_equal(spank_options_from(st, find_variable, NULL, &err), -EINVAL);
    assert_string_equal(err.text, "--no-arg was refused by plugin my.plug-in");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_names, begin_test, end_test),
        cmocka_unit_test_setup_teardown(test_taken_names, begin_test, end_test),
        cmocka_unit_test_setup_teardown(test_how_many, begin_test, end_test),
        cmocka_unit_test_setup_teardown(test_given, begin_test, end_test),
        cmocka_unit_test_setup_teardown(test_variables, begin_test, end_test),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
