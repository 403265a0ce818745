/* test_pbwire.c - encoded messages as a stranger sends them, byte by byte */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "api.pb-c.h"
#include "base/cleanup.h"
#include "base/pb/pbutil.h"

#define BYTES(text) (const uint8_t *)(text), sizeof(text) - 1

/* Of a copy that ends where the bytes do, so that a sanitizer sees what reads on. */
static int check_bytes(const ProtobufCMessageDescriptor *desc, const uint8_t *data, size_t len,
                       const struct pb_caps *caps, struct err *err)
{
    _cleanup_free_ uint8_t *copy = malloc(len + !len);

    assert_non_null(copy);
    memcpy(copy, data, len);
    return pb_check_caps(desc, copy, len, caps, err);
}

static long project_bytes(const uint8_t *data, size_t len, uint32_t number, uint8_t *out)
{
    _cleanup_free_ uint8_t *copy = malloc(len + !len);
    struct pb_fieldset set = { .bits = { 0 } };

    assert_non_null(copy);
    memcpy(copy, data, len);
    pb_fieldset_add(&set, number);
    return pb_project(copy, len, &set, out);
}

static const struct pb_caps loose = { .default_bytes = 1000, .default_count = 1000 };

/* ConfBundle: files = 1 (ConfFile: name = 1, kind = 2, data = 3), digest = 2, since_us = 3 */
static void test_well_formed(void **state)
{
    const ProtobufCMessageDescriptor *bundle = &pst__conf_bundle__descriptor;

    (void)state;
    assert_int_equal(check_bytes(bundle, BYTES(""), &loose, NULL), 0);
    assert_int_equal(check_bytes(bundle, BYTES("\x18\x00"), &loose, NULL), 0);
    assert_int_equal(
        check_bytes(bundle, BYTES("\x0a\x05\x0a\x01n\x10\x03\x12\x01x\x18\x7f"), &loose, NULL), 0);
    /* ten bytes, the most that a number takes; the length of a field in more bytes than needed */
    assert_int_equal(
        check_bytes(bundle, BYTES("\x18\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), &loose, NULL),
        0);
    assert_int_equal(check_bytes(bundle, BYTES("\x12\x81\x80\x00x"), &loose, NULL), 0);
}

static void test_malformed(void **state)
{
    static const struct {
        const char *bytes;
        size_t len;
        const char *what;
    } rows[] = {
#define ROW(bytes, what) { bytes, sizeof(bytes) - 1, what }
        ROW("\x18", "a number that is missing"),
        ROW("\x18\x80", "a number that is cut"),
        ROW("\x80", "a tag that is cut"),
        ROW("\x18\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "a number of eleven bytes"),
        ROW("\x12\x02x", "one byte less than there should be"),
        ROW("\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01x", "a length of 2^64 - 1"),
        ROW("\x12\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", "a length of 2^63"),
        ROW("\x02\x00", "field 0"),
        ROW("\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01\x00", "a field above 2^32"),
        ROW("\x13", "a group"),
        ROW("\x1e", "a kind of value that there is not"),
        ROW("\x39\x01\x02\x03\x04\x05\x06\x07", "seven bytes of eight"),
        ROW("\x3d\x01\x02\x03", "three bytes of four"),
        ROW("\x10\x01", "bytes as a number"),
        ROW("\x1a\x01\x01", "a number as bytes"),
        ROW("\x0a\x02\x0a\x01", "a message within that ends too early"),
        ROW("\x0a\x02\x10", "a message within that is longer than the one around it"),
        ROW("\x18\x01\x18\x02", "a field twice"),
#undef ROW
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct err err = { .text = "" };

        if (check_bytes(&pst__conf_bundle__descriptor, (const uint8_t *)rows[i].bytes, rows[i].len,
                        &loose, &err) != -EBADMSG)
            fail_msg("taken: %s", rows[i].what);
        assert_non_null(strstr(err.text, "pst."));
    }
}

static void test_limits(void **state)
{
    static const struct pb_cap rows[] = {
        { "pst.ConfBundle", "digest", 4, 0 },
        { "pst.ConfBundle", "files", 6, 2 },
        { "pst.ConfFile", NULL, 3, 0 },
    };
    const struct pb_caps caps = { rows, ARRAY_SIZE(rows), 8, 2 };
    const ProtobufCMessageDescriptor *bundle = &pst__conf_bundle__descriptor;
    struct err err = { .text = "" };

    (void)state;
    assert_int_equal(check_bytes(bundle,
                                 BYTES("\x12\x04"
                                       "abcd"),
                                 &caps, &err),
                     0);
    assert_int_equal(check_bytes(bundle,
                                 BYTES("\x12\x05"
                                       "abcde"),
                                 &caps, &err),
                     -EMSGSIZE);
    assert_string_equal(err.text, "digest is longer than 4 bytes");
    assert_int_equal(check_bytes(bundle, BYTES("\x0a\x00\x0a\x00"), &caps, &err), 0);
    assert_int_equal(check_bytes(bundle, BYTES("\x0a\x00\x0a\x00\x0a\x00"), &caps, &err),
                     -EMSGSIZE);
    assert_string_equal(err.text, "files has more than 2 elements");
    /* the file is short enough, its name is not */
    assert_int_equal(check_bytes(bundle, BYTES("\x0a\x06\x0a\x04name"), &caps, &err), -EMSGSIZE);
    assert_string_equal(err.text, "name is longer than 3 bytes");
    assert_int_equal(check_bytes(bundle, BYTES("\x0a\x05\x0a\x03nam"), &caps, &err), 0);
    assert_int_equal(check_bytes(bundle, BYTES("\x0a\x07\x0a\x03nam\x10\x01"), &caps, &err),
                     -EMSGSIZE);
    /* fields of a newer release: each as long as any other, as many as in a list */
    assert_int_equal(check_bytes(bundle,
                                 BYTES("\x7a\x08"
                                       "12345678\x7a\x00"),
                                 &caps, &err),
                     0);
    assert_int_equal(check_bytes(bundle,
                                 BYTES("\x7a\x09"
                                       "123456789"),
                                 &caps, &err),
                     -EMSGSIZE);
    assert_string_equal(err.text, "pst.ConfBundle: field 15 is longer than 8 bytes");
    assert_int_equal(check_bytes(bundle, BYTES("\x78\x01\x78\x01\x78\x01"), &caps, &err),
                     -EMSGSIZE);
    assert_string_equal(err.text, "pst.ConfBundle: more than 2 unknown fields");
}

/* A list of numbers in one piece counts as many as are in there. */
static void test_packed(void **state)
{
    const ProtobufCMessageDescriptor *desc = &pst__step_started__descriptor;
    const ProtobufCFieldDescriptor *f =
        protobuf_c_message_descriptor_get_field_by_name(desc, "pids");
    const struct pb_caps caps = { .default_bytes = 1000, .default_count = 3 };
    uint8_t bytes[] = { 0, 3, 1, 2, 3 }, more[] = { 0, 4, 1, 2, 3, 4 }, cut[] = { 0, 2, 1, 0x80 };

    (void)state;
    assert_true(f && f->id < 16 && f->label == PROTOBUF_C_LABEL_REPEATED);
    bytes[0] = more[0] = cut[0] = (uint8_t)(f->id << 3 | 2);
    assert_int_equal(check_bytes(desc, bytes, sizeof(bytes), &caps, NULL), 0);
    assert_int_equal(check_bytes(desc, more, sizeof(more), &caps, NULL), -EMSGSIZE);
    assert_int_equal(check_bytes(desc, cut, sizeof(cut), &caps, NULL), -EBADMSG);
}

static void test_projection(void **state)
{
    static const char text[] = "\x12\x01x\x18\x07\x0a\x00\x18\x08\x1d\x01\x02\x03\x04\x0a\x01y";
    uint8_t out[sizeof(text)];

    (void)state;
    assert_int_equal(project_bytes(BYTES(text), 3, out), 9);
    assert_memory_equal(out, "\x18\x07\x18\x08\x1d\x01\x02\x03\x04", 9);
    assert_int_equal(project_bytes(BYTES(text), 1, out), 5);
    assert_memory_equal(out, "\x0a\x00\x0a\x01y", 5);
    assert_int_equal(project_bytes(BYTES(text), 9, out), 0);
    assert_int_equal(project_bytes(BYTES(text), PB_FIELDSET_NUMBERS, out), 0); /* never in a set */
    assert_int_equal(project_bytes(BYTES(""), 3, out), 0);
    assert_int_equal(project_bytes(BYTES("\x18\x07\x12\x09x"), 3, out), -EBADMSG);
    assert_int_equal(project_bytes(BYTES("\x18\x07\x80"), 3, out), -EBADMSG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_well_formed), cmocka_unit_test(test_malformed),
        cmocka_unit_test(test_limits),      cmocka_unit_test(test_packed),
        cmocka_unit_test(test_projection),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
