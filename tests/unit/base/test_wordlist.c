/* test_wordlist.c - words in comma lists; must be told apart from their beginnings and ends */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/wordlist.h"

static const struct {
    const char *list, *word;
    bool has, nocase;
} cases[] = {
    { NULL, "a", false, false },         { "", "a", false, false },
    { "a", "", false, false },           { ",,", "", false, false },
    { "a", NULL, false, false },         { "gpu", "gpu", true, true },
    { "gpu", "GPU", false, true },       { "gpus,cpu", "gpu", false, false },
    { "xgpu,cpu", "gpu", false, false }, { "cpu,gpu", "gpu", true, true },
    { "cpu,,gpu,", "gpu", true, true },  { "gpu=1", "gpu", false, false },
};

static void test_words(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        assert_int_equal(wordlist_has(cases[i].list, cases[i].word), cases[i].has);
        assert_int_equal(wordlist_has_nocase(cases[i].list, cases[i].word), cases[i].nocase);
    }
}

static void test_lengths(void **state)
{
    (void)state;
    assert_true(wordlist_has_n("a,bc", "bcd", 2));
    assert_false(wordlist_has_n("a,bc", "bcd", 3));
    assert_false(wordlist_has_n("a,bc", "bcd", 0));
    assert_true(wordlist_has_between("a|b:c", "|:", "b", 1));
    assert_false(wordlist_has_between("a|b,c", "|", "b", 1));
}

static void test_sorted(void **state)
{
    _cleanup_free_ char *text = wordlist_sorted("gres/nic,gres/gpu:a,gres/gpu,gres/nic"),
                        *none = wordlist_sorted(NULL);

    (void)state;
    assert_string_equal(text, "gres/gpu,gres/gpu:a,gres/nic");
    assert_string_equal(none, "");
}

static void test_option(void **state)
{
    static const char list[] = "cafe=1,CA=x=y,alone,empty=,ca=2";
    static const struct {
        const char *name, *value;
    } options[] = { { "ca", "x=y" }, { "Cafe", "1" }, { "alone", "" }, { "empty", "" },
                    { "caf", NULL }, { "x", NULL },   { "2", NULL },   { "alon", NULL } };
    size_t len = 0;

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(options); i++) {
        const char *value = wordlist_option(list, options[i].name, &len);

        assert_int_equal(!value, !options[i].value);
        if (value) {
            assert_int_equal(len, strlen(options[i].value));
            assert_memory_equal(value, options[i].value, len);
        }
    }
    assert_null(wordlist_option(NULL, "ca", &len));
    assert_null(wordlist_option("", "ca", &len));
}

static void test_profile(void **state)
{
    static const char *const pairs[][2] = {
        { "task,energy", "Energy,Task" },
        { "none", "None" },
        { "ALL", "All" },
        { "filesystem,network,task,energy,none,all", "None,All,Energy,Filesystem,Network,Task" },
        { "other,tasks", "" },
        { "", "" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(pairs); i++) {
        _cleanup_free_ char *text = wordlist_profile(pairs[i][0]);

        assert_string_equal(text, pairs[i][1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_words), cmocka_unit_test(test_sorted),
                                        cmocka_unit_test(test_profile),
                                        cmocka_unit_test(test_option),
                                        cmocka_unit_test(test_lengths) };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
