/* test_pbutil.c - copying, merging, projecting, capping and printing messages of the real schema */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api.pb-c.h"
#include "base/cleanup.h"
#include "base/pb/pbutil.h"
#include "event.pb-c.h"
#include "job.pb-c.h"

static void free_msg(void *p)
{
    ProtobufCMessage **msg = p;

    if (*msg)
        protobuf_c_message_free_unpacked(*msg, NULL);
}
#define _cleanup_msg_ __attribute__((cleanup(free_msg)))

static const char job_json[] =
    "{\"job_id\":17,\"uid\":1000,\"user_name\":\"ada\",\"name\":\"run "
    "\\\"1\\\"\\n\",\"state\":\"JOB_RUNNING\","
    "\"nice\":-5,\"submit_us\":1774602000123456,\"requeue\":false,\"argv\":[\"a.sh\",\"\","
    "\"gr\xc3\xbc\"],"
    "\"rlimits\":[{\"name\":\"NOFILE\",\"soft\":18446744073709551615},{\"name\":\"CORE\",\"soft\":"
    "0}],"
    "\"alloc\":{\"nodes\":\"n[1-2]\",\"node_ids\":[1,2],\"groups\":[{\"nodes\":2,\"cpus\":4,"
    "\"gres\":[{\"name\":\"gpu\",\"count\":2,\"devices\":\"0-1\"}]}]},\"nodes_pending\":[7],"
    "\"cur_priority\":4294901760}";

static ProtobufCMessage *read_json(const char *text, const ProtobufCMessageDescriptor *desc)
{
    ProtobufCMessage *msg = NULL;
    struct err err = { .text = "" };

    if (pb_json_read(text, strlen(text), desc, &msg, &err) < 0)
        fail_msg("%s", err.text);
    return msg;
}

static Pst__JobRecord *sample_job(void)
{
    return (Pst__JobRecord *)read_json(job_json, &pst__job_record__descriptor);
}

static char *write_json(const ProtobufCMessage *msg, int indent)
{
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);

    assert_non_null(f);
    assert_int_equal(pb_json_write(f, msg, indent), 0);
    assert_int_equal(fclose(f), 0);
    return text;
}

static uint8_t *pack(const ProtobufCMessage *msg, size_t *ret_len)
{
    uint8_t *data;

    *ret_len = protobuf_c_message_get_packed_size(msg);
    data = malloc(*ret_len + 1);
    assert_non_null(data);
    assert_int_equal(protobuf_c_message_pack(msg, data), *ret_len);
    return data;
}

static void test_dup(void **state)
{
    _cleanup_msg_ Pst__JobRecord *job = sample_job();
    _cleanup_msg_ ProtobufCMessage *copy = NULL;
    _cleanup_free_ uint8_t *a = NULL, *b = NULL;
    size_t na, nb;

    (void)state;
    assert_int_equal(pb_dup(&job->base, &copy), 0);
    assert_true(pb_equal(&job->base, copy));
    a = pack(&job->base, &na);
    b = pack(copy, &nb);
    assert_int_equal(na, nb);
    assert_memory_equal(a, b, na);
    assert_ptr_not_equal(job->user_name, ((Pst__JobRecord *)copy)->user_name);
    ((Pst__JobRecord *)copy)->alloc->groups[0]->gres[0]->count++;
    assert_false(pb_equal(&job->base, copy));
}

static void test_merge(void **state)
{
    _cleanup_msg_ Pst__JobRecord *job = sample_job();
    Pst__JobRecord set = PST__JOB_RECORD__INIT;
    uint32_t pending[] = { 3, 4, 5 };

    (void)state;
    set.user_name = (char *)(uintptr_t) "grace";
    set.has_uid = true;
    set.uid = 0;
    set.nodes_pending = pending;
    set.n_nodes_pending = ARRAY_SIZE(pending);
    assert_int_equal(pb_merge(&job->base, &set.base), 0);
    assert_string_equal(job->user_name, "grace");
    assert_int_equal(job->uid, 0);
    assert_true(job->has_uid);
    assert_int_equal(job->n_nodes_pending, 3);
    assert_int_equal(job->nodes_pending[2], 5);
    assert_int_equal(job->job_id, 17); /* what src lacks stays */
    assert_int_equal(job->n_argv, 3);

    Pst__Alloc alloc = PST__ALLOC__INIT;
    set = (Pst__JobRecord)PST__JOB_RECORD__INIT;
    alloc.has_total_cpus = true;
    alloc.total_cpus = 8;
    set.alloc = &alloc;
    assert_int_equal(pb_merge(&job->base, &set.base), 0);
    assert_int_equal(job->alloc->total_cpus, 8);
    assert_null(job->alloc->nodes); /* embedded messages are replaced whole */
}

static void test_oneof(void **state)
{
    _cleanup_msg_ Pst__Event *event = (Pst__Event *)read_json(
        "{\"kind\":\"EV_JOB_SUBMIT\",\"job_put\":{\"name\":\"x\"}}", &pst__event__descriptor);
    _cleanup_msg_ ProtobufCMessage *copy = NULL;
    Pst__Event set = PST__EVENT__INIT;

    (void)state;
    assert_true(pb_has(&event->base, 2));
    assert_false(pb_has(&event->base, 12));
    assert_int_equal(pb_clear(&event->base, 12), 0); /* not the one present: nothing happens */
    assert_true(pb_has(&event->base, 2));
    assert_int_equal(pb_dup(&event->base, &copy), 0);
    assert_true(pb_equal(&event->base, copy));
    set.body_case = PST__EVENT__BODY_PART_REMOVE;
    set.part_remove = (char *)(uintptr_t) "debug";
    assert_int_equal(pb_merge(&event->base, &set.base), 0);
    assert_int_equal(event->body_case, PST__EVENT__BODY_PART_REMOVE);
    assert_string_equal(event->part_remove, "debug");
    set.body_case = PST__EVENT__BODY_JOB_PURGE;
    set.job_purge = 9;
    assert_int_equal(pb_merge(&event->base, &set.base), 0);
    assert_int_equal(event->job_purge, 9);
    assert_int_equal(pb_clear(&event->base, 4), 0);
    assert_int_equal(event->body_case, 0);
}

static void test_clear(void **state)
{
    _cleanup_msg_ Pst__JobRecord *job = sample_job();

    (void)state;
    assert_int_equal(pb_clear(&job->base, 7), 0);
    assert_null(job->user_name);
    assert_int_equal(pb_clear(&job->base, 7), 0);
    assert_int_equal(pb_clear(&job->base, 5), 0);
    assert_false(job->has_uid);
    assert_int_equal(pb_clear(&job->base, 153), 0);
    assert_int_equal(job->n_argv, 0);
    assert_null(job->argv);
    assert_int_equal(pb_clear(&job->base, 180), 0);
    assert_null(job->alloc);
    assert_int_equal(pb_clear(&job->base, 29), -ENOENT);
    assert_true(pb_has(&job->base, 900));
    pb_clear_range(&job->base, 900, 1023);
    assert_false(pb_has(&job->base, 900));
    assert_true(pb_has(&job->base, 184));
    assert_false(pb_has(&job->base, 29));
}

static void test_done(void **state)
{
    Pst__JobRecord job = PST__JOB_RECORD__INIT;
    _cleanup_msg_ Pst__JobRecord *from = sample_job();

    (void)state;
    assert_int_equal(pb_merge(&job.base, &from->base), 0);
    assert_true(pb_equal(&job.base, &from->base));
    pb_done(&job.base);
    assert_int_equal(protobuf_c_message_get_packed_size(&job.base), 0);
    assert_int_equal(pb_set_str(&job.name, "first"), 0);
    assert_int_equal(pb_set_str(&job.name, "second"), 0);
    assert_string_equal(job.name, "second");
    assert_int_equal(pb_set_str(&job.name, NULL), 0);
    assert_null(job.name);
    pb_done(&job.base);
}

/* Fields of a newer release survive copying and merging; clearing reaches them too. */
static void test_unknown_fields(void **state)
{
    /* 500: varint 1; 501: "ab"; 5: uid 7 */
    static const uint8_t newer[] = { 0xa0, 0x1f, 1, 0xaa, 0x1f, 2, 'a', 'b', 0x28, 7 };
    static const uint8_t newest[] = { 0xa0, 0x1f, 9 };
    _cleanup_msg_ Pst__JobRecord *a = pst__job_record__unpack(NULL, sizeof(newer), newer);
    _cleanup_msg_ Pst__JobRecord *b = pst__job_record__unpack(NULL, sizeof(newest), newest);
    _cleanup_msg_ ProtobufCMessage *copy = NULL;

    (void)state;
    assert_non_null(a);
    assert_non_null(b);
    assert_int_equal(a->base.n_unknown_fields, 2);
    assert_int_equal(pb_dup(&a->base, &copy), 0);
    assert_true(pb_equal(&a->base, copy));
    assert_int_equal(pb_merge(copy, &b->base), 0);
    assert_int_equal(copy->n_unknown_fields, 2);
    assert_false(pb_equal(&a->base, copy));
    assert_int_equal(pb_clear(copy, 501), 0);
    assert_int_equal(copy->n_unknown_fields, 1);
    assert_int_equal(copy->unknown_fields[0].data[0], 9);
    assert_int_equal(pb_clear(copy, 501), -ENOENT);
    pb_clear_range(copy, 400, UINT32_MAX);
    assert_int_equal(copy->n_unknown_fields, 0);
    assert_true(pb_has(copy, 5));
}

static void test_project(void **state)
{
    _cleanup_msg_ Pst__JobRecord *job = sample_job(), *part = NULL;
    _cleanup_free_ uint8_t *data = NULL, *out = NULL;
    struct pb_fieldset wanted = { { 0 } }, all = { { 0 } };
    size_t len;
    long n;

    (void)state;
    data = pack(&job->base, &len);
    out = malloc(len);
    assert_non_null(out);
    assert_int_equal(pb_project(data, len, &wanted, out), 0);
    pb_fieldset_add(&wanted, 1);
    pb_fieldset_add(&wanted, 9);
    pb_fieldset_add(&wanted, 180);
    pb_fieldset_add(&wanted, 900);
    pb_fieldset_add(&wanted, 5000); /* beyond the set: ignored */
    n = pb_project(data, len, &wanted, out);
    part = pst__job_record__unpack(NULL, (size_t)n, out);
    assert_non_null(part);
    assert_int_equal(part->job_id, 17);
    assert_string_equal(part->name, job->name);
    assert_string_equal(part->alloc->nodes, "n[1-2]");
    assert_int_equal(part->cur_priority, 4294901760u);
    assert_null(part->user_name);
    assert_false(part->has_uid);
    memset(&all, 0xff, sizeof(all));
    assert_int_equal(pb_project(data, len, &all, out), len);
    assert_memory_equal(data, out, len);
    for (size_t cut = 0; cut < len; cut++) { /* a cut message is whole fields or malformed */
        n = pb_project(data, cut, &all, out);
        assert_true(n == (long)cut || n == -EBADMSG);
    }
}

static const struct {
    const char *bytes;
    size_t len;
} malformed[] = {
    { "\x80", 1 },                                              /* open tag */
    { "\x00\x00", 2 },                                          /* field 0 */
    { "\x08", 1 },                                              /* no value */
    { "\x08\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", 12 }, /* varint of 11 bytes */
    { "\x3a\x05"
      "abc",
      5 },                                                  /* string longer than the message */
    { "\x3a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11 }, /* length of 2^64-1 */
    { "\x0b", 1 },                                          /* group */
    { "\x0f", 1 },                                          /* wire type 7 */
    { "\x0d\x01\x02", 3 },                                  /* short fixed32 */
    { "\xf8\xff\xff\xff\xff\x01\x00", 7 },                  /* tag over 32 bits */
};

static void test_malformed(void **state)
{
    static const struct pb_caps caps = { .default_bytes = 100, .default_count = 10 };
    struct pb_fieldset all;
    uint8_t out[64];

    (void)state;
    memset(&all, 0xff, sizeof(all));
    for (size_t i = 0; i < ARRAY_SIZE(malformed); i++) {
        const uint8_t *bytes = (const uint8_t *)malformed[i].bytes;
        struct err err = { .text = "" };

        assert_int_equal(pb_project(bytes, malformed[i].len, &all, out), -EBADMSG);
        assert_int_equal(
            pb_check_caps(&pst__job_record__descriptor, bytes, malformed[i].len, &caps, &err),
            -EBADMSG);
        assert_string_equal(err.text, "pst.JobRecord: malformed message");
    }
}

static const struct pb_cap cap_rows[] = {
    { "pst.GresAlloc", NULL, 4, 0 },
    { "pst.JobRecord", "name", 8, 0 },
    { "pst.JobRecord", "argv", 0, 3 },
    { "pst.JobRecord", "nodes_pending", 0, 4 },
};
static const struct pb_caps caps = {
    .rows = cap_rows,
    .n = ARRAY_SIZE(cap_rows),
    .default_bytes = 64,
    .default_count = 2,
};

static const struct {
    const char *json;
    int rc;
    const char *message;
} capped[] = {
    { "{}", 0, "" },
    { "{\"name\":\"12345678\"}", 0, "" },
    { "{\"name\":\"123456789\"}", -EMSGSIZE, "name is longer than 8 bytes" },
    { "{\"user_name\":\"123456789\"}", 0, "" },
    { "{\"comment\":\"1234567890123456789012345678901234567890123456789012345678901234\"}", 0, "" },
    { "{\"comment\":\"12345678901234567890123456789012345678901234567890123456789012345\"}",
      -EMSGSIZE, "comment is longer than 64 bytes" },
    { "{\"argv\":[\"1\",\"2\",\"3\"]}", 0, "" },
    { "{\"argv\":[\"1\",\"2\",\"3\",\"4\"]}", -EMSGSIZE, "argv has more than 3 elements" },
    { "{\"nodes_pending\":[1,2,3,400]}", 0, "" },
    { "{\"nodes_pending\":[1,2,3,400,5]}", -EMSGSIZE, "nodes_pending has more than 4 elements" },
    { "{\"rlimits\":[{},{},{}]}", -EMSGSIZE, "rlimits has more than 2 elements" },
    { "{\"alloc\":{\"groups\":[{\"gres\":[{\"name\":\"gpu\"},{\"name\":\"shard\"}]}]}}", -EMSGSIZE,
      "name is longer than 4 bytes" },
    { "{\"alloc\":{\"groups\":[{},{},{}]}}", -EMSGSIZE, "groups has more than 2 elements" },
};

static void test_caps(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(capped); i++) {
        _cleanup_msg_ ProtobufCMessage *job =
            read_json(capped[i].json, &pst__job_record__descriptor);
        _cleanup_free_ uint8_t *data = NULL;
        struct err err = { .text = "" };
        size_t len;

        data = pack(job, &len);
        assert_int_equal(pb_check_caps(job->descriptor, data, len, &caps, &err), capped[i].rc);
        assert_string_equal(err.text, capped[i].message);
    }
}

static const struct {
    const char *bytes;
    size_t len;
    int rc;
    const char *message;
} oddities[] = {
    { "\x08\x01\x08\x02", 4, -EBADMSG, "pst.JobRecord.job_id is given twice" },
    { "\x38\x01", 2, -EBADMSG, "pst.JobRecord: malformed message" },     /* string as a varint */
    { "\x0a\x01\x01", 3, -EBADMSG, "pst.JobRecord: malformed message" }, /* number as bytes */
    { "\xc2\x0b\x02\x01\x80", 5, -EBADMSG, "pst.JobRecord: malformed message" }, /* packed, cut */
    { "\xa0\x1f\x01\xa0\x1f\x01", 6, 0, "" }, /* two unknown fields */
    { "\xa0\x1f\x01\xa0\x1f\x01\xa0\x1f\x01", 9, -EMSGSIZE,
      "pst.JobRecord: more than 2 unknown fields" },
    { "\xc0\x0b\x01\xc0\x0b\x01\xc2\x0b\x02\x01\x02", 11, 0, "" }, /* packed and not, mixed */
    { "\xc0\x0b\x01\xc0\x0b\x01\xc2\x0b\x03\x01\x02\x03", 12, -EMSGSIZE,
      "nodes_pending has more than 4 elements" },
};

static void test_odd_encodings(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(oddities); i++) {
        struct err err = { .text = "" };

        assert_int_equal(pb_check_caps(&pst__job_record__descriptor,
                                       (const uint8_t *)oddities[i].bytes, oddities[i].len, &caps,
                                       &err),
                         oddities[i].rc);
        assert_string_equal(err.text, oddities[i].message);
    }
}

static void test_arena(void **state)
{
    _cleanup_(pb_arena_free) struct pb_arena *arena = NULL;
    _cleanup_msg_ Pst__JobRecord *job = sample_job();
    _cleanup_free_ uint8_t *data = NULL;
    ProtobufCAllocator *alloc;
    size_t len;

    (void)state;
    assert_int_equal(pb_arena_new(&arena), 0);
    alloc = pb_arena_allocator(arena);
    data = pack(&job->base, &len);
    for (int round = 0; round < 3; round++) {
        void *big = alloc->alloc(alloc->allocator_data, 300000);

        assert_non_null(big);
        memset(big, 0xff, 300000);
        for (int i = 0; i < 200; i++) {
            Pst__JobRecord *copy = pst__job_record__unpack(alloc, len, data);

            assert_non_null(copy);
            assert_true(pb_equal(&copy->base, &job->base));
        }
        assert_null(alloc->alloc(alloc->allocator_data, SIZE_MAX));
        pb_arena_reset(arena);
    }
    assert_null(pb_arena_free(NULL));
}

static void test_json_round_trip(void **state)
{
    _cleanup_msg_ Pst__JobRecord *job = sample_job();
    _cleanup_msg_ ProtobufCMessage *again = NULL, *pretty_again = NULL;
    _cleanup_free_ char *text = NULL, *pretty = NULL;

    (void)state;
    text = write_json(&job->base, -1);
    assert_string_equal(text, job_json);
    again = read_json(text, job->base.descriptor);
    assert_true(pb_equal(&job->base, again));
    pretty = write_json(&job->base, 2);
    pretty_again = read_json(pretty, job->base.descriptor);
    assert_true(pb_equal(&job->base, pretty_again));
}

static void test_json_form(void **state)
{
    static const uint8_t script[] = { 0xff, 0x00, 0x10, 0x20 };
    Pst__SubmitRequest request = PST__SUBMIT_REQUEST__INIT;
    Pst__JobRecord job = PST__JOB_RECORD__INIT;
    char *argv[] = { (char *)(uintptr_t) "\xff",
                     (char *)(uintptr_t) "\x01\x1f\t/\x7f\xc2\x9b\xc2\xa0",
                     (char *)(uintptr_t) "\xed\xa0\x80\xf0\x9f\x98\x80\xc0\x80\xe2\x82" };
    _cleanup_free_ char *text = NULL, *empty = NULL;

    (void)state;
    request.has_script = true;
    request.script = (ProtobufCBinaryData){ sizeof(script), (uint8_t *)(uintptr_t)script };
    request.has_hold = true;
    request.job = &job;
    job.argv = argv;
    job.n_argv = ARRAY_SIZE(argv);
    job.has_state = true;
    job.state = (Pst__JobState)99; /* of a newer release */
    text = write_json(&request.base, 1);
    assert_string_equal(text,
                        "{\n \"job\": {\n  \"state\": 99,\n  \"argv\": [\n   \"\xef\xbf\xbd\",\n"
                        "   \"\\u0001\\u001f\\t/\\u007f\\u009b\xc2\xa0\",\n"
                        "   \"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xf0\x9f\x98\x80"
                        "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"\n  ]\n },\n"
                        " \"script\": \"/wAQIA==\",\n \"hold\": false\n}");
    pst__job_record__init(&job);
    empty = write_json(&job.base, 4);
    assert_string_equal(empty, "{}");
}

static void test_json_write_error(void **state)
{
    _cleanup_msg_ Pst__JobRecord *job = sample_job();
    FILE *f = fopen("/dev/full", "w");

    (void)state;
    assert_non_null(f);
    assert_int_equal(setvbuf(f, NULL, _IONBF, 0), 0);
    assert_int_equal(pb_json_write(f, &job->base, -1), -EIO);
    assert_int_equal(fclose(f), 0);
}

static const struct {
    const char *text;
    const char *message; /* NULL = accepted */
} readings[] = {
    { "{\"job_id\":null}", NULL },
    { "{\"db_id\":18446744073709551615}", NULL },
    { "{\"db_id\":\"18446744073709551615\"}", NULL },
    { "{\"db_id\":9223372036854775808}", NULL },
    { "{\"submit_us\":\"-9223372036854775808\"}", NULL },
    { "{\"state\":3}", NULL },
    { "{\"argv\":[]}", NULL },
    { "{\"comment\":\"99999999999999999999 \\\"99999999999999999999\"}", NULL },
    { "{\"job_id\":4294967295}", NULL },
    { "{\"job_id\":4294967296}", "job_id: number out of range" },
    { "{\"job_id\":-1}", "job_id: number out of range" },
    { "{\"job_id\":1.0}", "job_id: integer expected" },
    { "{\"job_id\":\"1\"}", "job_id: integer expected" },
    { "{\"job_id\":99999999999999999999}", "job_id: integer expected" },
    { "{\"db_id\":18446744073709551616}", "db_id: number out of range" },
    { "{\"db_id\":\"x\"}", "db_id: integer expected" },
    { "{\"submit_us\":9223372036854775808}", "submit_us: number out of range" },
    { "{\"nice\":2147483648}", "nice: number out of range" },
    { "{\"name\":1}", "name: string expected" },
    { "{\"requeue\":1}", "requeue: true or false expected" },
    { "{\"state\":\"JOB_NAPPING\"}", "state: 'JOB_NAPPING' is no JobState" },
    { "{\"state\":true}", "state: name expected" },
    { "{\"argv\":\"x\"}", "argv: array expected" },
    { "{\"argv\":[\"x\",null]}", "argv[1]: string expected" },
    { "{\"alloc\":[]}", "alloc: object expected" },
    { "{\"alloc\":{\"groups\":[{},{\"cpus\":\"4\"}]}}", "alloc.groups[1].cpus: integer expected" },
    { "{\"alloc\":{\"groups\":[{\"gres\":[{\"kind\":1}]}]}}",
      "alloc.groups[0].gres[0].kind: unknown name" },
    { "{\"nope\":1}", "nope: unknown name" },
    { "[]", "document: object expected" },
};

static void test_json_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(readings); i++) {
        _cleanup_msg_ ProtobufCMessage *msg = NULL;
        struct err err = { .text = "" };
        int r = pb_json_read(readings[i].text, strlen(readings[i].text),
                             &pst__job_record__descriptor, &msg, &err);

        assert_string_equal(err.text, readings[i].message ? readings[i].message : "");
        assert_int_equal(r, readings[i].message ? -EINVAL : 0);
        assert_int_equal(msg != NULL, r == 0);
    }
}

static const char *const not_json[] = {
    "",
    "{",
    "{\"a\"",
    "{\"job_id\":1}x",
    "{\"job_id\":1,\"job_id\":2}",
    "{\"name\":\"\xff\"}",
    "{\"name\":\"\\u0000\"}",
    "{\"job_id\":01}",
    "{\"job_id\":99999999999999999999",
    "nul",
};

static void test_not_json(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(not_json); i++) {
        ProtobufCMessage *msg = NULL;
        struct err err = { .text = "" };

        assert_int_equal(pb_json_read(not_json[i], strlen(not_json[i]),
                                      &pst__job_record__descriptor, &msg, &err),
                         -EINVAL);
        assert_memory_equal(err.text, "line ", 5);
        assert_null(msg);
    }
    assert_int_equal(pb_json_read("{}", (size_t)PB_JSON_MAX_BYTES + 1, &pst__job_record__descriptor,
                                  &(ProtobufCMessage *){ NULL }, NULL),
                     -E2BIG);
}

static const struct {
    const char *text;
    long len; /* -1 = refused */
} base64[] = {
    { "", 0 },         { "/w==", 1 },      { "/wA=", 2 },  { "/wAQ", 3 },
    { "/wAQIA==", 4 }, { "/w=", -1 },      { "/w", -1 },   { "====", -1 },
    { "A===", -1 },    { "/w==/w==", -1 }, { "/w =", -1 }, { "_-==", -1 },
};

static void test_base64(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(base64); i++) {
        _cleanup_msg_ ProtobufCMessage *msg = NULL;
        char text[64];
        int r;

        (void)snprintf(text, sizeof(text), "{\"script\":\"%s\"}", base64[i].text);
        r = pb_json_read(text, strlen(text), &pst__submit_request__descriptor, &msg, NULL);
        assert_int_equal(r, base64[i].len < 0 ? -EINVAL : 0);
        if (r == 0)
            assert_int_equal(((Pst__SubmitRequest *)msg)->script.len, base64[i].len);
    }
}

static void test_json_oneof(void **state)
{
    static const char text[] = "{\"job_purge\":1,\"part_remove\":\"x\"}";
    ProtobufCMessage *msg = NULL;
    struct err err = { .text = "" };

    (void)state;
    assert_int_equal(pb_json_read(text, strlen(text), &pst__event__descriptor, &msg, &err),
                     -EINVAL);
    assert_string_equal(err.text, "part_remove: excludes another field given");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dup),       cmocka_unit_test(test_merge),
        cmocka_unit_test(test_oneof),     cmocka_unit_test(test_clear),
        cmocka_unit_test(test_done),      cmocka_unit_test(test_unknown_fields),
        cmocka_unit_test(test_project),   cmocka_unit_test(test_malformed),
        cmocka_unit_test(test_caps),      cmocka_unit_test(test_odd_encodings),
        cmocka_unit_test(test_arena),     cmocka_unit_test(test_json_round_trip),
        cmocka_unit_test(test_json_form), cmocka_unit_test(test_json_write_error),
        cmocka_unit_test(test_json_read), cmocka_unit_test(test_not_json),
        cmocka_unit_test(test_base64),    cmocka_unit_test(test_json_oneof),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
