/* fuzz_restgzip.c - packed bodies, and the headers Accept-Encoding, If-None-Match */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "rest/restfresh.h"
#include "rest/restgzip.h"

#define MAX_PLAIN (256u * 1024)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_headers(const char *text)
{
    uint64_t first = restfresh_first(text);

    (void)restgzip_accepted(text);
    assert(!first || restfresh_names(text, first));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct strbuf plain = STRBUF_INIT;
    char *text;

    if (size > 65536)
        return 0;
    text = strndup((const char *)data, size);
    assert(text);
    read_headers(text);
    free(text);
    if (restgzip_unpack((const char *)data, size, MAX_PLAIN, &plain) == 0)
        assert(plain.len <= MAX_PLAIN);
    else
        assert(!plain.len);
    strbuf_done(&plain);
    return 0;
}
