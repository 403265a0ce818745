/* fuzz_caps.c - encoded messages from outside: the checks before unpacking, and the projection */
#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "api.pb-c.h"
#include "base/cleanup.h"
#include "base/pb/pbutil.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct pb_cap rows[] = {
    { "pst.JobRecord", "name", 16, 0 },
    { "pst.JobRecord", "argv", 32, 8 },
    { "pst.SubmitRequest", "script", 4096, 0 },
};
static const struct pb_caps caps = {
    .rows = rows,
    .n = ARRAY_SIZE(rows),
    .default_bytes = 1024,
    .default_count = 16,
};

/* The wanted fields, projected, are a fixed point of projecting again. */
static void check_project(const uint8_t *data, size_t size)
{
    struct pb_fieldset some = { { UINT64_C(0x5555555555555555), 3 } }, all;
    _cleanup_free_ uint8_t *once = malloc(size + 1), *twice = malloc(size + 1);
    long n, m;

    assert(once && twice);
    memset(&all, 0xff, sizeof(all));
    n = pb_project(data, size, &some, once);
    m = pb_project(data, size, &all, twice);
    assert((n < 0) == (m < 0));
    if (n < 0)
        return;
    assert(n <= m && m <= (long)size);
    m = pb_project(once, (size_t)n, &some, twice);
    assert(m == n && memcmp(once, twice, (size_t)n) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct err err = { .text = "" };
    Pst__SubmitRequest *request;
    ProtobufCMessage *copy;
    int r;

    check_project(data, size);
    r = pb_check_caps(&pst__submit_request__descriptor, data, size, &caps, &err);
    assert((r == 0) == (err.text[0] == '\0'));
    if (r < 0) {
        assert(r == -EBADMSG || r == -EMSGSIZE);
        return 0;
    }
    request = pst__submit_request__unpack(NULL, size, data);
    if (!request)
        return 0; /* stricter in what it takes as a number */
    assert(!request->has_script || request->script.len <= 4096);
    assert(!request->job || request->job->n_argv <= 8);
    assert(!request->job || !request->job->name || strlen(request->job->name) <= 16);
    assert(pb_dup(&request->base, &copy) == 0);
    assert(pb_equal(&request->base, copy));
    pb_clear_range(copy, 0, UINT32_MAX);
    assert(protobuf_c_message_get_packed_size(copy) == 0);
    protobuf_c_message_free_unpacked(copy, NULL);
    protobuf_c_message_free_unpacked(&request->base, NULL);
    return 0;
}
