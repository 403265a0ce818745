/* test_gpuclock.c - what becomes of --gpu-freq where the node's library is not used; with a library
 * tests/integration/nodes/test_gather.py has it */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "stepd/step.h"
#include "stepd/task/gpuclock.h"

struct machine {
    Pst__Gpu gpu, *gpus[1];
    Pst__GresAlloc alloc, *allocs[1];
    Pst__JobRecord job;
    Pst__JobOnNode on;
    Pst__StepFile sf;
    struct step step;
};

/* The batch step of a job that has GPU 0. */
static void begin(struct machine *m, const char *asked, const char *gres)
{
    *m = (struct machine){ .gpus = { &m->gpu }, .allocs = { &m->alloc } };
    pst__gpu__init(&m->gpu);
    pst__gres_alloc__init(&m->alloc);
    pst__job_record__init(&m->job);
    pst__job_on_node__init(&m->on);
    pst__step_file__init(&m->sf);
    m->alloc.name = (char *)gres;
    m->alloc.devices = (char *)"0";
    m->job.gpu_freq = (char *)asked;
    m->on.job = &m->job;
    m->on.gres = m->allocs;
    m->on.n_gres = 1;
    m->sf.job = &m->on;
    m->sf.gpus = m->gpus;
    m->sf.n_gpus = 1;
    m->step = (struct step){ .sf = &m->sf, .job = &m->job, .err_fd = -1 };
}

static void test_told(void **state)
{
    static const struct {
        const char *asked, *gres, *line;
    } rows[] = {
        { "high", "gpu", "GpuFreq=control_disabled\n" },
        { NULL, "gpu", NULL },
        { "high", "shard", NULL }, /* others have the GPU too */
        { "high", "craynetwork", NULL },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct machine m;

        begin(&m, rows[i].asked, rows[i].gres);
        gpuclock_set(&m.step);
        if (rows[i].line)
            assert_string_equal(gpuclock_line(&m.step), rows[i].line);
        else
            assert_null(gpuclock_line(&m.step));
        gpuclock_done(&m.step);
        gpuclock_done(&m.step); /* again: nothing is left to do */
        assert_null(gpuclock_line(&m.step));
    }
}

static void test_nonsense(void **state)
{
    struct machine m;

    (void)state;
    begin(&m, "nonsense", "gpu");
    m.sf.gpu_clocks = m.sf.has_gpu_clocks = true;
    gpuclock_set(&m.step);
    assert_null(m.step.error); /* the step runs all the same */
    assert_null(gpuclock_line(&m.step));
    gpuclock_done(&m.step);
}

/* The site's frequency is for whoever asked for none, and is silent where clocks cannot be set. */
static void test_default(void **state)
{
    struct machine m;

    (void)state;
    begin(&m, NULL, "gpu");
    m.sf.gpu_clocks = m.sf.has_gpu_clocks = true;
    m.sf.gpu_freq_default = (char *)"nonsense";
    gpuclock_set(&m.step);
    assert_null(m.step.error);
    assert_non_null(m.step.gpuclock); /* it was looked at */
    gpuclock_done(&m.step);
    begin(&m, NULL, "shard");
    m.sf.gpu_clocks = m.sf.has_gpu_clocks = true;
    m.sf.gpu_freq_default = (char *)"high";
    gpuclock_set(&m.step);
    assert_null(m.step.gpuclock);
    gpuclock_done(&m.step);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_told),
        cmocka_unit_test(test_nonsense),
        cmocka_unit_test(test_default),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
