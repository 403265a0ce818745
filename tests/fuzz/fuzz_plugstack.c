/* fuzz_plugstack.c - plugstack.conf: entries have a file and words, limits hold, a refusal says
 * where */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "spank/plugstack.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int on_include(void *ctx, const char *pattern, struct plugstack *p, struct err *err)
{
    unsigned *includes = ctx;

    (void)p;
    assert(strlen(pattern) <= PLUGSTACK_LINE_MAX);
    return ++*includes > PLUGSTACK_FILES_MAX ? err_set(err, -1, "file: too many") : 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct plugstack p = { 0 };
    struct err err = { .text = "" };
    unsigned includes = 0;

    if (plugstack_parse((const char *)data, size, "file", on_include, &includes, &p, &err) < 0)
        assert(strncmp(err.text, "file", 4) == 0);
    assert(p.n <= PLUGSTACK_PLUGINS_MAX);
    for (size_t i = 0; i < p.n; i++) {
        assert(p.list[i].path[0] && p.list[i].argc < (int)PLUGSTACK_WORDS_MAX &&
               !p.list[i].argv[p.list[i].argc]);
        for (int k = 0; k < p.list[i].argc; k++)
            assert(strlen(p.list[i].argv[k]) <= PLUGSTACK_LINE_MAX);
    }
    plugstack_done(&p);
    return 0;
}
