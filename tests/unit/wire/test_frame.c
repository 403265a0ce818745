/* test_frame.c - frames, the tables of ops, errors and caps */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "api.pb-c.h"

#include "base/cleanup.h"
#include "wire/caps.h"
#include "wire/errors.h"
#include "wire/frame.h"

static void test_header_layout(void **state)
{
    static const uint8_t want[FRAME_HEADER_SIZE] = {
        'P', 'S', 'T', 'K', 3, 0, 10, 0, 4, 3, 2, 1, 8, 7, 6, 5, 12, 11, 10, 9, 16, 1, 0, 0,
    };
    struct frame f = {
        .version = 3,
        .op = OP_JOB_SUBMIT,
        .flags = 0x01020304,
        .id = 0x05060708,
        .deadline_ms = 0x090a0b0c,
        .len = 0x110,
    };
    uint8_t buf[FRAME_HEADER_SIZE];
    struct frame back;

    frame_encode_header(&f, buf);
    assert_memory_equal(buf, want, sizeof(want));
    f.flags = 0;
    frame_encode_header(&f, buf);
    assert_int_equal(frame_decode_header(buf, &back), 0);
    assert_int_equal(back.version, 3);
    assert_int_equal(back.op, OP_JOB_SUBMIT);
    assert_int_equal(back.id, 0x05060708);
    assert_int_equal(back.deadline_ms, 0x090a0b0c);
    assert_int_equal(back.len, 0x110);
}

static void test_header_refusals(void **state)
{
    static const struct {
        uint16_t version, op;
        uint32_t flags, len;
        int rc, rc_lenient;
    } cases[] = {
        { WIRE_VERSION, OP_PING, 0, 4096, 0, 0 },
        { WIRE_VERSION, OP_PING, 0, 4097, -EMSGSIZE, -EMSGSIZE },
        { WIRE_VERSION, OP_PING, FRAME_REPLY, FRAME_MAX_BODY, 0, 0 },
        { WIRE_VERSION, OP_PING, FRAME_REPLY, FRAME_MAX_BODY + 1, -EMSGSIZE, -EMSGSIZE },
        { WIRE_VERSION_MIN, OP_PING, 0, 0, 0, 0 },
        { WIRE_VERSION_MIN - 1, OP_PING, 0, 0, -EPROTO, 0 },
        { WIRE_VERSION + 1, OP_PING, 0, 0, -EPROTO, 0 },
        { WIRE_VERSION + 1, OP_HELLO, 0, 0, 0, 0 },
        { WIRE_VERSION + 9, OP_CHALLENGE, FRAME_ONEWAY, 0, 0, 0 },
        { WIRE_VERSION, 9999, 0, FRAME_UNKNOWN_OP_MAX, 0, 0 },
        { WIRE_VERSION, 9999, 0, FRAME_UNKNOWN_OP_MAX + 1, -EMSGSIZE, -EMSGSIZE },
        { WIRE_VERSION, OP_JOB_SUBMIT, 0, UINT32_MAX, -EMSGSIZE, -EMSGSIZE },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct frame f = { .version = cases[i].version,
                           .op = cases[i].op,
                           .flags = cases[i].flags,
                           .len = cases[i].len };
        struct frame back = { .id = 77 };
        uint8_t buf[FRAME_HEADER_SIZE];

        frame_encode_header(&f, buf);
        assert_int_equal(frame_decode_header(buf, &back), cases[i].rc);
        assert_true(cases[i].rc == 0 || back.id == 77);
        assert_int_equal(frame_read_header(buf, &back), cases[i].rc_lenient);
        buf[0] ^= 1;
        assert_int_equal(frame_decode_header(buf, &back), -EBADMSG);
    }
}

static void test_round_trip(void **state)
{
    Pst__PingReply reply = PST__PING_REPLY__INIT;
    _cleanup_free_ uint8_t *buf = NULL;
    ProtobufCMessage *msg;
    struct frame f;
    size_t len;

    reply.host = (char *)"head1";
    reply.has_lsn = true;
    reply.lsn = 42;
    assert_int_equal(frame_pack(OP_PING, FRAME_REPLY, 7, 0, &reply.base, &buf, &len), 0);
    assert_int_equal(frame_decode_header(buf, &f), 0);
    assert_int_equal(f.len, len - FRAME_HEADER_SIZE);
    f.body = buf + FRAME_HEADER_SIZE;
    assert_int_equal(frame_unpack(&f, frame_message(&f), &msg, NULL), 0);
    assert_ptr_equal(msg->descriptor, &pst__ping_reply__descriptor);
    assert_string_equal(((Pst__PingReply *)msg)->host, "head1");
    protobuf_c_message_free_unpacked(msg, NULL);
    frame_set_version(buf, 2);
    assert_int_equal(frame_decode_header(buf, &f), 0);
    assert_int_equal(f.version, 2);
}

static void test_error_reply(void **state)
{
    _cleanup_free_ uint8_t *buf = NULL;
    ProtobufCMessage *msg;
    struct frame f;
    size_t len;

    assert_int_equal(frame_pack_error(OP_JOB_SUBMIT, 5, ESLURM_INVALID_QOS, NULL, &buf, &len), 0);
    assert_int_equal(frame_decode_header(buf, &f), 0);
    assert_int_equal(f.flags, FRAME_REPLY | FRAME_ERROR);
    f.body = buf + FRAME_HEADER_SIZE;
    assert_int_equal(frame_unpack(&f, frame_message(&f), &msg, NULL), 0);
    assert_int_equal(((Pst__Error *)msg)->code, ESLURM_INVALID_QOS);
    assert_null(((Pst__Error *)msg)->text);
    protobuf_c_message_free_unpacked(msg, NULL);
}

/* What the caller expects decides, never the sender's flags: a Hello with REPLY was unpacked as
 * HelloReply and used as Hello, a StepMpi with REPLY and ERROR as Error. */
static void test_expected_message(void **state)
{
    static const struct {
        unsigned op;
        uint32_t flags;
        const ProtobufCMessageDescriptor *expected;
        int rc;
    } cases[] = {
        { OP_HELLO, 0, &pst__hello__descriptor, 0 },
        { OP_HELLO, FRAME_REPLY, &pst__hello__descriptor, -EPROTO },
        { OP_HELLO, FRAME_REPLY | FRAME_ERROR, &pst__hello__descriptor, -EPROTO },
        { OP_HELLO, FRAME_REPLY | FRAME_ERROR, &pst__error__descriptor, 0 },
        { OP_STEP_MPI, FRAME_ONEWAY, &pst__step_mpi__descriptor, 0 },
        { OP_STEP_MPI, FRAME_REPLY, &pst__step_mpi__descriptor, -EPROTO },
        { OP_STEP_MPI, FRAME_REPLY | FRAME_ERROR, &pst__step_mpi__descriptor, -EPROTO },
        { OP_STEP_IO, 0, &pst__step_mpi__descriptor, -EPROTO },
        { OP_PING, FRAME_REPLY, &pst__step_reply__descriptor, -EPROTO },
        { 9999, 0, &pst__hello__descriptor, -ENOENT },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct frame f = { .version = WIRE_VERSION,
                           .op = (uint16_t)cases[i].op,
                           .flags = cases[i].flags,
                           .body = (const uint8_t *)"" };
        ProtobufCMessage *msg = NULL;

        assert_int_equal(frame_unpack(&f, cases[i].expected, &msg, NULL), cases[i].rc);
        assert_int_equal(msg != NULL, cases[i].rc == 0);
        if (msg) {
            assert_ptr_equal(msg->descriptor, cases[i].expected);
            protobuf_c_message_free_unpacked(msg, NULL);
        }
    }
}

static void test_flags(void **state)
{
    static const uint32_t good[] = { 0, FRAME_ONEWAY, FRAME_REPLY, FRAME_REPLY | FRAME_MORE,
                                     FRAME_REPLY | FRAME_ERROR };
    uint8_t buf[FRAME_HEADER_SIZE];
    struct frame f = { .version = WIRE_VERSION, .op = 9999 }; /* of no row in access.def */

    for (uint32_t flags = 0; flags < 64; flags++) {
        bool ok = false;

        for (size_t i = 0; i < ARRAY_SIZE(good); i++)
            ok = ok || good[i] == flags;
        f.flags = flags;
        frame_encode_header(&f, buf);
        assert_int_equal(frame_read_header(buf, &(struct frame){ 0 }), ok ? 0 : -EBADMSG);
    }
}

static void test_unpack_refusals(void **state)
{
    static const uint8_t bad[] = { 0x0a, 0x7f, 'x' };
    struct frame f = {
        .version = WIRE_VERSION, .op = OP_JOB_SUBMIT, .len = sizeof(bad), .body = bad
    };
    Pst__SubmitRequest request = PST__SUBMIT_REQUEST__INIT;
    Pst__JobRecord job = PST__JOB_RECORD__INIT;
    struct err err = { .text = "" };
    ProtobufCMessage *msg = NULL;
    char name[1200];
    uint8_t *buf;
    size_t len;

    assert_int_equal(frame_unpack(&f, frame_message(&f), &msg, &err), -EBADMSG);
    assert_string_not_equal(err.text, "");
    f.op = 9999;
    assert_int_equal(frame_unpack(&f, frame_message(&f), &msg, &err), -ENOENT);
    memset(name, 'n', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    job.name = name;
    request.job = &job;
    assert_int_equal(frame_pack(OP_JOB_SUBMIT, 0, 1, 0, &request.base, &buf, &len), 0);
    assert_int_equal(frame_decode_header(buf, &f), 0);
    f.body = buf + FRAME_HEADER_SIZE;
    assert_int_equal(frame_unpack(&f, frame_message(&f), &msg, &err), -EMSGSIZE);
    assert_non_null(strstr(err.text, "name"));
    assert_null(msg);
    free(buf);
}

static void test_pack_over_cap(void **state)
{
    Pst__DebugRequest request = PST__DEBUG_REQUEST__INIT;
    _cleanup_free_ char *text = calloc(1, 5000);
    uint8_t *buf;
    size_t len;

    memset(text, 'x', 4999);
    request.level = text;
    assert_int_equal(frame_pack(OP_DEBUG, 0, 1, 0, &request.base, &buf, &len), -EMSGSIZE);
}

static void test_ops(void **state)
{
    const char *seen[OP_MAX_];
    size_t n = 0;

    assert_null(wire_op_info(0));
    assert_null(wire_op_info(OP_MAX_));
    assert_null(wire_op_info(70000));
    for (unsigned op = 0; op < OP_MAX_; op++) {
        const struct wire_op_info *info = wire_op_info(op);

        if (!info)
            continue;
        assert_non_null(info->request);
        assert_non_null(info->reply);
        assert_true(info->max_request > 0 && info->max_request <= FRAME_MAX_BODY);
        for (size_t i = 0; i < n; i++)
            assert_string_not_equal(seen[i], info->name);
        seen[n++] = info->name;
    }
#define X(...) +1u
    assert_int_equal(n, 0u WIRE_OPS(X)); /* every row has a number and a name of its own */
#undef X
    assert_string_equal(wire_op_info(OP_JOB_SUBMIT)->name, "job-submit");
}

static void test_errors(void **state)
{
    static const struct {
        int code;
        const char *symbol, *text;
    } known[] = {
        { 0, "SLURM_SUCCESS", "No error" },
        { 2000, "ESLURM_INVALID_PARTITION_NAME", "Invalid partition name specified" },
        { 2002, "ESLURM_ACCESS_DENIED", "Access/permission denied" },
        { 2017, "ESLURM_INVALID_JOB_ID", "Invalid job id specified" },
        { 2063, "ESLURM_MISSING_WORK_DIR",
          "Job cannot be submitted without the current working directory specified." },
        { 2108, "ESLURM_NOT_WHOLE_HET_JOB",
          "Operation not permitted on individual component of heterogeneous job" },
        { EPST_UNREACHABLE, "EPST_UNREACHABLE",
          "Unable to contact slurm controller (connect failure)" },
        { EPST_TIMEOUT, "EPST_TIMEOUT", "Socket timed out on send/recv operation" },
    };
    int code, last = -2;

    for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
        assert_string_equal(slurm_err_symbol(known[i].code), known[i].symbol);
        assert_string_equal(slurm_err_text(known[i].code), known[i].text);
    }
    assert_string_equal(slurm_err_text(123456), "Unknown error 123456");
    assert_null(slurm_err_symbol(123456));
    for (size_t i = 0; slurm_err_row(i, &code); i++) { /* the look-up bisects */
        assert_true(code > last);
        assert_string_not_equal(slurm_err_text(code), "");
        last = code;
    }
}

/* ---- caps: every message that a request or reply can hold has a row of its own --------------- */

static bool has_row(const char *message, const char *field)
{
    for (size_t i = 0; i < wire_caps.n; i++) {
        const struct pb_cap *row = &wire_caps.rows[i];

        if (strcmp(row->message, message) == 0 &&
            (field ? row->field && strcmp(row->field, field) == 0 : !row->field))
            return true;
    }
    return false;
}

static const ProtobufCMessageDescriptor *visited[256];
static size_t n_visited;

static void visit(const ProtobufCMessageDescriptor *desc)
{
    for (size_t i = 0; i < n_visited; i++)
        if (visited[i] == desc)
            return;
    assert_true(n_visited < ARRAY_SIZE(visited));
    visited[n_visited++] = desc;
    if (!has_row(desc->name, NULL))
        fail_msg("caps.c has no default row for %s", desc->name);
    for (unsigned i = 0; i < desc->n_fields; i++) {
        const ProtobufCFieldDescriptor *f = &desc->fields[i];

        if (f->label == PROTOBUF_C_LABEL_REPEATED && !has_row(desc->name, f->name))
            fail_msg("caps.c has no row that bounds the list %s.%s", desc->name, f->name);
        if (f->type == PROTOBUF_C_TYPE_MESSAGE)
            visit(f->descriptor);
    }
}

static void test_caps_cover_schema(void **state)
{
    for (unsigned op = 0; op < OP_MAX_; op++) {
        const struct wire_op_info *info = wire_op_info(op);

        if (info) {
            visit(info->request);
            visit(info->reply);
        }
    }
    visit(&pst__error__descriptor);
}

static void test_caps_name_schema(void **state)
{
    visit(&pst__acct_job__descriptor);
    visit(&pst__step_credential__descriptor);
    visit(&pst__node_record__descriptor);
    visit(&pst__partition_record__descriptor);
    for (size_t i = 0; i < wire_caps.n; i++) {
        const struct pb_cap *row = &wire_caps.rows[i];
        bool found = false;

        for (size_t k = 0; k < n_visited && !found; k++)
            found = strcmp(visited[k]->name, row->message) == 0 &&
                    (!row->field ||
                     protobuf_c_message_descriptor_get_field_by_name(visited[k], row->field));
        if (!found)
            fail_msg("caps.c names %s.%s, which the schema lacks", row->message,
                     row->field ? row->field : "");
    }
}

/* The check finds a message's rows by halving. */
static void test_caps_sorted(void **state)
{
    for (size_t i = 1; i < wire_caps.n; i++) {
        const struct pb_cap *row = &wire_caps.rows[i];
        int order = strcmp(row[-1].message, row->message);

        if (order > 0)
            fail_msg("caps.c has %s behind %s", row->message, row[-1].message);
        if (order == 0 && !row->field)
            fail_msg("caps.c has the default of %s behind a field", row->message);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_header_layout),
        cmocka_unit_test(test_header_refusals),
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_error_reply),
        cmocka_unit_test(test_expected_message),
        cmocka_unit_test(test_flags),
        cmocka_unit_test(test_unpack_refusals),
        cmocka_unit_test(test_pack_over_cap),
        cmocka_unit_test(test_ops),
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_caps_cover_schema),
        cmocka_unit_test(test_caps_name_schema),
        cmocka_unit_test(test_caps_sorted),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
