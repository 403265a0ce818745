/* fuzz_manifest.c - MANIFEST of a backup: what is taken is written alike, and leads nowhere else */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "penstock/past/manifest.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct manifest m = { .n = 0 }, again = { .n = 0 };
    struct strbuf out = STRBUF_INIT;
    struct err err = { .text = "" };

    if (manifest_parse((const char *)data, size, &m, &err) < 0) {
        assert(!m.files && err.text[0]);
        return 0;
    }
    assert(m.n <= MANIFEST_FILES_MAX);
    for (size_t i = 0; i < m.n; i++)
        assert(manifest_path_good(m.files[i].path) && !strstr(m.files[i].path, ".."));
    manifest_write(&m, &out);
    assert(manifest_parse(strbuf_str(&out), out.len, &again, &err) == 0 && again.n == m.n);
    strbuf_done(&out);
    manifest_done(&m);
    manifest_done(&again);
    return 0;
}
