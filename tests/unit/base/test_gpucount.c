/* test_gpucount.c - what counts of GPUs say together */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/cleanup.h"
#include "base/gres/gpucount.h"

static const struct {
    struct gpucount in;
    uint32_t tasks, nodes, gpus;
    const char *says; /* NULL: fine */
} cases[] = {
    { { .per_job = "gpu:4", .per_task = "gpu:2" }, 2, 0, 0, NULL },
    { { .per_job = "gpu:4", .per_task = "gpu:2", .tasks = 2 }, 2, 0, 0, NULL },
    { { .per_job = "gpu:2", .per_node = "gpu:1" }, 0, 2, 0, NULL },
    { { .per_task = "gpu:1", .min_nodes = 2 }, 2, 2, 0, NULL },
    { { .per_task = "gpu:1" }, 0, 0, 0, "without either --gpus or -n/--ntasks" },
    { { .per_job = "gpu:3", .per_task = "gpu:2" }, 0, 0, 0, "not multiple of --gpus-per-task" },
    { { .per_job = "gpu:2", .per_task = "gpu:1", .tasks = 3 }, 0, 0, 0, "tasks differ from -n" },
    { { .per_job = "gpu:3", .per_node = "gpu:2" }, 0, 0, 0, "is not multiple of --gres=gpu" },
    { { .per_job = "gpu:3", .per_node = "gpu:1", .min_nodes = 2, .max_nodes = 2 },
      0,
      0,
      0,
      "required nodes (3) doesn't fall between min_nodes (2) and max_nodes (2)" },
    { { .per_node = "gpu:1", .per_task = "gpu:2", .tasks = 1 },
      0,
      0,
      0,
      "Failed to ensure --gpus >= --gpus-per-task" },
    { { .per_socket = "gpu:1" }, 0, 0, 0, "requires --sockets-per-node" },
    { { .per_job = "gpu:2", .tasks_per_gpu = 2 }, 4, 0, 0, NULL },
    { { .per_node = "gpu:2", .min_nodes = 2, .tasks_per_gpu = 2 }, 8, 2, 0, NULL },
    { { .tasks = 4, .tasks_per_gpu = 2 }, 4, 0, 2, NULL },
    { { .tasks = 5, .tasks_per_gpu = 2 }, 0, 0, 0, "has to be a multiple of --ntasks-per-gpu" },
    { { .tasks_per_gpu = 2 }, 0, 0, 0, "needs either a GRES GPU specification" },
    { { .cpus_per_gpu = 3 }, 0, 0, 0, "Requested cpus_per_tres=gres/gpu:3 but did not" },
    { { .mem_per_gpu_mib = 1024 }, 0, 0, 0, "Requested mem_per_tres=gres/gpu:1024 but did not" },
    { { .per_job = "gpu:0", .cpus_per_gpu = 3 }, 0, 0, 0, "did not request any GPU." },
};

static void test_settle(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct gpucount c = cases[i].in;
        struct err err = { .text = "" };

        for (int twice = 0; twice < 2; twice++) { /* settled counts stay */
            int r = gpucount_settle(&c, &err);

            assert_int_equal(r == 0, cases[i].says == NULL);
            if (cases[i].says) {
                assert_non_null(strstr(err.text, cases[i].says));
                continue;
            }
            assert_int_equal(c.tasks, cases[i].tasks);
            assert_int_equal(c.min_nodes, cases[i].nodes);
            assert_int_equal(c.gpus, cases[i].gpus);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_settle),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
