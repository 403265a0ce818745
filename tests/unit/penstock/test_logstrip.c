/* test_logstrip.c - what a downgrade drops from a transaction, and what it says of that */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "penstock/logstrip.h"

/* Two events: a patch of job 7 with field 4001 of its record, and one of the kind 4002. */
static const uint8_t newer[] = { 0x12, 0x0a, 0x1a, 0x08, 0x08, 7,    0x12, 0x04, 0x88,
                                 0xfa, 0x01, 0x09, 0x12, 0x04, 0x92, 0xfa, 0x01, 0x00 };
static const uint8_t known[] = { 0x12, 0x02, 0x20, 7 }; /* job 7 is purged */

static Pst__Transaction *unpack(const uint8_t *data, size_t len)
{
    Pst__Transaction *tx = pst__transaction__unpack(NULL, len, data);

    assert_non_null(tx);
    return tx;
}

static void test_strip(void **state)
{
    struct losses losses = { .n = 0 };
    char text[512] = "";
    Pst__Transaction *tx;
    FILE *out;

    (void)state;
    for (uint64_t lsn = 11; lsn < 13; lsn++) {
        tx = unpack(newer, sizeof(newer));
        assert_int_equal(logstrip(tx, lsn, &losses), 2);
        assert_int_equal(tx->n_events, 1);
        assert_int_equal(tx->events[0]->job_patch->job_id, 7);
        assert_int_equal(logstrip(tx, lsn, &losses), 0);
        pst__transaction__free_unpacked(tx, NULL);
    }
    tx = unpack(known, sizeof(known));
    assert_int_equal(logstrip(tx, 13, NULL), 0);
    assert_int_equal(tx->n_events, 1);
    pst__transaction__free_unpacked(tx, NULL);
    out = fmemopen(text, sizeof(text), "w");
    assert_non_null(out);
    losses_print(out, &losses);
    assert_int_equal(fclose(out), 0);
    assert_string_equal(
        text, "unknown here, dropped: field 4001 of pst.JobRecord, 2 times, first in record 11\n"
              "unknown here, dropped: events of kind 4002, 2 times, first in record 11\n");
}

/* More kinds than are told one by one. */
static void test_many_kinds(void **state)
{
    struct losses *losses = calloc(1, sizeof(*losses));
    char text[64 << 10] = "";
    FILE *out;

    (void)state;
    assert_non_null(losses);
    for (unsigned i = 0; i < LOSSES_MAX + 5; i++) {
        uint8_t data[] = { 0x12, 0x04, 0, 0, 0x01, 0x00 };
        uint32_t tag = (3000 + i) << 3 | 2;
        Pst__Transaction *tx;

        data[2] = (uint8_t)(tag & 0x7f) | 0x80;
        data[3] = (uint8_t)(tag >> 7 & 0x7f) | 0x80;
        data[4] = (uint8_t)(tag >> 14);
        tx = unpack(data, sizeof(data));
        assert_int_equal(logstrip(tx, 1, losses), 1);
        assert_int_equal(tx->n_events, 0);
        pst__transaction__free_unpacked(tx, NULL);
    }
    out = fmemopen(text, sizeof(text), "w");
    assert_non_null(out);
    losses_print(out, losses);
    assert_int_equal(fclose(out), 0);
    assert_non_null(strstr(text, "unknown here, dropped: 5 more\n"));
    free(losses);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_strip),
        cmocka_unit_test(test_many_kinds),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
