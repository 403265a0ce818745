/* test_gpu.c - which GPUs of a step each task sees */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/cleanup.h"
#include "stepd/step.h"
#include "stepd/task/gpu.h"

/* Three GPUs of the node, of which the step has two, and three tasks. */
struct sample {
    Pst__Gpu gpus[3], *table[3];
    Pst__GresAlloc gres, *gres_list[1];
    Pst__AllocGroup group, *groups[1];
    Pst__Alloc alloc;
    Pst__StepRecord record;
    Pst__LaunchStep launch;
    Pst__StepFile sf;
    struct task tasks[3];
    struct step step;
};

static void fill_sample(struct sample *s, const char *tres_bind)
{
    *s = (struct sample){ 0 };
    for (uint32_t i = 0; i < 3; i++) {
        pst__gpu__init(&s->gpus[i]);
        s->gpus[i].number = i;
        s->gpus[i].minor = 7 - i;
        s->gpus[i].env = GPU_ENV_CUDA;
        s->table[i] = &s->gpus[i];
    }
    pst__gres_alloc__init(&s->gres);
    s->gres.name = (char *)"gpu";
    s->gres.devices = (char *)"0,2";
    s->gres_list[0] = &s->gres;
    pst__alloc_group__init(&s->group);
    s->group.nodes = s->group.has_nodes = 1;
    s->group.gres = s->gres_list;
    s->group.n_gres = 1;
    s->groups[0] = &s->group;
    pst__alloc__init(&s->alloc);
    s->alloc.groups = s->groups;
    s->alloc.n_groups = 1;
    pst__step_record__init(&s->record);
    s->record.alloc = &s->alloc;
    pst__launch_step__init(&s->launch);
    s->launch.tres_bind = (char *)tres_bind;
    pst__step_file__init(&s->sf);
    s->sf.gpus = s->table;
    s->sf.n_gpus = 3;
    s->sf.step = &s->record;
    s->sf.launch = &s->launch;
    s->step.sf = &s->sf;
    s->step.launch = &s->launch;
    s->step.tasks = s->tasks;
    s->step.n_tasks = 3;
    gpu_prepare(&s->step);
}

static void assert_seen(struct sample *s, size_t task, const char *cuda, const char *ids)
{
    struct envlist el = ENVLIST_INIT;
    const char *got;

    gpu_task(&s->step, task, &el);
    got = envlist_get(&el, "CUDA_VISIBLE_DEVICES");
    assert_string_equal(got ? got : "", cuda);
    got = envlist_get(&el, "SLURM_STEP_GPUS");
    assert_string_equal(got ? got : "", ids);
    envlist_done(&el);
}

static void test_without_a_binding(void **state)
{
    struct sample s;

    (void)state;
    fill_sample(&s, NULL);
    assert_null(s.step.gpus);
    assert_seen(&s, 0, "", ""); /* the step's own variables hold */
    assert_int_equal(gpu_first_task(&s.step, &s.gpus[2]), 0);
    gpu_done(&s.step);
}

/* Two tasks on the first GPU, the third on the next. */
static void test_single(void **state)
{
    struct sample s;

    (void)state;
    fill_sample(&s, "gres/license:3+gres/gpu:single:2");
    assert_null(s.step.error);
    assert_seen(&s, 0, "7", "");
    assert_seen(&s, 1, "7", "");
    assert_seen(&s, 2, "5", "");
    assert_int_equal(gpu_first_task(&s.step, &s.gpus[2]), 2);
    assert_int_equal(gpu_first_task(&s.step, &s.gpus[1]), 0); /* none of the step's */
    gpu_done(&s.step);
    assert_null(s.step.gpus);
}

/* A task with GPUs of its own is told of these alone. */
static void test_per_task(void **state)
{
    struct sample s;

    (void)state;
    fill_sample(&s, "gres/gpu:per_task:1");
    assert_seen(&s, 0, "7", "7");
    assert_seen(&s, 1, "5", "5");
    gpu_done(&s.step);
}

static void test_bad_words(void **state)
{
    struct sample s;

    (void)state;
    fill_sample(&s, "gres/gpu:map_gpu:x");
    assert_non_null(s.step.error);
    gpu_done(&s.step);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_without_a_binding),
                                        cmocka_unit_test(test_single),
                                        cmocka_unit_test(test_per_task),
                                        cmocka_unit_test(test_bad_words) };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("gpu", tests, NULL, NULL);
}
