/* test_pbunknown.c - fields of a newer schema are found, told and dropped at every depth */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "base/pb/pbunknown.h"
#include "event.pb-c.h"

struct told {
    char text[256];
};

static void tell_unknown(void *ctx, const char *message, uint32_t field)
{
    struct told *t = ctx;
    size_t n = strlen(t->text);

    (void)snprintf(t->text + n, sizeof(t->text) - n, "%s %u, ", message, field);
}

/* Fields of a newer peer, in messages within messages, repeated ones and those of a oneof. */
static void test_drop_unknown(void **state)
{
    /* Transaction: time_us 5, field 4000; events: job_patch { job_id 7, set { field 4001 } }; {
     * field 4002 } */
    static const uint8_t bytes[] = { 0x08, 5,    0x82, 0xfa, 0x01, 1,    'a',  0x12, 0x0a,
                                     0x1a, 0x08, 0x08, 7,    0x12, 0x04, 0x88, 0xfa, 0x01,
                                     0x09, 0x12, 0x04, 0x92, 0xfa, 0x01, 0x00 };
    Pst__Transaction *tx = pst__transaction__unpack(NULL, sizeof(bytes), bytes);
    struct told told = { .text = "" };

    assert_non_null(tx);
    assert_int_equal(tx->n_events, 2);
    assert_int_equal(pb_drop_unknown(&tx->base, tell_unknown, &told), 3);
    assert_string_equal(told.text, "pst.Transaction 4000, pst.JobRecord 4001, pst.Event 4002, ");
    assert_int_equal(pb_drop_unknown(&tx->base, NULL, NULL), 0);
    assert_int_equal(tx->events[0]->job_patch->job_id, 7);
    assert_int_equal(pst__transaction__get_packed_size(tx), 12);
    pst__transaction__free_unpacked(tx, NULL);
    (void)state;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_drop_unknown),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
