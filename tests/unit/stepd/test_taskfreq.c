/* test_taskfreq.c - the frequency of a step's CPUs, in a folder of files that stands for the
 * machine */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "stepd/step.h"
#include "stepd/task/taskfreq.h"

static const char *const folders[] = { "sys",
                                       "sys/devices",
                                       "sys/devices/system",
                                       "sys/devices/system/cpu",
                                       "sys/devices/system/cpu/cpu5",
                                       "sys/devices/system/cpu/cpu5/cpufreq" };
static const char *const files[][2] = {
    { "scaling_governor", "ondemand\n" },
    { "scaling_min_freq", "1000\n" },
    { "scaling_max_freq", "3000\n" },
    { "scaling_setspeed", "none\n" },
    { "cpuinfo_min_freq", "1000\n" },
    { "cpuinfo_max_freq", "3000\n" },
    { "scaling_available_governors", "ondemand performance\n" },
};

struct machine {
    char root[64];
    Pst__Processors cpus;
    uint32_t os_ids[2];
    Pst__JobRecord job;
    Pst__JobOnNode on;
    Pst__StepFile sf;
    struct step step;
};

static void put_file(const struct machine *m, const char *name, const char *text)
{
    char path[160];
    FILE *f;

    (void)snprintf(path, sizeof(path), "%s/%s/%s", m->root, folders[5], name);
    f = fopen(path, "w");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

static void expect_file(const struct machine *m, const char *name, const char *text)
{
    char path[160], buf[64] = "";
    FILE *f;

    (void)snprintf(path, sizeof(path), "%s/%s/%s", m->root, folders[5], name);
    f = fopen(path, "r");
    assert_non_null(f);
    assert_non_null(fgets(buf, sizeof(buf), f));
    (void)fclose(f);
    buf[strcspn(buf, "\n")] = '\0';
    assert_string_equal(buf, text);
}

/* The batch step of a job that has CPU 1 of the node, which the kernel calls 5. */
static void begin(struct machine *m, const char *asked)
{
    *m = (struct machine){ .root = "/tmp/penstock-taskfreq-XXXXXX", .os_ids = { 4, 5 } };
    assert_non_null(mkdtemp(m->root));
    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
        char path[160];

        (void)snprintf(path, sizeof(path), "%s/%s", m->root, folders[i]);
        assert_int_equal(mkdir(path, 0700), 0);
    }
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
        put_file(m, files[i][0], files[i][1]);
    pst__processors__init(&m->cpus);
    pst__job_record__init(&m->job);
    pst__job_on_node__init(&m->on);
    pst__step_file__init(&m->sf);
    m->cpus.os_ids = m->os_ids;
    m->cpus.n_os_ids = 2;
    m->on.job = &m->job;
    m->on.cpu_ids = (char *)"1";
    m->sf.job = &m->on;
    m->sf.processors = &m->cpus;
    m->sf.machine_root = m->root;
    m->sf.cpu_freq = (char *)asked;
    m->sf.cpu_governors = (char *)"OnDemand,Performance";
    m->step = (struct step){ .sf = &m->sf, .job = &m->job, .err_fd = -1 };
}

static void end(struct machine *m)
{
    char path[160];

    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        (void)snprintf(path, sizeof(path), "%s/%s/%s", m->root, folders[5], files[i][0]);
        assert_int_equal(unlink(path), 0);
    }
    for (size_t i = sizeof(folders) / sizeof(folders[0]); i > 0; i--) {
        (void)snprintf(path, sizeof(path), "%s/%s", m->root, folders[i - 1]);
        assert_int_equal(rmdir(path), 0);
    }
    assert_int_equal(rmdir(m->root), 0);
}

static void test_set_and_back(void **state)
{
    struct machine m;

    (void)state;
    begin(&m, "1500-high:performance");
    taskfreq_set(&m.step);
    expect_file(&m, "scaling_governor", "performance");
    expect_file(&m, "scaling_min_freq", "1500");
    expect_file(&m, "scaling_max_freq", "3000");
    taskfreq_done(&m.step);
    expect_file(&m, "scaling_governor", "ondemand");
    expect_file(&m, "scaling_min_freq", "1000");
    taskfreq_done(&m.step); /* again: nothing is left to do */
    end(&m);
}

static void test_changed_meanwhile(void **state)
{
    struct machine m;

    (void)state;
    begin(&m, "2000");
    taskfreq_set(&m.step);
    expect_file(&m, "scaling_max_freq", "2000");
    put_file(&m, "scaling_max_freq", "2500\n");
    taskfreq_done(&m.step);
    expect_file(&m, "scaling_max_freq", "2500");
    end(&m);
}

static void test_left_alone(void **state)
{
    static const char *const asked[] = { NULL, "powersave", "userspace", "high-low", "nonsense" };

    (void)state;
    for (size_t i = 0; i < sizeof(asked) / sizeof(asked[0]); i++) {
        struct machine m;

        begin(&m, asked[i]);
        taskfreq_set(&m.step);
        assert_null(m.step.error); /* the step runs all the same */
        for (size_t k = 0; k < 3; k++) {
            char want[16];

            (void)snprintf(want, sizeof(want), "%s", files[k][1]);
            want[strcspn(want, "\n")] = '\0';
            expect_file(&m, files[k][0], want);
        }
        taskfreq_done(&m.step);
        end(&m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_set_and_back),
        cmocka_unit_test(test_changed_meanwhile),
        cmocka_unit_test(test_left_alone),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
