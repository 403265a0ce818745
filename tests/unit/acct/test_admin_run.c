/* test_admin_run.c - one request under way: which names are names, the first failure is the one
 * that is told, and who may what */
#include "admin_util.h"

#include "acct/admin/admin_impl.h"

static Pst__AcctOpResult *res;

static struct admin_run begin_run(void)
{
    static const struct admin_who who = { .user = "ann" };

    res = (Pst__AcctOpResult *)from_json(&pst__acct_op_result__descriptor, "{}");
    return (struct admin_run){ .who = &who, .res = res };
}

static void end_run(void)
{
    pst__acct_op_result__free_unpacked(res, NULL);
}

static void expect_name(const char *name, const char *say)
{
    struct admin_run run = begin_run();

    assert_int_equal(run_good_name(&run, name), say == NULL);
    assert_int_equal(run_ok(&run), say == NULL);
    if (say) {
        assert_int_equal(res->code, ESLURM_BAD_NAME);
        assert_string_equal(res->text, say);
    }
    end_run();
}

static void test_names(void **state)
{
    char name[SQL_KEY_MAX + 2];

    (void)state;
    expect_name("physics", NULL);
    expect_name("a b/c=d*", NULL);
    expect_name("caf\xc3\xa9", NULL);
    expect_name("", "a name has 1 to 190 bytes, this one 0");
    memset(name, 'n', sizeof(name));
    name[SQL_KEY_MAX] = '\0';
    expect_name(name, NULL);
    name[SQL_KEY_MAX] = 'n';
    name[SQL_KEY_MAX + 1] = '\0';
    expect_name(name, "a name has 1 to 190 bytes, this one 191");
    expect_name("a\nb", "a name has no control character, this one at byte 2");
    expect_name("\x1b[2J", "a name has no control character, this one at byte 1");
    expect_name("a\x7f", "a name has no control character, this one at byte 2");
    expect_name("\xc2\x9b"
                "2J",
                "a name has no control character, this one at byte 1");
    for (const char *bad = ":,'\"|"; *bad; bad++) {
        char text[] = "a?b", say[80];

        text[1] = *bad;
        (void)snprintf(say, sizeof(say), "\"%s\" can't be a name: one of : , ' \" | is in it",
                       text);
        expect_name(text, say);
    }
}

static void test_first_failure(void **state)
{
    struct admin_run run = begin_run();

    (void)state;
    assert_true(run_ok(&run));
    run_fail(&run, ESLURM_BAD_NAME, "%s", "cause");
    run_fail(&run, ESLURM_ACCESS_DENIED, "consequence");
    run_deny(&run);
    assert_int_equal(res->code, ESLURM_BAD_NAME);
    assert_string_equal(res->text, "cause");
    end_run();
    run = begin_run();
    run_deny(&run); /* the code says it */
    assert_int_equal(res->code, ESLURM_ACCESS_DENIED);
    assert_null(res->text);
    assert_false(run_ok(&run));
    end_run();
    run = begin_run();
    run_fail_memory(&run);
    assert_int_equal(run.r, -ENOMEM);
    assert_false(run_ok(&run));
    run.r = -EIO;
    run_fail_memory(&run); /* the store failed before */
    assert_int_equal(run.r, -EIO);
    end_run();
}

static void test_lists(void **state)
{
    struct admin_run run = begin_run();

    (void)state;
    run_name(&run, "");
    for (unsigned i = 0; i < 100; i++)
        run_line(&run, "line %u", i);
    assert_int_equal(res->n_names, 1);
    assert_string_equal(res->names[0], "");
    assert_int_equal(res->n_lines, 100);
    assert_string_equal(res->lines[99], "line 99");
    assert_true(run_ok(&run)); /* to tell something is no failure */
    end_run();
}

static void test_levels(void **state)
{
    static const struct {
        Pst__AdminLevel level;
        bool is_operator, is_admin;
    } rows[] = {
        { PST__ADMIN_LEVEL__ADMIN_NONE, false, false },
        { PST__ADMIN_LEVEL__ADMIN_OPERATOR, true, false },
        { PST__ADMIN_LEVEL__ADMIN_ADMINISTRATOR, true, true },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct admin_run run = { .level = rows[i].level };

        assert_int_equal(run_is_operator(&run), rows[i].is_operator);
        assert_int_equal(run_is_admin(&run), rows[i].is_admin);
    }
}

/* DisableCoordDBD: what he coordinates is not even looked up. */
static void test_no_coordinators(void **state)
{
    static const struct admin_who who = { .user = "ann", .rules = ADMIN_NO_COORDINATORS };
    struct admin_run run = { .who = &who };

    (void)state;
    assert_false(run_may_account(&run, "c", "physics"));
    assert_false(run_is_any_coordinator(&run));
    run.level = PST__ADMIN_LEVEL__ADMIN_OPERATOR;
    assert_true(run_may_account(&run, "c", "physics"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),           cmocka_unit_test(test_first_failure),
        cmocka_unit_test(test_lists),           cmocka_unit_test(test_levels),
        cmocka_unit_test(test_no_coordinators),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
