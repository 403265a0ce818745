/* fuzz_etcd.c - what etcd answers, and a chunk of the log that it has
 *
 * The first byte chooses: 0 a chunk of the log, else an answer, whose values are chunks then. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "etcd/chunk.h"
#include "etcd/etcdjson.h"

#define INPUT_MAX 65536u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_chunk(const char *key, const uint8_t *value, size_t n)
{
    struct chunk c = { 0 };

    if (chunk_begin(&c, key, value, n) == 0 && chunk_check(&c) == 0 &&
        chunk_offset(&c, c.last) >= c.len)
        abort();
    chunk_done(&c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct etcd_answer a;
    struct err err;
    char said[256];

    if (!size || size > INPUT_MAX)
        return 0;
    if (!data[0]) {
        read_chunk("log/0000000000000001", data + 1, size - 1);
        return 0;
    }
    etcd_read_error((const char *)data + 1, size - 1, said, sizeof(said));
    if (etcd_read_answer((const char *)data + 1, size - 1, &a, &err) < 0)
        return 0;
    for (size_t i = 0; i < a.kvs.n; i++)
        read_chunk(a.kvs.v[i].key, a.kvs.v[i].value, a.kvs.v[i].len);
    etcd_answer_done(&a);
    return 0;
}
