/* test_hetopts.c - options of heterogeneous jobs: components, what is carried on, lists of
 * groups */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/job/hetopts.h"

static void free_all(struct hetopts *h)
{
    for (size_t k = 0; k < h->n; k++)
        jobopts_done(&h->list[k]);
    free(h->list);
}

static void test_components(void **state)
{
    char *argv[] = {
        (char *)"salloc", (char *)"-n2", (char *)"--account=a", (char *)":",  (char *)"-n4",
        (char *)"--mem",  (char *)"5M",  (char *)"prog",        (char *)"-x", NULL
    };
    struct hetopts h;

    (void)state;
    hetopts_init(&h, JOBOPTS_SALLOC);
    assert_int_equal(hetopts_parse(&h, 9, argv), 7);
    assert_int_equal(h.n, 2);
    hetopts_carry(&h);
    assert_string_equal(jobopts_get(&h.list[1], JO_ACCOUNT), "a"); /* of the whole job */
    assert_string_equal(jobopts_get(&h.list[1], JO_NTASKS), "4");
    assert_string_equal(jobopts_get(&h.list[1], JO_MEM), "5M");
    assert_string_equal(jobopts_get(&h.list[0], JO_NTASKS), "2");
    assert_false(jobopts_has(&h.list[0], JO_MEM)); /* carried on, not back */
    free_all(&h);
}

static void test_dup(void **state)
{
    char *argv[] = { (char *)"srun", (char *)"-n2", (char *)"x", NULL };
    struct hetopts h;
    struct jobopts copy;

    (void)state;
    hetopts_init(&h, JOBOPTS_SRUN);
    assert_int_equal(hetopts_parse(&h, 3, argv), 2);
    hetopts_dup(&h.list[0], &copy);
    free_all(&h);
    assert_string_equal(jobopts_get(&copy, JO_NTASKS), "2");
    jobopts_done(&copy);
}

static void add_number(void *ctx, uint32_t k)
{
    char *text = ctx;
    size_t n = strlen(text);

    (void)snprintf(text + n, 64 - n, "%u;", k);
}

static void test_groups(void **state)
{
    static const struct {
        const char *text;
        int rc;
        const char *seen;
    } cases[] = {
        { "0", 0, "0;" },    { "0,2-3", 0, "0;2;3;" }, { "3", 0, "3;" },       { "4", -EINVAL, "" },
        { "", -EINVAL, "" }, { "1-", -EINVAL, "" },    { "2-1", -EINVAL, "" }, { "x", -EINVAL, "" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char seen[64] = "";

        assert_int_equal(hetopts_group_each(cases[i].text, 4, add_number, seen), cases[i].rc);
        assert_string_equal(seen, cases[i].seen);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_components),
        cmocka_unit_test(test_dup),
        cmocka_unit_test(test_groups),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
