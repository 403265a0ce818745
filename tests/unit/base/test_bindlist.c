/* test_bindlist.c - lists of --cpu-bind and --mem-bind, and what a task gets of them */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "base/bind/bindlist.h"
#include "base/bitmap.h"
#include "base/cleanup.h"

static const struct {
    const char *text;
    bool masks;
    int r;
    const char *items; /* with blanks between */
} lists[] = {
    { "0", false, 0, "0" },           { "0,1,3", false, 0, "0 1 3" },
    { "0*2,7", false, 0, "0 0 7" },   { "0xF*3,0X1", true, 0, "F F F 1" },
    { "ff", true, 0, "ff" },          { "", false, -EINVAL, NULL },
    { ",", false, -EINVAL, NULL },    { "1,", false, -EINVAL, NULL },
    { "1,,2", false, -EINVAL, NULL }, { "0x1", false, -EINVAL, NULL }, /* numbers are decimal */
    { "0x", true, -EINVAL, NULL },    { "1*", false, -EINVAL, NULL },
    { "1*0", false, -EINVAL, NULL },  { "1*65537", false, -EINVAL, NULL },
    { "*3", false, -EINVAL, NULL },   { "1*65536,2", false, -E2BIG, NULL },
    { "-1", false, -EINVAL, NULL },   { "g", true, -EINVAL, NULL },
};

static void test_lists(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
        struct bindlist l = { 0 };
        char all[64] = "";

        assert_int_equal(bindlist_parse(lists[i].text, lists[i].masks, &l), lists[i].r);
        for (size_t k = 0; k < l.n; k++)
            (void)snprintf(all + strlen(all), sizeof(all) - strlen(all), "%s%s", k ? " " : "",
                           l.items[k]);
        assert_string_equal(all, lists[i].items ? lists[i].items : "");
        bindlist_done(&l);
    }
}

static const struct {
    const char *text;
    bool masks;
    size_t task;
    uint32_t each;
    int r;
    const char *bits;
} places[] = {
    { "0,2", false, 1, 1, 0, "2" },
    { "0,2", false, 2, 1, 0, "0" }, /* the list begins again */
    { "0,2", false, 1, 4, 0, "8-11" },
    { "3", false, 0, 4, 0, "12-15" },
    { "4", false, 0, 4, -ERANGE, "" },
    { "0x5", true, 0, 1, 0, "0,2" },
    { "0x12", true, 0, 2, 0, "2-3,8-9" },
    { "8000", true, 0, 1, 0, "15" },
    { "10000", true, 0, 1, -ERANGE, "" },
    { "99999999999999999999", false, 0, 1, -ERANGE, "" },
};

static void test_masks(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
        _cleanup_(bitmap_free) struct bitmap *mask = NULL;
        _cleanup_free_ char *text = NULL;
        struct bindlist l;

        assert_int_equal(bitmap_new(16, &mask), 0);
        assert_int_equal(bindlist_parse(places[i].text, places[i].masks, &l), 0);
        assert_int_equal(bindlist_mask(&l, places[i].task, places[i].each, mask), places[i].r);
        assert_int_equal(bitmap_format(mask, &text), 0);
        assert_string_equal(text, places[i].bits);
        bindlist_done(&l);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_lists),
                                        cmocka_unit_test(test_masks) };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("bindlist", tests, NULL, NULL);
}
