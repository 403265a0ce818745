/* test_golden.c - the schema stays compatible, and so do the bytes
 *
 * tests/golden/schema.txt locks every field and enum value: a line that disappears or changes
 * fails, a new one wants `test_golden --update`, which writes the additions and refuses anything
 * else.  A field that goes leaves a line "reserved ..." that is written by hand, and its number
 * and name are never used again.  tests/golden/NAME.vN.bin are sample messages and frames as
 * protocol version N encoded them. Those of the present version must come out the same; all of
 * them must decode, completely, and encode to the same bytes. */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "api.pb-c.h"
#include "event.pb-c.h"

#include "base/cleanup.h"
#include "base/strbuf.h"
#include "wire/errors.h"
#include "wire/frame.h"

#define MESSAGES_MAX 256
#define FILE_MAX (4u * WIRE_MIB)

static char golden[PATH_MAX];
static bool update;

/* ---- every message and enum that the wire or the journal can hold ---------------------------- */

static const ProtobufCMessageDescriptor *messages[MESSAGES_MAX];
static size_t n_messages;
static const ProtobufCEnumDescriptor *enums[MESSAGES_MAX];
static size_t n_enums;

static void collect_enum(const ProtobufCEnumDescriptor *e)
{
    for (size_t i = 0; i < n_enums; i++)
        if (enums[i] == e)
            return;
    assert_true(n_enums < MESSAGES_MAX);
    enums[n_enums++] = e;
}

static void collect(const ProtobufCMessageDescriptor *desc)
{
    for (size_t i = 0; i < n_messages; i++)
        if (messages[i] == desc)
            return;
    assert_true(n_messages < MESSAGES_MAX);
    messages[n_messages++] = desc;
    for (unsigned i = 0; i < desc->n_fields; i++) {
        const ProtobufCFieldDescriptor *f = &desc->fields[i];

        if (f->type == PROTOBUF_C_TYPE_MESSAGE)
            collect(f->descriptor);
        else if (f->type == PROTOBUF_C_TYPE_ENUM)
            collect_enum(f->descriptor);
    }
}

static int by_name(const void *a, const void *b)
{
    const ProtobufCMessageDescriptor *const *x = a, *const *y = b;

    return strcmp((*x)->name, (*y)->name);
}

static int enum_by_name(const void *a, const void *b)
{
    const ProtobufCEnumDescriptor *const *x = a, *const *y = b;

    return strcmp((*x)->name, (*y)->name);
}

static void collect_all(void)
{
    for (unsigned op = 0; op < OP_MAX_; op++) {
        const struct wire_op_info *info = wire_op_info(op);

        if (info) {
            collect(info->request);
            collect(info->reply);
        }
    }
    collect(&pst__error__descriptor);
    collect(&pst__acct_job__descriptor);
    collect(&pst__step_credential__descriptor);
    collect(&pst__transaction__descriptor);
    collect_enum(&pst__job_flag__descriptor);
    collect_enum(&pst__node_flag__descriptor);
    qsort(messages, n_messages, sizeof(messages[0]), by_name);
    qsort(enums, n_enums, sizeof(enums[0]), enum_by_name);
}

/* ---- files ----------------------------------------------------------------------------------- */

static uint8_t *read_all(const char *name, size_t *ret_len)
{
    char path[PATH_MAX + 128];
    _cleanup_fclose_ FILE *f = NULL;
    uint8_t *buf = malloc(FILE_MAX + 1);

    (void)snprintf(path, sizeof(path), "%s/%s", golden, name);
    f = fopen(path, "r");
    if (!f || !buf) {
        free(buf);
        return NULL;
    }
    *ret_len = fread(buf, 1, FILE_MAX, f);
    buf[*ret_len] = '\0';
    return buf;
}

static void write_all(const char *name, const void *data, size_t len)
{
    char path[PATH_MAX + 128];
    FILE *f;

    (void)snprintf(path, sizeof(path), "%s/%s", golden, name);
    f = fopen(path, "w");
    if (!f || fwrite(data, 1, len, f) != len || fclose(f) != 0)
        fail_msg("%s: %s", path, strerror(errno));
}

/* data is what the file must hold, or becomes with --update. */
static void check_file(const char *name, const void *data, size_t len)
{
    size_t have_len = 0;
    _cleanup_free_ uint8_t *have = read_all(name, &have_len);

    if (have && have_len == len && memcmp(have, data, len) == 0)
        return;
    if (!update)
        fail_msg("golden/%s %s; fields added on purpose: run test_golden --update", name,
                 have ? "differs" : "is missing");
    write_all(name, data, len);
}

/* ---- the schema ------------------------------------------------------------------------------ */

static const char *const type_names[] = {
    [PROTOBUF_C_TYPE_INT32] = "int32",       [PROTOBUF_C_TYPE_SINT32] = "sint32",
    [PROTOBUF_C_TYPE_SFIXED32] = "sfixed32", [PROTOBUF_C_TYPE_INT64] = "int64",
    [PROTOBUF_C_TYPE_SINT64] = "sint64",     [PROTOBUF_C_TYPE_SFIXED64] = "sfixed64",
    [PROTOBUF_C_TYPE_UINT32] = "uint32",     [PROTOBUF_C_TYPE_FIXED32] = "fixed32",
    [PROTOBUF_C_TYPE_UINT64] = "uint64",     [PROTOBUF_C_TYPE_FIXED64] = "fixed64",
    [PROTOBUF_C_TYPE_FLOAT] = "float",       [PROTOBUF_C_TYPE_DOUBLE] = "double",
    [PROTOBUF_C_TYPE_BOOL] = "bool",         [PROTOBUF_C_TYPE_ENUM] = "enum",
    [PROTOBUF_C_TYPE_STRING] = "string",     [PROTOBUF_C_TYPE_BYTES] = "bytes",
    [PROTOBUF_C_TYPE_MESSAGE] = "message",
};

static void describe(struct strbuf *sb)
{
    static const char *const labels[] = { "required", "optional", "repeated", "none" };

    for (size_t i = 0; i < n_messages; i++)
        for (unsigned k = 0; k < messages[i]->n_fields; k++) {
            const ProtobufCFieldDescriptor *f = &messages[i]->fields[k];
            const char *of = "";

            if (f->type == PROTOBUF_C_TYPE_MESSAGE)
                of = ((const ProtobufCMessageDescriptor *)f->descriptor)->name;
            else if (f->type == PROTOBUF_C_TYPE_ENUM)
                of = ((const ProtobufCEnumDescriptor *)f->descriptor)->name;
            strbuf_addf(sb, "%s.%s = %u %s %s%s%s%s%s\n", messages[i]->name, f->name, f->id,
                        labels[f->label], type_names[f->type], of[0] ? " " : "", of,
                        f->flags & PROTOBUF_C_FIELD_FLAG_PACKED ? " packed" : "",
                        f->flags & PROTOBUF_C_FIELD_FLAG_ONEOF ? " oneof" : "");
        }
    for (size_t i = 0; i < n_enums; i++)
        for (unsigned k = 0; k < enums[i]->n_values; k++)
            strbuf_addf(sb, "enum %s.%s = %d\n", enums[i]->name, enums[i]->values[k].name,
                        enums[i]->values[k].value);
    for (unsigned op = 0; op < OP_MAX_; op++)
        if (wire_op_info(op))
            strbuf_addf(sb, "op %u %s %s %s\n", op, wire_op_info(op)->name,
                        wire_op_info(op)->request->name, wire_op_info(op)->reply->name);
}

/* Is the field of that number and name of this message locked as gone? */
static bool was_reserved(const char *locked, const ProtobufCMessageDescriptor *desc,
                         uint32_t number)
{
    size_t len = strlen(desc->name);

    for (const char *p = locked; (p = strstr(p, "reserved ")) != NULL; p++) {
        const char *name = p + strlen("reserved "), *field = name + len + 1;

        if (strncmp(name, desc->name, len) == 0 && name[len] == '.' &&
            strtoul(field + strcspn(field, "=") + 1, NULL, 10) == number)
            return true;
    }
    return false;
}

/* The lines of fields that are gone stay; neither their number nor their name is in use. */
static void describe_reserved(struct strbuf *sb, const char *locked)
{
    for (const char *p = locked; p && (p = strstr(p, "reserved ")) != NULL; p += strcspn(p, "\n")) {
        size_t len = strcspn(p, "\n");
        char name[256] = "";
        unsigned number = 0;
        const char *dot = NULL;

        if (sscanf(p, "reserved %255s = %u", name, &number) != 2 || !(dot = strrchr(name, '.')))
            fail_msg("schema.txt: a line of a reserved field that cannot be read");
        for (size_t i = 0; i < n_messages; i++) {
            if (strlen(messages[i]->name) != (size_t)(dot - name) ||
                strncmp(messages[i]->name, name, (size_t)(dot - name)) != 0)
                continue;
            if (protobuf_c_message_descriptor_get_field(messages[i], number) ||
                protobuf_c_message_descriptor_get_field_by_name(messages[i], dot + 1))
                fail_msg("%s = %u is reserved", name, number);
        }
        strbuf_addf(sb, "%.*s\n", (int)len, p);
    }
}

/* Is line one of the lines of text? */
static bool has_line(const char *text, const char *line, size_t len)
{
    for (const char *p = text; (p = strstr(p, line)) != NULL; p++)
        if ((p == text || p[-1] == '\n') && p[len] == '\n')
            return true;
    return false;
}

/* An operation whose answer was empty may answer something: older callers skip what they do not
 * know, and an older server's answer has no field set. */
static bool answers_now(const char *text, const char *line, size_t len)
{
    static const char empty[] = "pst.Empty";
    size_t head = len - MIN(len, sizeof(empty) - 1);

    if (strncmp(line, "op ", 3) != 0 || strcmp(line + head, empty) != 0)
        return false;
    for (const char *p = text; p && *p; p = strchr(p, '\n'), p += p != NULL)
        if (strncmp(p, line, head) == 0)
            return true;
    return false;
}

/* An operation that asked nothing may ask something, "op 87 name pst.Empty ...": older receivers
 * skip what they do not know, and of an older caller's question no field is set. */
static bool asks_now(const char *text, const char *line, size_t len)
{
    const char *asked = memmem(line, len, " pst.Empty ", 11), *after = asked ? asked + 11 : NULL;
    size_t tail = asked ? len - (size_t)(after - line) : 0;

    if (strncmp(line, "op ", 3) != 0 || !asked)
        return false;
    for (const char *p = text; p && *p; p = strchr(p, '\n'), p += p != NULL) {
        size_t n = strcspn(p, "\n");

        if (n > tail && strncmp(p, line, (size_t)(asked - line) + 1) == 0 &&
            p[n - tail - 1] == ' ' && memcmp(p + n - tail, after, tail) == 0)
            return true;
    }
    return false;
}

static void test_schema_lock(void **state)
{
    struct strbuf now = STRBUF_INIT;
    size_t len = 0;
    _cleanup_free_ char *locked = (char *)read_all("schema.txt", &len);

    describe(&now);
    describe_reserved(&now, locked);
    for (char *line = locked, *end; line && (end = strchr(line, '\n')); line = end + 1) {
        *end = '\0';
        if (!has_line(strbuf_str(&now), line, (size_t)(end - line)) &&
            !answers_now(strbuf_str(&now), line, (size_t)(end - line)) &&
            !asks_now(strbuf_str(&now), line, (size_t)(end - line))) {
            update = false; /* nothing is written over */
            fail_msg("incompatible: the schema had \"%s\"", line);
        }
        *end = '\n';
    }
    check_file("schema.txt", strbuf_str(&now), now.len);
    strbuf_done(&now);
}

/* ---- samples: every field of every message set, by rule -------------------------------------- */

static void set_quantifier(ProtobufCMessage *msg, const ProtobufCFieldDescriptor *f)
{
    char *base = (char *)msg;

    if (f->flags & PROTOBUF_C_FIELD_FLAG_ONEOF)
        *(uint32_t *)(void *)(base + f->quantifier_offset) = f->id;
    else if (f->label == PROTOBUF_C_LABEL_OPTIONAL && f->type != PROTOBUF_C_TYPE_STRING &&
             f->type != PROTOBUF_C_TYPE_MESSAGE)
        *(protobuf_c_boolean *)(void *)(base + f->quantifier_offset) = true;
}

static ProtobufCMessage *sample(const ProtobufCMessageDescriptor *desc, unsigned pick);

/* One value of f at `to`; `nth` of a list. */
static void set_value(const ProtobufCFieldDescriptor *f, void *to, unsigned nth)
{
    uint32_t n = f->id * 7 + nth;
    const ProtobufCEnumDescriptor *e = f->descriptor;
    ProtobufCBinaryData *data = to;
    char text[64];

    switch (f->type) {
    case PROTOBUF_C_TYPE_STRING:
        (void)snprintf(text, sizeof(text), "%s-%u", f->name, nth);
        *(char **)to = strdup(text);
        break;
    case PROTOBUF_C_TYPE_BYTES:
        data->len = 4;
        data->data = malloc(4);
        memcpy(data->data, (uint8_t[]){ 0, 255, (uint8_t)f->id, (uint8_t)nth }, 4);
        break;
    case PROTOBUF_C_TYPE_MESSAGE:
        *(ProtobufCMessage **)to = sample(f->descriptor, nth);
        break;
    case PROTOBUF_C_TYPE_ENUM:
        *(int *)to = e->values[e->n_values - 1 - nth % e->n_values].value;
        break;
    case PROTOBUF_C_TYPE_BOOL:
        *(protobuf_c_boolean *)to = true;
        break;
    case PROTOBUF_C_TYPE_INT32:
    case PROTOBUF_C_TYPE_SINT32:
        *(int32_t *)to = -(int32_t)n;
        break;
    case PROTOBUF_C_TYPE_UINT32:
        *(uint32_t *)to = 0x80000000u + n;
        break;
    case PROTOBUF_C_TYPE_INT64:
    case PROTOBUF_C_TYPE_SINT64:
        *(int64_t *)to = INT64_C(1800000000000000) + n;
        break;
    case PROTOBUF_C_TYPE_UINT64:
    case PROTOBUF_C_TYPE_FIXED64:
        *(uint64_t *)to = UINT64_C(0xfedcba9876543210) + n;
        break;
    case PROTOBUF_C_TYPE_DOUBLE:
        *(double *)to = 0.5 + n;
        break;
    default:
        fail_msg("test_golden: no sample for type %s", type_names[f->type]);
    }
}

static size_t size_of(const ProtobufCFieldDescriptor *f)
{
    switch (f->type) {
    case PROTOBUF_C_TYPE_STRING:
    case PROTOBUF_C_TYPE_MESSAGE:
        return sizeof(void *);
    case PROTOBUF_C_TYPE_BYTES:
        return sizeof(ProtobufCBinaryData);
    case PROTOBUF_C_TYPE_DOUBLE:
    case PROTOBUF_C_TYPE_SINT64:
    case PROTOBUF_C_TYPE_INT64:
    case PROTOBUF_C_TYPE_UINT64:
    case PROTOBUF_C_TYPE_FIXED64:
        return 8;
    case PROTOBUF_C_TYPE_BOOL:
        return sizeof(protobuf_c_boolean);
    default:
        return 4;
    }
}

static unsigned oneof_members(const ProtobufCMessageDescriptor *desc)
{
    unsigned n = 0;

    for (unsigned i = 0; i < desc->n_fields; i++)
        n += (desc->fields[i].flags & PROTOBUF_C_FIELD_FLAG_ONEOF) != 0;
    return n;
}

/* `pick` chooses the member of a oneof. */
static ProtobufCMessage *sample(const ProtobufCMessageDescriptor *desc, unsigned pick)
{
    ProtobufCMessage *msg = calloc(1, desc->sizeof_message);
    unsigned member = 0;

    protobuf_c_message_init(desc, msg);
    for (unsigned i = 0; i < desc->n_fields; i++) {
        const ProtobufCFieldDescriptor *f = &desc->fields[i];
        char *at = (char *)msg + f->offset;
        size_t n = 2;

        if ((f->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) && member++ != pick)
            continue;
        if (f->label != PROTOBUF_C_LABEL_REPEATED) {
            set_value(f, at, 0);
            set_quantifier(msg, f);
            continue;
        }
        if (f->type == PROTOBUF_C_TYPE_MESSAGE && oneof_members(f->descriptor))
            n = oneof_members(f->descriptor);
        *(void **)(void *)at = calloc(n, size_of(f));
        *(size_t *)(void *)((char *)msg + f->quantifier_offset) = n;
        for (unsigned k = 0; k < n; k++)
            set_value(f, *(char **)(void *)at + k * size_of(f), k);
    }
    return msg;
}

static void test_messages(void **state)
{
    for (size_t i = 0; i < n_messages; i++) {
        ProtobufCMessage *msg = sample(messages[i], 0);
        size_t len = protobuf_c_message_get_packed_size(msg);
        _cleanup_free_ uint8_t *buf = malloc(len + 1);
        char name[96];

        assert_int_equal(protobuf_c_message_pack(msg, buf), len);
        (void)snprintf(name, sizeof(name), "%s.v%u.bin", messages[i]->name + 4, WIRE_VERSION);
        check_file(name, buf, len);
        protobuf_c_message_free_unpacked(msg, NULL);
    }
}

static void test_frames(void **state)
{
    ProtobufCMessage *msg = sample(&pst__job_id_request__descriptor, 0);
    uint8_t *buf;
    size_t len;
    char name[64];

    assert_int_equal(frame_pack(OP_QUERY_SCRIPT, 0, 0x01020304, 30000, msg, &buf, &len), 0);
    (void)snprintf(name, sizeof(name), "frame-request.v%u.bin", WIRE_VERSION);
    check_file(name, buf, len);
    free(buf);
    assert_int_equal(frame_pack_error(OP_QUERY_SCRIPT, 7, ESLURM_INVALID_JOB_ID, "no", &buf, &len),
                     0);
    (void)snprintf(name, sizeof(name), "frame-error.v%u.bin", WIRE_VERSION);
    check_file(name, buf, len);
    free(buf);
    assert_int_equal(frame_pack(OP_QUERY_JOBS, FRAME_REPLY | FRAME_MORE, 8, 0, NULL, &buf, &len),
                     0);
    (void)snprintf(name, sizeof(name), "frame-reply.v%u.bin", WIRE_VERSION);
    check_file(name, buf, len);
    free(buf);
    protobuf_c_message_free_unpacked(msg, NULL);
}

/* ---- what was committed is still understood -------------------------------------------------- */

/* Gives how many reserved fields there are in it. */
static size_t check_known(const ProtobufCMessage *msg, const char *name)
{
    const ProtobufCMessageDescriptor *desc = msg->descriptor;
    size_t len, reserved = msg->n_unknown_fields;
    _cleanup_free_ char *locked = reserved ? (char *)read_all("schema.txt", &len) : NULL;

    for (size_t i = 0; i < msg->n_unknown_fields; i++)
        if (!locked || !was_reserved(locked, desc, msg->unknown_fields[i].tag))
            fail_msg("golden/%s: %s no longer knows a field", name, desc->name);
    for (unsigned i = 0; i < desc->n_fields; i++) {
        const ProtobufCFieldDescriptor *f = &desc->fields[i];
        const char *at = (const char *)msg + f->offset;
        const char *quantifier = (const char *)msg + f->quantifier_offset;

        if (f->type != PROTOBUF_C_TYPE_MESSAGE)
            continue;
        if (f->label == PROTOBUF_C_LABEL_REPEATED) {
            size_t n = *(const size_t *)(const void *)quantifier;

            for (size_t k = 0; k < n; k++)
                reserved +=
                    check_known((*(ProtobufCMessage *const *const *)(const void *)at)[k], name);
        } else if ((!(f->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) ||
                    *(const uint32_t *)(const void *)quantifier == f->id) &&
                   *(void *const *)(const void *)at) {
            reserved += check_known(*(ProtobufCMessage *const *)(const void *)at, name);
        }
    }
    return reserved;
}

static void decode_message(const char *name, const ProtobufCMessageDescriptor *desc,
                           const uint8_t *data, size_t len)
{
    ProtobufCMessage *msg = protobuf_c_message_unpack(desc, NULL, len, data);
    _cleanup_free_ uint8_t *again = NULL;
    size_t reserved;

    if (!msg)
        fail_msg("golden/%s does not decode", name);
    reserved = check_known(msg, name);
    assert_int_equal(protobuf_c_message_get_packed_size(msg), len);
    again = malloc(len + 1);
    assert_int_equal(protobuf_c_message_pack(msg, again), len);
    if (!reserved) /* those are packed last, wherever they stood */
        assert_memory_equal(again, data, len);
    protobuf_c_message_free_unpacked(msg, NULL);
}

static void decode_frame(const char *name, const uint8_t *data, size_t len)
{
    ProtobufCMessage *msg = NULL;
    struct frame f;

    assert_true(len >= FRAME_HEADER_SIZE);
    assert_int_equal(frame_decode_header(data, &f), 0);
    assert_int_equal(FRAME_HEADER_SIZE + f.len, len);
    f.body = data + FRAME_HEADER_SIZE;
    assert_int_equal(frame_unpack(&f, frame_message(&f), &msg, NULL), 0);
    assert_int_equal(check_known(msg, name), 0);
    protobuf_c_message_free_unpacked(msg, NULL);
}

static void test_decode_committed(void **state)
{
    DIR *d = opendir(golden);
    unsigned n = 0;

    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d)) != NULL;) {
        size_t len, stem = strcspn(e->d_name, ".");
        _cleanup_free_ uint8_t *data = NULL;
        const ProtobufCMessageDescriptor *desc = NULL;

        if (!strstr(e->d_name, ".bin"))
            continue;
        data = read_all(e->d_name, &len);
        assert_non_null(data);
        n++;
        if (strncmp(e->d_name, "frame-", 6) == 0) {
            decode_frame(e->d_name, data, len);
            continue;
        }
        for (size_t i = 0; i < n_messages && !desc; i++)
            if (strlen(messages[i]->name + 4) == stem &&
                strncmp(messages[i]->name + 4, e->d_name, stem) == 0)
                desc = messages[i];
        if (!desc)
            fail_msg("golden/%s: the schema lost the message", e->d_name);
        decode_message(e->d_name, desc, data, len);
    }
    (void)closedir(d);
    assert_true(n >= n_messages);
}

/* ---- where the files are: GOLDEN_DIR, or tests/golden above here ----------------------------- */

static bool look_above(char *path)
{
    while (path[0]) {
        struct stat st;
        char *slash = strrchr(path, '/');

        (void)snprintf(golden, sizeof(golden), "%.4000s/tests/golden", path);
        if (stat(golden, &st) == 0 && S_ISDIR(st.st_mode))
            return true;
        if (!slash)
            return false;
        *slash = '\0';
    }
    return false;
}

static bool find_golden(void)
{
    const char *env = getenv("GOLDEN_DIR");
    char path[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);

    if (env) {
        (void)snprintf(golden, sizeof(golden), "%s", env);
        return true;
    }
    path[n > 0 ? n : 0] = '\0';
    return look_above(path) || (getcwd(path, sizeof(path)) && look_above(path));
}

int main(int argc, char **argv)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_schema_lock),
        cmocka_unit_test(test_messages),
        cmocka_unit_test(test_frames),
        cmocka_unit_test(test_decode_committed),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    update = argc > 1 && strcmp(argv[1], "--update") == 0;
    if (!find_golden()) {
        fprintf(stderr, "test_golden: tests/golden not found; set GOLDEN_DIR\n");
        return 1;
    }
    collect_all();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
