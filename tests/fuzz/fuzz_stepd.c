/* fuzz_stepd.c - texts that users hand to the step daemon: rank maps, file name patterns,
 * environments
 *
 * The first byte chooses the parser; whatever comes, nothing may be read or written out of bounds
 * and all results are freed. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "stepd/envlist.h"
#include "stepd/pattern.h"
#include "stepd/step.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void try_map(const char *text)
{
    for (uint32_t rank = 0; rank < 3; rank++) {
        char **argv = NULL;

        if (multiprog_argv(text, rank, NULL, 0, &argv) == 0)
            (void)multiprog_free(argv);
    }
}

static void try_pattern(const char *text)
{
    struct pattern_vars v = { .job_id = 1, .step_name = "0", .node_name = "n", .user = "u" };
    char *name = NULL;

    if (pattern_expand(text, &v, &name) == 0)
        free(name);
    (void)pattern_per_task(text); /* must only not crash */
}

static void try_env(const uint8_t *data, size_t size)
{
    struct envlist el = ENVLIST_INIT;

    envlist_load(&el, data, size);
    envlist_set(&el, "A", "1");
    envlist_unset_prefix(&el, "B");
    if (!envlist_array(&el))
        abort();
    envlist_done(&el);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text;

    if (size < 1)
        return 0;
    text = malloc(size);
    if (!text)
        return 0;
    memcpy(text, data + 1, size - 1);
    text[size - 1] = '\0';
    if (data[0] % 3 == 0)
        try_map(text);
    else if (data[0] % 3 == 1)
        try_pattern(text);
    else
        try_env(data + 1, size - 1);
    free(text);
    return 0;
}
