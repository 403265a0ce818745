/* test_h5head.c - whose samples they are: written and read back; heads that are cut or made up */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "h5/h5head.h"

#define FIRST "penstock profile 1\n"

static void test_round(void **state)
{
    struct h5head h = { { 7, "batch", "n1" }, 1000, 1001, "" }, back;
    struct strbuf text = STRBUF_INIT;
    size_t used;

    (void)state;
    h5head_user(&h, "alice");
    h5head_write(&h, &text);
    strbuf_add(&text, "RSS,job=7\n");
    assert_string_equal(strbuf_str(&text), FIRST "7 batch 1000 1001\nn1\nalice\nRSS,job=7\n");
    assert_int_equal(h5head_read(strbuf_str(&text), text.len, &back, &used), 0);
    assert_string_equal(strbuf_str(&text) + used, "RSS,job=7\n");
    assert_int_equal(back.uid, 1000);
    assert_int_equal(back.gid, 1001);
    assert_string_equal(back.user, "alice");
    assert_string_equal(back.name.step, "batch");
    for (size_t cut = 0; cut < used; cut++)
        assert_int_equal(h5head_read(strbuf_str(&text), cut, &back, &used), -EINVAL);
    strbuf_done(&text);
}

/* A user whose name is no folder's has one all the same. */
static void test_odd_user(void **state)
{
    struct h5head h = { .uid = 1000 };

    (void)state;
    h5head_user(&h, "../root");
    assert_string_equal(h.user, "1000");
    h5head_user(&h, NULL);
    assert_string_equal(h.user, "1000");
}

static void test_wrong(void **state)
{
    static const char *const rows[] = {
        "",
        "\n\n\n\n",
        "penstock profile 2\n7 0 1 1\nn\nu\n",
        FIRST "7 0 1\nn\nu\n",
        FIRST "7 0 1 1 1\nn\nu\n",
        FIRST "7 ../x 1 1\nn\nu\n",
        FIRST "7 0 1 1\n../n\nu\n",
        FIRST "7 0 1 1\nn\n..\n",
        FIRST "7 0 1 1\nn\na/b\n",
        FIRST "7 0 1 1\nn\n\n",
    };
    struct h5head h;
    size_t used;

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        if (h5head_read(rows[i], strlen(rows[i]), &h, &used) != -EINVAL)
            fail_msg("row %zu was taken", i);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round),
        cmocka_unit_test(test_odd_user),
        cmocka_unit_test(test_wrong),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
