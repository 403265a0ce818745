/* test_tasks.c - layout of ranks, words for ends, multi-prog maps, spread over nodes */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/job/allocenv.h"
#include "cli/job/tasks.h"

static const struct {
    const char *dist;
    uint32_t counts[3];
    uint32_t ranks[8];
    size_t n;
} layouts[] = {
    { NULL, { 2, 2, 1 }, { 0, 1, 2, 3, 4 }, 5 },
    { "block", { 2, 2, 1 }, { 0, 1, 2, 3, 4 }, 5 },
    { "cyclic", { 2, 2, 1 }, { 0, 3, 1, 4, 2 }, 5 },
    { "cyclic:block", { 1, 3, 1 }, { 0, 1, 3, 4, 2 }, 5 },
    { "plane=3", { 6, 2, 0 }, { 0, 1, 2, 5, 6, 7, 3, 4 }, 8 },
    { "arbitrary=2,0*2,1,0:block", { 3, 1, 1 }, { 1, 2, 4, 3, 0 }, 5 },
    { "arbitrary=2,0*2,1", { 3, 1, 1 }, { 0, 1, 2, 3, 4 }, 5 }, /* a list of others */
    { "arbitrary=0*4294967296,1", { 3, 1, 1 }, { 0, 1, 2, 3, 4 }, 5 },
    { "arbitrary=3,0", { 3, 1, 1 }, { 0, 1, 2, 3, 4 }, 5 },
    { "arbitrary=0*2x,0", { 3, 1, 1 }, { 0, 1, 2, 3, 4 }, 5 },
};

static void test_layout(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(layouts); i++) {
        uint32_t ranks[8] = { 0 };

        tasks_layout(layouts[i].dist, layouts[i].counts, 3, ranks);
        assert_memory_equal(ranks, layouts[i].ranks, layouts[i].n * sizeof(*ranks));
    }
}

static void test_list(void **state)
{
    const uint32_t ranks[] = { 0, 1, 3, 7, 8, 9 };
    _cleanup_free_ char *text = tasks_list(ranks, 6), *one = tasks_list(ranks, 1),
                        *none = tasks_list(ranks, 0);

    (void)state;
    assert_string_equal(text, "0-1,3,7-9");
    assert_string_equal(one, "0");
    assert_string_equal(none, "");
}

static const struct {
    uint32_t status;
    bool oom;
    const char *text;
    int code;
} ends[] = {
    { 0x0200, false, "Exited with exit code 2", 2 },
    { SIGKILL, false, "Killed", 137 },
    { SIGTERM, false, "Terminated", 143 },
    { SIGSEGV, false, "Segmentation fault", 139 },
    { SIGSEGV | 0x80, false, "Segmentation fault (core dumped)", 139 },
    { SIGUSR2, false, "User defined signal 2", 140 },
    { SIGKILL, true, "Out Of Memory", 253 },
    { 0, false, "Exited with exit code 0", 0 },
};

static void test_ends(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
        char text[64];

        tasks_status_text(ends[i].status, ends[i].oom, text, sizeof(text));
        assert_string_equal(text, ends[i].text);
        assert_int_equal(tasks_exit_code(ends[i].status, ends[i].oom), ends[i].code);
    }
}

static void test_maps(void **state)
{
    (void)state;
    assert_int_equal(tasks_multi_prog_count("0 hostname\n1-2 echo task:%t\n"), 3);
    assert_int_equal(tasks_multi_prog_count("# 9 no\n\n  4,1 x \\\n7 is an argument\n* y"), 5);
    assert_int_equal(tasks_multi_prog_count("* y"), 0);
    assert_int_equal(tasks_multi_prog_count("99999999999 x"), 0);
}

static void test_spread(void **state)
{
    const uint32_t cpus[] = { 2, 2, 4 };
    uint32_t tasks[3];
    _cleanup_free_ char *text = NULL;

    (void)state;
    allocenv_spread(4, 1, cpus, 3, tasks);
    assert_int_equal(tasks[0], 2);
    assert_int_equal(tasks[2], 1);
    allocenv_spread(7, 1, cpus, 3, tasks);
    assert_int_equal(tasks[2], 3);
    allocenv_spread(3, 2, cpus, 3, tasks);
    text = allocenv_counts(tasks, 3);
    assert_string_equal(text, "1(x3)");
    allocenv_spread(20, 1, cpus, 3, tasks);
    assert_int_equal(tasks[0] + tasks[1] + tasks[2], 20);
}

/* Mistakes in the map of --multi-prog, before anything runs. */
static void test_map_checked(void **state)
{
    static const struct {
        const char *map;
        uint32_t tasks;
        int status;
    } maps[] = {
        { "0 a\n1-2 b\n* c\n", 5, 0 },
        { "# x\n\n0 a \\\n b\n1 c\n", 2, 0 },
        { "0,2 a\n1 b\n", 3, 0 },
        { "0-9 a\n", 0, 0 }, /* nobody knows how many tasks */
        { "0 a\n", 3, 1 },
        { "", 1, 1 },
        { "0-1 a\n1 b\n", 2, 1 },
        { "0-9 a\n", 2, 1 },
        { "2-1 a\n", 3, 1 },
        { "x a\n", 1, 1 },
        { "0\n", 1, 1 },
        { "* a\n0 b\n", 2, 1 },
        { "0-3:2 a\n", 4, 1 },
        { "0-99999999999999999999 a\n", 4, 1 },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(maps); i++)
        assert_int_equal(tasks_multi_prog_check(maps[i].map, "m", maps[i].tasks), maps[i].status);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_map_checked), cmocka_unit_test(test_layout),
        cmocka_unit_test(test_list),        cmocka_unit_test(test_ends),
        cmocka_unit_test(test_maps),        cmocka_unit_test(test_spread),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
