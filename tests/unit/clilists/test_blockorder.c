/* test_blockorder.c - the order of an array's records */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "cli/scontrol/blockorder.h"

static void put_block(struct block_order *o, struct strbuf *text, uint32_t job_id)
{
    strbuf_addf(text, "%u;", job_id);
    assert_int_equal(block_order_add(o, job_id, text->len), 0);
}

static void test_order(void **state)
{
    struct block_order o = { 0 };
    struct strbuf text = STRBUF_INIT;

    (void)state;
    assert_int_equal(block_order_apply(&o, 29, &text), 0); /* nothing */
    assert_int_equal(text.len, 0);
    for (uint32_t id = 29; id < 32; id++)
        put_block(&o, &text, id);
    assert_int_equal(block_order_apply(&o, 29, &text), 0);
    assert_string_equal(strbuf_str(&text), "29;31;30;"); /* recording 62 */
    strbuf_reset(&text);
    for (uint32_t id = 1; id < 200; id++) /* the array's own record stands in between */
        put_block(&o, &text, id == 100 ? 7 : id == 7 ? 100 : id);
    assert_int_equal(block_order_apply(&o, 7, &text), 0);
    assert_memory_equal(strbuf_str(&text), "7;199;198;", 10);
    assert_memory_equal(text.buf + text.len - 6, "3;2;1;", 6);
    strbuf_done(&text);
    block_order_done(&o);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_order) };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
