/* test_reqtres.c - what a job asks for: nodes, tasks, CPUs, devices, memory, as numbers and text */
#include "model_util.h"

#include "base/strbuf.h"
#include "model/words/reqtres.h"

static const struct row {
    const char *name;
    uint32_t nodes, max_nodes, tasks, per_node, cpus; /* 0: not said; cpus: of a task */
    const char *job, *node, *socket, *task;           /* devices */
    uint32_t want_nodes, want_tasks;
    uint64_t want_cpus, want_gpus;
} rows[] = {
    { "nothing", 0, 0, 0, 0, 0, NULL, NULL, NULL, NULL, 1, 1, 1, 0 },
    { "-N3", 3, 3, 0, 0, 0, NULL, NULL, NULL, NULL, 3, 3, 3, 0 },
    { "-N2-4", 2, 4, 0, 0, 0, NULL, NULL, NULL, NULL, 2, 1, 1, 0 },
    { "-N1-4", 1, 4, 0, 0, 0, NULL, NULL, NULL, NULL, 1, 1, 1, 0 },
    { "-n5", 0, 0, 5, 0, 0, NULL, NULL, NULL, NULL, 1, 5, 5, 0 },
    { "-n5 -c3", 0, 0, 5, 0, 3, NULL, NULL, NULL, NULL, 1, 5, 15, 0 },
    { "-N2 --ntasks-per-node=4", 2, 2, 0, 4, 0, NULL, NULL, NULL, NULL, 2, 8, 8, 0 },
    { "--gpus=3", 0, 0, 0, 0, 0, "gres/gpu:3", NULL, NULL, NULL, 1, 1, 1, 3 },
    { "-N2 --gres=gpu:a100:2", 2, 2, 0, 0, 0, NULL, "gres/gpu:a100:2", NULL, NULL, 2, 2, 2, 4 },
    { "-N2 --gpus-per-socket=2", 2, 2, 0, 0, 0, NULL, NULL, "gres/gpu:2", NULL, 2, 2, 2, 4 },
    { "-n4 --gpus-per-task=2", 0, 0, 4, 0, 0, NULL, NULL, NULL, "gres/gpu:2", 1, 4, 4, 8 },
    { "-G4 --gpus-per-node=2", 2, 2, 0, 0, 0, "gres/gpu:4", "gres/gpu:2", NULL, NULL, 2, 1, 1, 4 },
};

static void fill(Pst__JobRecord *r, const struct row *w)
{
    if (w->nodes)
        SET(r, min_nodes, w->nodes);
    if (w->max_nodes)
        SET(r, max_nodes, w->max_nodes);
    if (w->tasks)
        SET(r, num_tasks, w->tasks);
    if (w->per_node)
        SET(r, ntasks_per_node, w->per_node);
    if (w->cpus)
        SET(r, cpus_per_task, w->cpus);
    r->tres_per_job = (char *)w->job; /* read only, likewise below */
    r->tres_per_node = (char *)w->node;
    r->tres_per_socket = (char *)w->socket;
    r->tres_per_task = (char *)w->task;
}

static void test_numbers(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        Pst__JobRecord r = PST__JOB_RECORD__INIT;

        fill(&r, &rows[i]);
        if (reqtres_nodes(&r) != rows[i].want_nodes || reqtres_tasks(&r) != rows[i].want_tasks ||
            reqtres_cpus(&r) != rows[i].want_cpus ||
            reqtres_gres(&r, "gpu", NULL) != rows[i].want_gpus)
            fail_msg("%s: %u nodes, %u tasks, %llu CPUs, %llu GPUs", rows[i].name,
                     reqtres_nodes(&r), reqtres_tasks(&r), (unsigned long long)reqtres_cpus(&r),
                     (unsigned long long)reqtres_gres(&r, "gpu", NULL));
    }
}

static void test_types(void **state)
{
    Pst__JobRecord r = PST__JOB_RECORD__INIT;

    (void)state;
    SET(&r, min_nodes, 2);
    r.tres_per_node = (char *)"gres/gpu:a100:2,gres/gpu:v100:1,gres/nic:1";
    assert_int_equal(reqtres_gres(&r, "gpu", NULL), 6);
    assert_int_equal(reqtres_gres(&r, "gpu", "a100"), 4);
    assert_int_equal(reqtres_gres(&r, "gpu", "h100"), 0);
    assert_int_equal(reqtres_gres(&r, "nic", NULL), 2);
    r.tres_per_node = NULL;
    SET(&r, num_tasks, 7); /* --ntasks-per-gpu=2: as many as the tasks need */
    SET(&r, ntasks_per_gpu, 2);
    assert_int_equal(reqtres_gres(&r, "gpu", NULL), 4);
    assert_int_equal(reqtres_gres(&r, "gpu", "a100"), 0);
    assert_int_equal(reqtres_gres(&r, "nic", NULL), 0);
}

static void test_cpus(void **state)
{
    Pst__JobRecord r = PST__JOB_RECORD__INIT;

    (void)state;
    SET(&r, num_tasks, 8);
    SET(&r, min_nodes, 2);
    SET(&r, overcommit, true);
    assert_int_equal(reqtres_cpus(&r), 2);
    SET(&r, min_cpus, 5);
    assert_int_equal(reqtres_cpus(&r), 5);
    SET(&r, overcommit, false);
    SET(&r, cpus_per_task, 4);
    SET(&r, asked_cpus_per_task, 0); /* MaxMemPerCPU made four of none */
    assert_int_equal(reqtres_cpus(&r), 8);
    r.tres_per_job = (char *)"gres/gpu:3";
    SET(&r, cpus_per_gpu, 6);
    assert_int_equal(reqtres_cpus(&r), 18);
}

static void test_memory(void **state)
{
    Pst__JobRecord r = PST__JOB_RECORD__INIT;

    (void)state;
    SET(&r, num_tasks, 6);
    SET(&r, min_nodes, 2);
    SET(&r, mem_per_cpu_mib, 100);
    assert_int_equal(reqtres_mem_mib(&r, 5000), 600);
    SET(&r, mem_per_node_mib, 0); /* all of a node */
    assert_int_equal(reqtres_mem_mib(&r, 5000), 10000);
    SET(&r, mem_per_node_mib, 70);
    assert_int_equal(reqtres_mem_mib(&r, 5000), 140);
    r.has_mem_per_node_mib = r.has_mem_per_cpu_mib = false;
    r.tres_per_job = (char *)"gres/gpu:3";
    SET(&r, def_mem_per_gpu_mib, 20);
    assert_int_equal(reqtres_mem_mib(&r, 5000), 60);
    SET(&r, mem_per_gpu_mib, 30);
    assert_int_equal(reqtres_mem_mib(&r, 5000), 90);
    SET(&r, req_mem_mib, 1); /* what was noted is for display */
    assert_int_equal(reqtres_mem_mib(&r, 5000), 90);
}

static void expect_text(const Pst__JobRecord *r, bool noconvert, const char *want)
{
    _cleanup_val_(strbuf_done) struct strbuf sb = STRBUF_INIT;

    reqtres_put(&sb, r, noconvert);
    assert_string_equal(strbuf_str(&sb), want);
}

static void test_text(void **state)
{
    Pst__JobRecord r = PST__JOB_RECORD__INIT;

    (void)state;
    SET(&r, num_tasks, 4);
    SET(&r, min_nodes, 2);
    expect_text(&r, false, "cpu=4,node=2,billing=4");
    SET(&r, mem_per_cpu_mib, 1024);
    expect_text(&r, false, "cpu=4,mem=4G,node=2,billing=4");
    expect_text(&r, true, "cpu=4,mem=4096M,node=2,billing=4");
    SET(&r, req_billing, 9);
    r.req_gres = (char *)"gres/gpu=2";
    expect_text(&r, false, "cpu=4,mem=4G,node=2,billing=9,gres/gpu=2");
    SET(&r, req_mem_mib, 512); /* before MaxMemPerCPU */
    expect_text(&r, false, "cpu=4,mem=512M,node=2,billing=9,gres/gpu=2");
    r.req_tres = (char *)"cpu=1,node=1";
    expect_text(&r, false, "cpu=1,node=1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers), cmocka_unit_test(test_types), cmocka_unit_test(test_cpus),
        cmocka_unit_test(test_memory),  cmocka_unit_test(test_text),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
