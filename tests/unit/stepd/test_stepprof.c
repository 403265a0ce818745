/* test_stepprof.c - samples of steps: what --profile names, the lines, and a slurmd that is away */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "stepd/use/stepprof.h"

#define ALL 15u

static char dir[64];
static int taker = -1; /* slurmd's socket */

static int begin(void **state)
{
    struct sockaddr_un sa = { .sun_family = AF_UNIX };

    (void)state;
    (void)snprintf(dir, sizeof(dir), "/tmp/penstock-profile-XXXXXX");
    if (!mkdtemp(dir))
        return -1;
    (void)snprintf(sa.sun_path, sizeof(sa.sun_path), "%s/%s", dir, PROFILE_SOCKET);
    taker = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    return bind(taker, (struct sockaddr *)&sa, sizeof(sa));
}

static int end(void **state)
{
    char path[128];

    (void)state;
    if (taker >= 0)
        (void)close(taker);
    (void)snprintf(path, sizeof(path), "%s/%s", dir, PROFILE_SOCKET);
    (void)unlink(path);
    return rmdir(dir);
}

/* What has come, as one text; the caller frees it. */
static char *take_all(void)
{
    size_t room = 1u << 20, len = 0;
    char *text = calloc(1, room);
    ssize_t n;

    assert_non_null(text);
    while ((n = recv(taker, text + len, room - len - 1, MSG_DONTWAIT)) > 0)
        len += (size_t)n;
    text[len] = '\0';
    return text;
}

static struct stepprof *make(unsigned kinds, size_t n_tasks)
{
    struct stepprof_who who = { .job_id = 7, .step_id = UINT32_MAX - 4, .host = "n1" };
    struct stepprof *p = NULL;

    assert_int_equal(stepprof_new(&who, kinds, dir, n_tasks, &p), 0);
    return p;
}

static void test_kinds(void **state)
{
    (void)state;
    assert_int_equal(stepprof_kinds("All"), ALL);
    assert_int_equal(stepprof_kinds("task,ENERGY"), PROFILE_TASK | PROFILE_ENERGY);
    assert_int_equal(stepprof_kinds("lustre"), PROFILE_FILESYSTEM);
    assert_int_equal(stepprof_kinds("Filesystem,Network"), PROFILE_FILESYSTEM | PROFILE_NETWORK);
    assert_int_equal(stepprof_kinds("none,task"), 0);
    assert_int_equal(stepprof_kinds("tasks"), 0);
    assert_int_equal(stepprof_kinds(NULL), 0);
}

/* Counters are those since the sample before; memory is as it is. */
static void test_task(void **state)
{
    struct stepprof *p = make(ALL, 1);
    struct stepprof_use use = {
        .cpu_us = 500000, .read_bytes = 1u << 20, .mem = 2048, .vmem = 4096, .pages = 3
    };
    _cleanup_free_ char *first = NULL, *second = NULL, *third = NULL;

    (void)state;
    stepprof_begin(p, 1000000, 10000000);
    stepprof_task(p, 0, 5, &use, false);
    stepprof_end(p);
    first = take_all();
    assert_non_null(strstr(first, "CPUTime,job=7,step=-5,task=5,host=n1 value=0.5 1000\n"));
    assert_non_null(strstr(first, "CPUUtilization,job=7,step=-5,task=5,host=n1 value=0 1000\n"));
    use.cpu_us = 2000000;
    use.write_bytes = 3u << 20;
    stepprof_begin(p, 3000000, 12000000);
    stepprof_task(p, 0, 5, &use, true);
    stepprof_end(p);
    second = take_all();
    assert_string_equal(second, "CPUFrequency,job=7,step=-5,task=5,host=n1 value=0 3000\n"
                                "CPUTime,job=7,step=-5,task=5,host=n1 value=1.5 3000\n"
                                "CPUUtilization,job=7,step=-5,task=5,host=n1 value=75 3000\n"
                                "RSS,job=7,step=-5,task=5,host=n1 value=2 3000\n"
                                "VMSize,job=7,step=-5,task=5,host=n1 value=4 3000\n"
                                "Pages,job=7,step=-5,task=5,host=n1 value=0 3000\n"
                                "ReadMB,job=7,step=-5,task=5,host=n1 value=0 3000\n"
                                "WriteMB,job=7,step=-5,task=5,host=n1 value=3 3000\n");
    stepprof_begin(p, 4000000, 13000000);
    stepprof_task(p, 0, 5, &use, true); /* it is over */
    stepprof_task(p, 1, 6, &use, true); /* there is none */
    stepprof_end(p);
    third = take_all();
    assert_string_equal(third, "");
    (void)stepprof_free(p);
}

static void test_node(void **state)
{
    struct stepprof *p = make(PROFILE_ENERGY | PROFILE_NETWORK, 1);
    _cleanup_free_ char *text = NULL;

    (void)state;
    stepprof_begin(p, 1000000, 10000000);
    stepprof_energy(p, 1000000); /* no time has passed: no power */
    stepprof_begin(p, 3000000, 12000000);
    stepprof_energy(p, 201000000);
    stepprof_io(p, PROFILE_NETWORK, &(struct nodeio_count){ 1u << 20, 1u << 19, 700, 3 });
    stepprof_io(p, PROFILE_FILESYSTEM, &(struct nodeio_count){ 1, 1, 1, 1 }); /* not wanted */
    stepprof_task(p, 0, 0, &(struct stepprof_use){ 0 }, false);
    stepprof_end(p);
    text = take_all();
    assert_string_equal(text, "Power,job=7,step=-5,task=Energy,host=n1 value=100 3000\n"
                              "PacketsIn,job=7,step=-5,task=Network,host=n1 value=700 3000\n"
                              "InMB,job=7,step=-5,task=Network,host=n1 value=1 3000\n"
                              "PacketsOut,job=7,step=-5,task=Network,host=n1 value=3 3000\n"
                              "OutMB,job=7,step=-5,task=Network,host=n1 value=0.5 3000\n");
    (void)stepprof_free(p);
}

/* More than a datagram: each holds whole lines.  When nobody takes them, nothing waits. */
static void test_many(void **state)
{
    struct stepprof *p = make(PROFILE_TASK, 2000);
    char data[PROFILE_DATAGRAM_MAX];
    unsigned came = 0;
    ssize_t n;

    (void)state;
    stepprof_begin(p, 1000000, 10000000);
    for (uint32_t i = 0; i < 2000; i++)
        stepprof_task(p, i, i, &(struct stepprof_use){ 0 }, false);
    stepprof_end(p);
    while ((n = recv(taker, data, sizeof(data), MSG_DONTWAIT)) > 0) {
        assert_int_equal(data[n - 1], '\n');
        came++;
    }
    assert_true(came >= 2);
    (void)close(taker);
    taker = -1;
    stepprof_task(p, 0, 0, &(struct stepprof_use){ 0 }, false);
    stepprof_end(p); /* refused */
    (void)stepprof_free(p);
}

static void test_no_folder(void **state)
{
    struct stepprof_who who = { .host = "n1" };
    struct stepprof *p = NULL;

    (void)state;
    assert_true(stepprof_new(&who, ALL, "/nonexistent/x", 1, &p) < 0);
    assert_null(p);
    assert_null(stepprof_free(NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_kinds), cmocka_unit_test(test_task),
                                        cmocka_unit_test(test_node), cmocka_unit_test(test_many),
                                        cmocka_unit_test(test_no_folder) };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, begin, end);
}
