/* test_sacctmgr_value.c - pieces of values: cut names, lists, numbers, and what is said of bad ones
 */
#include "cli/sacctmgr/sacctmgr_keys.h"

#include <errno.h>

#include "smgr_util.h"

static void test_cut_names(void **state)
{
    (void)state;
    assert_true(smgr_is("where", "where", 5));
    assert_true(smgr_is("WHE", "where", 3));
    assert_false(smgr_is("wh", "where", 3)); /* too few letters */
    assert_false(smgr_is("wherever", "where", 3));
    assert_false(smgr_is("whole", "where", 1));
    assert_false(smgr_is("", "where", 1));
}

static void free_words(char **list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        free(list[i]);
    free(list);
}

static void test_lists(void **state)
{
    char **list = NULL;
    size_t n = 0;

    (void)state;
    smgr_add_words(&list, &n, "Ann,bob, Carl ,,ann,bob,", false);
    assert_int_equal(n, 4); /* once each */
    assert_string_equal(list[0], "Ann");
    assert_string_equal(list[1], "bob");
    assert_string_equal(list[2], "Carl");
    assert_string_equal(list[3], "ann");
    smgr_add_words(&list, &n, "ANN,Dora", true);
    assert_int_equal(n, 5);
    assert_string_equal(list[4], "dora");
    smgr_add_words(&list, &n, ",,", true);
    smgr_add_words(&list, &n, "", true);
    assert_int_equal(n, 5);
    smgr_add_string(&list, &n, "with,comma", 6);
    assert_string_equal(list[5], "with,c");
    free_words(list, n);
}

/* Each answers true and the number, or false and a sentence. */
static bool take_number(enum smgr_entity entity, const char *text, uint32_t *ret, struct output *o)
{
    struct smgr_line l = { .s = &smgr, .entity = entity, .mode = SMGR_MODIFY };
    bool good;

    l.word = "maxjobs=?";
    smgr.status = 0;
    output_begin(o, NULL);
    good = smgr_number(&l, "MaxJobs", text, ret);
    output_end(o);
    assert_int_equal(good, !o->err[0]);
    assert_int_equal(l.failed, !good && entity != SMGR_QOS);
    assert_int_equal(l.ignored, !good && entity == SMGR_QOS);
    return good;
}

static void test_numbers(void **state)
{
    static struct output o;
    uint32_t n = 7;

    (void)state;
    assert_true(take_number(SMGR_USER, "500", &n, &o));
    assert_int_equal(n, 500);
    assert_true(take_number(SMGR_USER, "-1", &n, &o));
    assert_int_equal(n, CLEAR);
    assert_true(take_number(SMGR_USER, "-5", &n, &o));
    assert_int_equal(n, CLEAR);
    assert_true(take_number(SMGR_USER, "", &n, &o));
    assert_int_equal(n, 0);
    n = 7;
    assert_false(take_number(SMGR_USER, "abc", &n, &o));
    expect_err(&o, "sacctmgr: error: Invalid value for MaxJobs (abc)\n"
                   " Unknown option: maxjobs=?\n"
                   " Use keyword 'where' to modify condition\n");
    assert_int_equal(smgr.status, 1);
    assert_false(take_number(SMGR_USER, "12x", &n, &o));
    assert_false(take_number(SMGR_USER, "99999999999999999999", &n, &o));
    assert_int_equal(n, 7);
    /* of a QOS it is left out and the rest goes on */
    assert_false(take_number(SMGR_QOS, "abc", &n, &o));
    expect_err(&o, "sacctmgr: error: Invalid value for MaxJobs (abc)\n");
}

static void test_reals(void **state)
{
    struct smgr_line l = { .s = &smgr, .entity = SMGR_QOS };
    static struct output o;
    static const char *const bad[] = { "", "abc", "1x", "-2", "inf", "nan" };
    double d = 3;

    (void)state;
    assert_true(smgr_real(&l, "UsageFactor", "0.5", &d));
    assert_true(d == 0.5);
    assert_true(smgr_real(&l, "UsageFactor", "-1", &d));
    assert_true(d == -1);
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        char *want = NULL;

        l.ignored = false;
        output_begin(&o, NULL);
        assert_false(smgr_real(&l, "UsageFactor", bad[i], &d));
        output_end(&o);
        assert_true(l.ignored);
        assert_true(asprintf(&want,
                             "sacctmgr: error: UsageFactor value (%s) is not a valid number\n",
                             bad[i]) > 0);
        expect_said(&o, "", want);
        free(want);
    }
    assert_true(d == -1);
}

/* Lines about options of QOS and jobs go where their answers go, as recorded. */
static void test_where_it_is_said(void **state)
{
    struct smgr_line l = { .s = &smgr, .word = "bogus=1", .mode = SMGR_MODIFY };
    static const char both[] = " Unknown option: bogus=1\n"
                               " Use keyword 'where' to modify condition\n";
    static struct output o;

    (void)state;
    l.entity = SMGR_ACCOUNT;
    output_begin(&o, NULL);
    smgr_unknown_option(&l);
    output_end(&o);
    expect_said(&o, "", both);
    assert_true(l.failed);
    l.entity = SMGR_QOS;
    output_begin(&o, NULL);
    smgr_unknown_option(&l);
    output_end(&o);
    expect_said(&o, both, "");
    l.entity = SMGR_USER; /* being added: there is no condition to hint at */
    l.mode = SMGR_ADD;
    output_begin(&o, NULL);
    smgr_unknown_option(&l);
    output_end(&o);
    expect_said(&o, "", " Unknown option: bogus=1\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cut_names),        cmocka_unit_test(test_lists),
        cmocka_unit_test(test_numbers),          cmocka_unit_test(test_reals),
        cmocka_unit_test(test_where_it_is_said),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, smgr_begin, smgr_end);
}
