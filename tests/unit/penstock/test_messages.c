/* test_messages.c - what `penstock` says on stderr, and the exit status that goes with it */
#include "output_util.h"
#include "penstock/penstock.h"

static struct output said;

#define HINT "Try \"penstock --help\" for more information\n"

static void test_kinds(void **state)
{
    int error, usage, option, memory;

    (void)state;
    output_begin(&said, NULL);
    say("%s is up", "demo");
    error = say_error("no %s", "node");
    usage = usage_error("sim: %d is odd", 7);
    option = bad_option();
    memory = say_nomem();
    output_end(&said);
    assert_string_equal(said.out, "");
    assert_int_equal(
        strncmp(said.err,
                "penstock: demo is up\npenstock: error: no node\n"
                "penstock: error: sim: 7 is odd\n" HINT HINT "penstock: error: ",
                strlen("penstock: demo is up\npenstock: error: no node\n"
                       "penstock: error: sim: 7 is odd\n" HINT HINT "penstock: error: ")),
        0);
    assert_int_equal(error, STATUS_FAILED);
    assert_int_equal(usage, STATUS_USAGE);
    assert_int_equal(option, STATUS_USAGE);
    assert_int_equal(memory, STATUS_FAILED);
}

/* A text of any length is one line. */
static void test_long(void **state)
{
    static char text[5000];

    (void)state;
    memset(text, 'x', sizeof(text) - 1);
    output_begin(&said, NULL);
    say("%s", text);
    output_end(&said);
    assert_true(strlen(said.err) > 1000 && strlen(said.err) < 4000);
    assert_ptr_equal(strchr(said.err, '\n'), said.err + strlen(said.err) - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kinds),
        cmocka_unit_test(test_long),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
