/* fuzz_stepd.c - texts that users hand to the step daemon: rank maps, file name patterns,
 * environments, CPU bindings
 *
 * The first byte chooses the parser; whatever comes, nothing may be read or written out of bounds
 * and all results are freed. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/bind/cpubind.h"
#include "stepd/env/envlist.h"
#include "stepd/shared/outpattern.h"
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

/* No task gets a CPU that the step does not have. */
static void try_binding(const char *text)
{
    struct cpubind_node node = { .sockets = 2, .cores = 3, .threads = 2, .n_ldoms = 2 };
    struct cpubind_step step = { .n_tasks = 3, .cpus_per_task = 2 };
    struct bitmap *masks[3] = { NULL }, *cpus = NULL;
    enum cpubind_kind kind;
    struct cpubind b;

    if (cpubind_parse(text, &b, NULL) < 0)
        return;
    if (bitmap_new(12, &cpus) == 0) {
        bitmap_set_range(cpus, 2, 10);
        step.cpus = cpus;
        if (cpubind_masks(&b, &node, &step, masks, &kind, NULL) == 0)
            for (int i = 0; i < 3; i++) {
                if (!bitmap_subset(masks[i], cpus))
                    abort();
                bitmap_free(masks[i]);
            }
        bitmap_free(cpus);
    }
    cpubind_done(&b);
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
    if (data[0] % 4 == 0)
        try_map(text);
    else if (data[0] % 4 == 1)
        try_pattern(text);
    else if (data[0] % 4 == 2)
        try_env(data + 1, size - 1);
    else
        try_binding(text);
    free(text);
    return 0;
}
