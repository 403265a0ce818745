/* test_hwmachine.c - what counts as a socket, of machines that hwloc makes up */
#include "conf_util.h"

#include "base/cleanup.h"
#include "noded/hw/hwmachine.h"

static void test_words(void **state)
{
    static const struct {
        const char *conf, *parameters;
        enum machine_socket socket;
    } rows[] = {
        { "", NULL, MACHINE_PACKAGE },
        { "SlurmdParameters=config_overrides", "gpu_job_map=/x", MACHINE_PACKAGE },
        { "SlurmdParameters=l3cache_as_socket", NULL, MACHINE_L3CACHE },
        { "SlurmdParameters=numa_node_as_socket", "", MACHINE_NUMA },
        { "SlurmdParameters=numa_node_as_socket", "L3cache_as_socket", MACHINE_L3CACHE },
        { "SlurmdParameters=l3cache_as_socket", "numa_node_as_socket", MACHINE_NUMA },
    };

    (void)state;
    assert_int_equal(machine_socket_of(NULL, NULL), MACHINE_PACKAGE);
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct conf *conf = conf_with_lines(rows[i].conf);

        if (machine_socket_of(conf, rows[i].parameters) != rows[i].socket)
            fail_msg("row %zu", i);
        conf_free(conf);
    }
}

static void test_shapes(void **state)
{
    static const char two[] = "pack:2 numa:2(memory=1GB) l3:2 core:2 pu:2";
    static const struct {
        const char *made_up;
        enum machine_socket socket;
        struct machine want;
    } rows[] = {
        { two, MACHINE_PACKAGE, { 32, 2, 8, 2, 0 } },
        { two, MACHINE_NUMA, { 32, 4, 4, 2, 0 } },
        { two, MACHINE_L3CACHE, { 32, 8, 2, 2, 0 } },
        { "pack:2 core:3 pu:1", MACHINE_L3CACHE, { 6, 2, 3, 1, 0 } },
        { "pack:1 l3:1 core:4 pu:1", MACHINE_L3CACHE, { 4, 1, 4, 1, 0 } },
        /* memory of two kinds beside the same cores */
        { "pack:2 [numa(memory=1GB)] [numa(memory=2GB)] core:2 pu:1",
          MACHINE_NUMA,
          { 4, 2, 2, 1, 0 } },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        const struct machine *want = &rows[i].want;
        struct machine m;

        assert_int_equal(setenv("HWLOC_SYNTHETIC", rows[i].made_up, 1), 0);
        assert_int_equal(machine_look(rows[i].socket, &m), 0);
        if (m.cpus != want->cpus || m.sockets != want->sockets ||
            m.cores_per_socket != want->cores_per_socket ||
            m.threads_per_core != want->threads_per_core || !m.memory_mib)
            fail_msg("row %zu: %u CPUs, %u sockets of %u cores of %u threads", i, m.cpus, m.sockets,
                     m.cores_per_socket, m.threads_per_core);
    }
    assert_int_equal(unsetenv("HWLOC_SYNTHETIC"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_shapes),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
