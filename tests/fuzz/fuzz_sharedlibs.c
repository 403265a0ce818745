/* fuzz_sharedlibs.c - programs that somebody wants to send, and what a loader says of them */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cli/job/sharedlibs.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct err err = { .text = "" };
    struct sharedlibs libs;
    const char *loader = NULL;
    char *text = strndup((const char *)data, size);

    if (sharedlibs_loader(data, size, &loader) == 0)
        assert(loader[0] == '/' && (const uint8_t *)loader + strlen(loader) < data + size);
    if (text && sharedlibs_parse(text, "/lib,/usr/lib", &libs, &err) == 0) {
        for (size_t i = 0; i < libs.n; i++)
            assert(libs.items[i].name[0] && !strchr(libs.items[i].name, '/') &&
                   libs.items[i].path[0] == '/');
        sharedlibs_done(&libs);
    }
    free(text);
    return 0;
}
