/* fuzz_extra.c - requests about the Extra of nodes: a line of a user, the rest of a node */
#include <jansson.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sched/base/extra.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    _cleanup_free_ char *text = malloc(size + 1);
    _cleanup_(extra_free) struct extra_request *q = NULL;
    json_t *of_node;
    struct err err;
    char *line_end;

    if (!text)
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    line_end = strchr(text, '\n');
    if (line_end)
        *line_end = '\0';
    of_node = extra_data(line_end ? line_end + 1 : NULL);
    if (extra_parse(text, &q, &err) == 0 && extra_admits(q, NULL))
        abort(); /* a node without data satisfies nothing */
    if (q)
        (void)extra_admits(q, of_node);
    json_decref(of_node);
    return 0;
}
