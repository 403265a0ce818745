/* test_items.c - spank_get_item() for each kind of program and of question: what is not known is
 * refused, and nothing is written */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "spank/stack_impl.h"

static struct plugin plugin = { .name = "p" };
static struct spank_host host;
static struct spank_stack stack = { .host = &host, .plugins = &plugin, .n = 1 };

static spank_t handle(spank_context_t context)
{
    host = (struct spank_host){ .context = context, .facts = { .task = -1 } };
    stack.handle = (struct spank_handle){ &stack, &plugin, SPANK_INIT };
    spank_the_stack = &stack;
    return &stack.handle;
}

/* Every item but the version's is unknown until the program says that it knows it. */
static void test_unknown(void **state)
{
    spank_t sp = handle(S_CTX_LOCAL);

    (void)state;
    for (int item = S_JOB_UID; item <= S_JOB_ARRAY_TASK_ID; item++) {
        uint64_t out[2] = { UINT64_MAX, UINT64_MAX };
        spank_err_t r;

        if (item >= S_SLURM_VERSION && item <= S_SLURM_VERSION_MICRO)
            continue;
        r = spank_get_item(sp, (spank_item_t)item, &out[0], &out[1]);
        assert_true(r == ESPANK_NOT_AVAIL || r == ESPANK_NOT_REMOTE);
        assert_true(out[0] == UINT64_MAX && out[1] == UINT64_MAX);
    }
    assert_int_equal(spank_get_item(sp, (spank_item_t)-1, NULL), ESPANK_BAD_ARG);
    assert_int_equal(spank_get_item(sp, (spank_item_t)(S_JOB_ARRAY_TASK_ID + 1), NULL),
                     ESPANK_BAD_ARG);
}

static void test_version(void **state)
{
    spank_t sp = handle(S_CTX_JOB_SCRIPT);
    char *whole = NULL, *major = NULL, *minor = NULL, *micro = NULL;
    char joined[16];

    (void)state;
    assert_int_equal(spank_get_item(sp, S_SLURM_VERSION, &whole), ESPANK_SUCCESS);
    assert_int_equal(spank_get_item(sp, S_SLURM_VERSION_MAJOR, &major), ESPANK_SUCCESS);
    assert_int_equal(spank_get_item(sp, S_SLURM_VERSION_MINOR, &minor), ESPANK_SUCCESS);
    assert_int_equal(spank_get_item(sp, S_SLURM_VERSION_MICRO, &micro), ESPANK_SUCCESS);
    (void)snprintf(joined, sizeof(joined), "%s.%s.%s", major, minor, micro);
    assert_string_equal(joined, whole);
    assert_int_equal(strlen(whole), 7); /* 26.05.0: two digits, two, one */
}

/* Numbers have the width that the interface gives them: no byte behind them is written. */
static void test_widths(void **state)
{
    spank_t sp = handle(S_CTX_REMOTE);
    struct {
        uint16_t value, behind;
    } cpus = { 0, 0xabcd };
    struct {
        uint32_t value, behind;
    } id = { 0, 0xabcdabcd };
    uint64_t mem = 0;

    (void)state;
    host.facts.known = UINT64_MAX;
    host.facts.cpus = UINT16_MAX;
    host.facts.job_id = UINT32_MAX;
    host.facts.job_mem_mib = UINT64_MAX;
    assert_int_equal(spank_get_item(sp, S_JOB_NCPUS, &cpus.value), ESPANK_SUCCESS);
    assert_true(cpus.value == UINT16_MAX && cpus.behind == 0xabcd);
    assert_int_equal(spank_get_item(sp, S_JOB_ID, &id.value), ESPANK_SUCCESS);
    assert_true(id.value == UINT32_MAX && id.behind == 0xabcdabcd);
    assert_int_equal(spank_get_item(sp, S_JOB_ALLOC_MEM, &mem), ESPANK_SUCCESS);
    assert_true(mem == UINT64_MAX);
}

/* Numbers of processes and ranks that are none of this node's. */
static void test_strangers(void **state)
{
    static const uint32_t ranks[] = { 8, 0 };
    static const pid_t pids[] = { 0, 77 };
    spank_t sp = handle(S_CTX_REMOTE);
    uint32_t id = 5;
    pid_t pid = 5;
    int status = 5;

    (void)state;
    host.facts.known = 1ull << S_JOB_LOCAL_TO_GLOBAL_ID;
    assert_int_equal(spank_get_item(sp, S_JOB_LOCAL_TO_GLOBAL_ID, 0u, &id), ESPANK_NOEXIST);
    host.facts.local_tasks = 2;
    host.facts.ranks = ranks;
    host.facts.pids = pids;
    assert_int_equal(spank_get_item(sp, S_JOB_LOCAL_TO_GLOBAL_ID, 2u, &id), ESPANK_NOEXIST);
    assert_int_equal(spank_get_item(sp, S_JOB_LOCAL_TO_GLOBAL_ID, UINT32_MAX, &id), ESPANK_NOEXIST);
    assert_int_equal(spank_get_item(sp, S_JOB_PID_TO_LOCAL_ID, (pid_t)0, &id), ESPANK_NOEXIST);
    assert_int_equal(spank_get_item(sp, S_JOB_PID_TO_LOCAL_ID, (pid_t)-1, &id), ESPANK_NOEXIST);
    assert_int_equal(spank_get_item(sp, S_JOB_GLOBAL_TO_LOCAL_ID, 1u, &id), ESPANK_NOEXIST);
    assert_int_equal(id, 5);
    assert_int_equal(spank_get_item(sp, S_JOB_PID_TO_GLOBAL_ID, (pid_t)77, &id), ESPANK_SUCCESS);
    assert_int_equal(id, 0);
    assert_int_equal(spank_get_item(sp, S_JOB_GLOBAL_TO_LOCAL_ID, 8u, &id), ESPANK_SUCCESS);
    assert_int_equal(id, 0);
    host.facts.task = 0;
    assert_int_equal(spank_get_item(sp, S_TASK_PID, &pid), ESPANK_NOT_EXECD);
    assert_int_equal(spank_get_item(sp, S_TASK_EXIT_STATUS, &status), ESPANK_NOT_AVAIL);
    assert_true(pid == 5 && status == 5);
}

/* A handle is good while its stack is this process's. */
static void test_handles(void **state)
{
    spank_t sp = handle(S_CTX_LOCAL);
    struct spank_handle copy = *sp;
    char *text = NULL;

    (void)state;
    assert_int_equal(spank_get_item(&copy, S_SLURM_VERSION, &text), ESPANK_SUCCESS);
    copy.stack = NULL; /* the callback is over */
    assert_int_equal(spank_get_item(&copy, S_SLURM_VERSION, &text), ESPANK_BAD_ARG);
    spank_the_stack = NULL;
    assert_int_equal(spank_get_item(sp, S_SLURM_VERSION, &text), ESPANK_BAD_ARG);
    assert_int_equal(spank_get_item(NULL, S_SLURM_VERSION, &text), ESPANK_BAD_ARG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_unknown), cmocka_unit_test(test_version),
        cmocka_unit_test(test_widths),  cmocka_unit_test(test_strangers),
        cmocka_unit_test(test_handles),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
