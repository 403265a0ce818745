/* fuzz_stream.c - what controllers and the witness send one another, and the witness's file
 *
 * The first byte chooses: 0 records, 1 the file, 2 a request to the witness, 3 its answer. */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "stream/pactwire.h"
#include "stream/streamrec.h"
#include "stream/witfile.h"
#include "stream/witserve.h"

#define INPUT_MAX 65536u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_records(const uint8_t *data, size_t size)
{
    uint64_t last = 0, records = 0;

    if (streamrec_check(data, size, 1, &last) < 0)
        return;
    if (streamrec_cut(data, size, size, &records) != size || records != last ||
        streamrec_offset(data, size, 1, last) >= size)
        abort();
}

static void read_file(const uint8_t *data, size_t size)
{
    uint8_t in[WITFILE_BYTES] = { 0 }, out[WITFILE_BYTES];
    struct witness_state s;

    memcpy(in, data, size < sizeof(in) ? size : sizeof(in));
    if (witfile_decode(in, "tux", &s) < 0)
        return;
    witfile_encode("tux", &s, out);
    if (witfile_decode(out, "tux", &s) < 0)
        abort();
}

static int store_state(void *ctx, const struct witness_state *s)
{
    uint8_t out[WITFILE_BYTES];
    struct witness_state back;

    (void)ctx;
    witfile_encode("tux", s, out); /* what it keeps it must be able to read */
    if (witfile_decode(out, "tux", &back) < 0)
        abort();
    return 0;
}

static void carry_out(const uint8_t *data, size_t size)
{
    struct witness_state s = { .record = { .version = 1, .term = 1, .holder = { "a", 1 } } };
    Pst__WitnessRequest *req = pst__witness_request__unpack(NULL, size, data);
    struct witserve_reply out;

    if (!req)
        return;
    s.record.in_sync = (struct pact_set){ 2, { { "a", 1 }, { "b", 0 } } };
    if (witserve_carry_out(&s, req, store_state, NULL, &out) == 0 &&
        (!s.record.in_sync.n || s.record.in_sync.n > PACT_SET_MAX || s.record.version > 2))
        abort();
    pst__witness_request__free_unpacked(req, NULL);
}

static void read_answer(const uint8_t *data, size_t size)
{
    Pst__WitnessReply *reply = pst__witness_reply__unpack(NULL, size, data);
    struct witness_state s;

    if (!reply)
        return;
    if (pactwire_state(reply, &s) == 0 && s.record.in_sync.n > PACT_SET_MAX)
        abort();
    pst__witness_reply__free_unpacked(reply, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!size || size > INPUT_MAX)
        return 0;
    switch (data[0]) {
    case 0:
        read_records(data + 1, size - 1);
        break;
    case 1:
        read_file(data + 1, size - 1);
        break;
    case 2:
        carry_out(data + 1, size - 1);
        break;
    default:
        read_answer(data + 1, size - 1);
        break;
    }
    return 0;
}
