/* fuzz_flatfile.c - lines of files that sacctmgr loads: whatever is accepted has a name, and values
 * that lie in it */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cli/sacctmgr/sacctmgr_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct flat_line line;
    struct err err = { .text = "" };
    char *text = malloc(size + 1);
    size_t total = 0;

    if (!text)
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    if (flat_parse(text, &line, &err) == 0) {
        assert((line.kind == FLAT_NOTHING) == (line.name == NULL));
        for (size_t i = 0; i < line.n; i++)
            total += strlen(line.options[i].name) + strlen(line.options[i].value);
        assert(total <= size);
        assert(!line.name || (line.name >= text && line.name < text + size));
    } else {
        assert(err.text[0]);
    }
    free(text);
    return 0;
}
