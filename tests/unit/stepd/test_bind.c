/* test_bind.c - tasks of a step to CPUs and NUMA domains of this machine: masks, variables, what is
 * refused */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <linux/mempolicy.h>

#include "base/cleanup.h"
#include "stepd/step.h"
#include "stepd/task/bind.h"
#include "stepd/task/memory.h"

/* A socket of four cores with two threads; the kernel numbers the second threads from 4 on, and a
 * domain of memory has two cores each.  The step has the first three cores. */
struct sample {
    uint32_t os_ids[8];
    Pst__NumaDomain domains[2], *numa[2];
    Pst__Processors processors;
    Pst__AllocGroup group, *groups[1];
    Pst__Alloc alloc;
    Pst__StepRecord record;
    Pst__JobOnNode job;
    Pst__LaunchStep launch;
    Pst__StepFile sf;
    struct task tasks[4];
    struct step step;
};

static void fill_sample(struct sample *s, const char *cpu_bind, const char *mem_bind)
{
    static const uint32_t ids[] = { 0, 4, 1, 5, 2, 6, 3, 7 };

    *s = (struct sample){ 0 };
    memcpy(s->os_ids, ids, sizeof(ids));
    for (uint32_t i = 0; i < 2; i++) {
        pst__numa_domain__init(&s->domains[i]);
        s->domains[i].has_number = 1;
        s->domains[i].number = i;
        s->domains[i].cpus = (char *)(i ? "2-3,6-7" : "0-1,4-5");
        s->numa[i] = &s->domains[i];
    }
    pst__processors__init(&s->processors);
    s->processors.sockets = s->processors.has_sockets = s->processors.has_cores = 1;
    s->processors.cores = 4;
    s->processors.has_threads = s->processors.has_ldoms = 1;
    s->processors.threads = s->processors.ldoms = 2;
    s->processors.os_ids = s->os_ids;
    s->processors.n_os_ids = 8;
    s->processors.numa = s->numa;
    s->processors.n_numa = 2;
    pst__alloc_group__init(&s->group);
    s->group.has_nodes = s->group.nodes = 1;
    s->group.cpu_ids = (char *)"0-5";
    s->groups[0] = &s->group;
    pst__alloc__init(&s->alloc);
    s->alloc.groups = s->groups;
    s->alloc.n_groups = 1;
    pst__step_record__init(&s->record);
    s->record.alloc = &s->alloc;
    s->record.has_cpus_per_task = 1;
    s->record.cpus_per_task = 2;
    pst__job_on_node__init(&s->job);
    pst__launch_step__init(&s->launch);
    s->launch.cpu_bind = (char *)cpu_bind;
    s->launch.mem_bind = (char *)mem_bind;
    pst__step_file__init(&s->sf);
    s->sf.processors = &s->processors;
    s->sf.step = &s->record;
    s->sf.job = &s->job;
    s->sf.launch = &s->launch;
    s->step.sf = &s->sf;
    s->step.launch = &s->launch;
    s->step.tasks = s->tasks;
    s->step.n_tasks = 3;
    bind_prepare(&s->step);
    memory_prepare(&s->step);
}

static void free_sample(struct sample *s)
{
    memory_done(&s->step);
    bind_done(&s->step);
    assert_null(s->step.bind);
    assert_null(s->step.memory);
    envlist_done(&s->step.env);
}

/* The mask of a task in the kernel's numbers; 0: it is not bound. */
static uint64_t mask_of(const struct sample *s, size_t task)
{
    struct child c = { 0 };
    const struct bitmap *cpus = bind_cpus(&s->step, task);

    bind_task(&s->step, task, &c);
    if (!c.cpu_set) {
        assert_null(cpus);
        return 0;
    }
    assert_true(c.cpu_set_size >= sizeof(uint64_t));
    assert_true(cpus->words[0] == *(const uint64_t *)(const void *)c.cpu_set);
    return cpus->words[0];
}

static void expect_var(const struct sample *s, const char *name, const char *want)
{
    const char *got = envlist_get(&s->step.env, name);

    if (want)
        assert_string_equal(got ? got : "(unset)", want);
    else
        assert_null(got);
}

/* Three tasks of two CPUs on three cores: each has a core, with both its threads. */
static void test_cores(void **state)
{
    struct sample s;
    struct bitmap *all;

    (void)state;
    fill_sample(&s, NULL, NULL);
    assert_null(s.step.error);
    assert_true(mask_of(&s, 0) == 0x11);
    assert_true(mask_of(&s, 1) == 0x22);
    assert_true(mask_of(&s, 2) == 0x44);
    all = bind_step_cpus(&s.step);
    assert_non_null(all);
    assert_true(all->words[0] == 0x77);
    bitmap_free(all);
    expect_var(&s, "SLURM_CPU_BIND_VERBOSE", "quiet");
    expect_var(&s, "SLURM_CPU_BIND_TYPE", "mask_cpu:");
    expect_var(&s, "SLURM_CPU_BIND_LIST", "0x11,0x22,0x44");
    expect_var(&s, "SLURM_CPU_BIND", "quiet,mask_cpu:0x11,0x22,0x44");
    free_sample(&s);
}

static void test_lists(void **state)
{
    struct sample s;

    (void)state;
    fill_sample(&s, "verbose,map_cpu:0,3", NULL); /* of the step's CPUs, begun again */
    assert_null(s.step.error);
    assert_true(mask_of(&s, 0) == mask_of(&s, 2));
    assert_true(mask_of(&s, 0) != mask_of(&s, 1));
    expect_var(&s, "SLURM_CPU_BIND_VERBOSE", "verbose");
    expect_var(&s, "SLURM_CPU_BIND_TYPE", "map_cpu:");
    expect_var(&s, "SLURM_CPU_BIND_LIST", "0,3");
    expect_var(&s, "SLURM_CPU_BIND", "verbose,map_cpu:0,3");
    free_sample(&s);

    fill_sample(&s, "none", NULL); /* all tasks have all CPUs of the step */
    for (size_t i = 0; i < 3; i++)
        assert_true(mask_of(&s, i) == 0x77);
    free_sample(&s);
}

/* What cannot be met fails the step. */
static void test_refused(void **state)
{
    struct sample s;

    (void)state;
    fill_sample(&s, "map_cpu:99", NULL);
    assert_non_null(s.step.error);
    assert_string_equal(s.step.error, "Unable to satisfy cpu bind request");
    free_sample(&s);
    fill_sample(&s, "nonsense", NULL);
    assert_non_null(s.step.error);
    free_sample(&s);
    fill_sample(&s, NULL, "map_mem:7");
    assert_string_equal(s.step.error, "Unable to satisfy mem bind request");
    free_sample(&s);
}

/* A batch script has all CPUs of the job; nothing is said to it. */
static void test_script(void **state)
{
    struct sample s;

    (void)state;
    fill_sample(&s, NULL, NULL);
    free_sample(&s);
    s.step.env = (struct envlist)ENVLIST_INIT;
    s.step.launch = NULL;
    s.sf.launch = NULL;
    s.job.cpu_ids = (char *)"2-7";
    s.step.n_tasks = 1;
    bind_prepare(&s.step);
    memory_prepare(&s.step);
    assert_true(mask_of(&s, 0) == 0xee);
    expect_var(&s, "SLURM_CPU_BIND", NULL);
    free_sample(&s);
}

/* Where slurmd binds nothing, nothing is bound. */
static void test_off(void **state)
{
    struct sample s;
    struct child c = { 0 };

    (void)state;
    fill_sample(&s, NULL, NULL);
    free_sample(&s);
    s.step.env = (struct envlist)ENVLIST_INIT;
    s.sf.processors = NULL;
    s.launch.mem_bind = (char *)"local";
    bind_prepare(&s.step);
    memory_prepare(&s.step);
    assert_null(s.step.error);
    assert_true(mask_of(&s, 0) == 0);
    assert_null(bind_step_cpus(&s.step));
    memory_task(&s.step, 0, &c);
    assert_null(c.mem_domains);
    expect_var(&s, "SLURM_CPU_BIND", NULL); /* srun has said what was asked for */
    expect_var(&s, "SLURM_MEM_BIND", "quiet,local");
    expect_var(&s, "SLURM_MEM_BIND_TYPE", "local");
    free_sample(&s);
}

static uint64_t domains_of(const struct sample *s, size_t task, int policy)
{
    struct child c = { 0 };

    memory_task(&s->step, task, &c);
    if (!c.mem_domains)
        return 0;
    assert_int_equal(c.mem_policy, policy);
    assert_int_equal(c.n_mem_domains, 3); /* two, and the kernel takes one off */
    return *(const uint64_t *)(const void *)c.mem_domains;
}

/* local: the domains of the task's CPUs. */
static void test_memory(void **state)
{
    struct sample s;

    (void)state;
    fill_sample(&s, NULL, "local");
    assert_null(s.step.error);
    assert_true(domains_of(&s, 0, MPOL_BIND) == 1);
    assert_true(domains_of(&s, 1, MPOL_BIND) == 1);
    assert_true(domains_of(&s, 2, MPOL_BIND) == 2); /* core 2 */
    expect_var(&s, "SLURM_MEM_BIND_TYPE", "local");
    free_sample(&s);
    fill_sample(&s, NULL, "prefer,map_mem:1,0");
    assert_true(domains_of(&s, 0, MPOL_PREFERRED) == 2);
    assert_true(domains_of(&s, 1, MPOL_PREFERRED) == 1);
    assert_true(domains_of(&s, 2, MPOL_PREFERRED) == 2);
    expect_var(&s, "SLURM_MEM_BIND_LIST", "1,0");
    free_sample(&s);
    fill_sample(&s, NULL, "none");
    assert_true(domains_of(&s, 0, 0) == 0);
    free_sample(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cores),  cmocka_unit_test(test_lists), cmocka_unit_test(test_refused),
        cmocka_unit_test(test_script), cmocka_unit_test(test_off),   cmocka_unit_test(test_memory),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("bind", tests, NULL, NULL);
}
