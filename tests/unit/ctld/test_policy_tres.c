/* test_policy_tres.c - how much of a TRES a job asks for: nodes, tasks, memory, GRES, licences */
#include "model_util.h"

#include "base/strbuf.h"
#include "ctld/policy/policy_tres.h"
#include "model/account/assoc.h"

#define GPU 1001u
#define A100 1002u
#define MATLAB 1003u
#define BUFFER 1004u
#define OTHER 1005u

static void name_tres(struct assoc_mgr *am, uint32_t id, const char *type, const char *name)
{
    Pst__AcctChange change = PST__ACCT_CHANGE__INIT;
    Pst__TresRecord t = PST__TRES_RECORD__INIT;

    SET(&t, tres_id, id);
    t.type = (char *)type; /* copied, not changed; likewise below */
    t.name = (char *)name;
    change.body_case = PST__ACCT_CHANGE__BODY_TRES;
    change.tres = &t;
    SET(&change, version, id);
    assert_int_equal(am_apply(am, &change, NULL), 0);
}

static struct assoc_mgr *known_tres(void)
{
    static const struct {
        uint32_t id;
        const char *type, *name;
    } all[] = {
        { AM_TRES_CPU, "cpu", NULL },         { AM_TRES_MEM, "mem", NULL },
        { AM_TRES_ENERGY, "energy", NULL },   { AM_TRES_NODE, "node", NULL },
        { AM_TRES_BILLING, "billing", NULL }, { GPU, "gres", "gpu" },
        { A100, "gres", "gpu:a100" },         { MATLAB, "license", "matlab" },
        { BUFFER, "bb", "datawarp" },         { OTHER, "fs", "disk" },
    };
    struct assoc_mgr *am = NULL;

    assert_int_equal(am_new(&am), 0);
    for (size_t i = 0; i < ARRAY_SIZE(all); i++)
        name_tres(am, all[i].id, all[i].type, all[i].name);
    return am;
}

static void test_types(void **state)
{
    static const struct {
        uint32_t id;
        enum policy_tres_type type;
    } cases[] = {
        { AM_TRES_CPU, POLICY_CPU },
        { AM_TRES_MEM, POLICY_MEM },
        { AM_TRES_ENERGY, POLICY_ENERGY },
        { AM_TRES_NODE, POLICY_NODE },
        { AM_TRES_BILLING, POLICY_BILLING },
        { GPU, POLICY_GRES },
        { A100, POLICY_GRES },
        { MATLAB, POLICY_LICENSE },
        { BUFFER, POLICY_BB },
        { OTHER, POLICY_OTHER },
        { 4711, POLICY_OTHER },
    };
    struct assoc_mgr *am = known_tres();

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        assert_int_equal(policy_tres_type(am, cases[i].id), cases[i].type);
    am_free(am);
}

struct ask {
    uint32_t nodes, least, tasks, per_node, cpt, min_cpus, pn_cpus, sockets;
    uint64_t mem_node, mem_cpu;
    bool overcommit;
    const char *tres_node, *tres_job, *tres_task, *tres_socket, *licenses;
};

static const struct {
    struct ask ask;
    uint32_t tres;
    uint64_t all, each; /* of the job, and of one node */
} cases[] = {
    /* a job that says nothing: a node, a task, a CPU */
    { { 0 }, AM_TRES_NODE, 1, 1 },
    { { 0 }, AM_TRES_CPU, 1, 1 },
    { { 0 }, AM_TRES_BILLING, 1, 1 },
    { { 0 }, AM_TRES_MEM, 0, 0 },
    { { 0 }, GPU, 0, 0 },
    { { 0 }, MATLAB, 0, 0 },
    { { 0 }, 4711, 0, 0 },
    /* nodes and tasks */
    { { .nodes = 3 }, AM_TRES_NODE, 3, 1 },
    { { .nodes = 1, .least = 4 }, AM_TRES_NODE, 4, 1 },
    { { .nodes = 3 }, AM_TRES_CPU, 3, 1 },
    { { .nodes = 2, .per_node = 4 }, AM_TRES_CPU, 8, 4 },
    { { .nodes = 2, .tasks = 5, .cpt = 2 }, AM_TRES_CPU, 10, 5 },
    { { .nodes = 3, .tasks = 5, .cpt = 2 }, AM_TRES_CPU, 10, 4 }, /* rounded up */
    { { .nodes = 2, .tasks = 50, .overcommit = true }, AM_TRES_CPU, 2, 1 },
    { { .nodes = 2, .min_cpus = 9 }, AM_TRES_CPU, 9, 5 },
    { { .nodes = 2, .pn_cpus = 6 }, AM_TRES_CPU, 12, 6 },
    /* memory: by node, or by CPU */
    { { .nodes = 2, .mem_node = 1000 }, AM_TRES_MEM, 2000, 1000 },
    { { .nodes = 2, .tasks = 4, .mem_cpu = 100 }, AM_TRES_MEM, 400, 200 },
    /* GRES: one type is of the kind, too; not the other way round */
    { { .nodes = 2, .tres_node = "gres/gpu:2" }, GPU, 4, 2 },
    { { .nodes = 2, .tres_node = "gres/gpu:a100:2" }, GPU, 4, 2 },
    { { .nodes = 2, .tres_node = "gres/gpu:a100:2" }, A100, 4, 2 },
    { { .nodes = 2, .tres_node = "gres/gpu:2" }, A100, 0, 0 },
    { { .tres_node = "gres/gpu:v100:1,gres/gpu:a100:2,gres/nic:3" }, GPU, 3, 3 },
    { { .tres_node = "gres/gpu:v100:1,gres/gpu:a100:2" }, A100, 2, 2 },
    { { .nodes = 4, .tres_job = "gres/gpu:6" }, GPU, 6, 2 },
    { { .nodes = 2, .tasks = 6, .tres_task = "gres/gpu:1" }, GPU, 6, 3 },
    { { .nodes = 2, .sockets = 2, .tres_socket = "gres/gpu:1" }, GPU, 4, 2 },
    /* licences are the job's, wherever it runs */
    { { .nodes = 2, .licenses = "matlab:3,ansys:1" }, MATLAB, 3, 3 },
    { { .licenses = "matlab" }, MATLAB, 1, 1 },
    { { .licenses = "matlab:1|ansys:2" },
      MATLAB,
      1,
      1 }, /* one of them: the first, as 26.05.3 shows */
};

static void put_number(protobuf_c_boolean *has, uint32_t *to, uint32_t value)
{
    *has = value != 0;
    *to = value;
}

static Pst__JobRecord job_of(const struct ask *a)
{
    Pst__JobRecord r = PST__JOB_RECORD__INIT;

    put_number(&r.has_min_nodes, &r.min_nodes, a->nodes);
    put_number(&r.has_least_nodes, &r.least_nodes, a->least);
    put_number(&r.has_num_tasks, &r.num_tasks, a->tasks);
    put_number(&r.has_ntasks_per_node, &r.ntasks_per_node, a->per_node);
    put_number(&r.has_cpus_per_task, &r.cpus_per_task, a->cpt);
    put_number(&r.has_min_cpus, &r.min_cpus, a->min_cpus);
    put_number(&r.has_pn_min_cpus, &r.pn_min_cpus, a->pn_cpus);
    put_number(&r.has_sockets_per_node, &r.sockets_per_node, a->sockets);
    r.has_mem_per_node_mib = a->mem_node != 0;
    r.mem_per_node_mib = a->mem_node;
    r.has_mem_per_cpu_mib = a->mem_cpu != 0;
    r.mem_per_cpu_mib = a->mem_cpu;
    r.has_overcommit = r.overcommit = a->overcommit;
    r.tres_per_node = (char *)a->tres_node; /* only read; likewise below */
    r.tres_per_job = (char *)a->tres_job;
    r.tres_per_task = (char *)a->tres_task;
    r.tres_per_socket = (char *)a->tres_socket;
    r.licenses = (char *)a->licenses;
    return r;
}

static void test_asked(void **state)
{
    struct assoc_mgr *am = known_tres();

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        Pst__JobRecord r = job_of(&cases[i].ask);
        uint64_t all = policy_tres_asked(am, NULL, NULL, BILLING_ALL, &r, cases[i].tres, false);
        uint64_t each = policy_tres_asked(am, NULL, NULL, BILLING_ALL, &r, cases[i].tres, true);

        if (all != cases[i].all || each != cases[i].each)
            print_error("# case %zu: %llu, %llu\n", i, (unsigned long long)all,
                        (unsigned long long)each);
        assert_int_equal(all, cases[i].all);
        assert_int_equal(each, cases[i].each);
    }
    am_free(am);
}

/* 4 CPUs at 1, 8 GiB at a quarter a GiB, 2 GPUs at 10. */
static void test_billing(void **state)
{
    static const struct ask ask = {
        .nodes = 2, .tasks = 4, .mem_node = 4096, .tres_node = "gres/gpu:1"
    };
    Pst__PartitionRecord rec = PST__PARTITION_RECORD__INIT;
    struct partition p = { .rec = &rec };
    struct assoc_mgr *am = known_tres();
    Pst__JobRecord r = job_of(&ask);

    (void)state;
    assert_int_equal(policy_tres_asked(am, NULL, &p, BILLING_ALL, &r, AM_TRES_BILLING, false), 4);
    rec.tres_billing_weights = (char *)"CPU=1.0,Mem=0.25G,GRES/gpu=10";
    assert_int_equal(policy_tres_asked(am, NULL, &p, BILLING_ALL, &r, AM_TRES_BILLING, false), 26);
    assert_int_equal(policy_tres_asked(am, NULL, &p, BILLING_ALL, &r, AM_TRES_BILLING, true), 13);
    am_free(am);
}

static void test_gres_text(void **state)
{
    static const struct ask ask = { .nodes = 2, .tres_node = "gres/gpu:a100:2,gres/nic:1" };
    struct strbuf sb = STRBUF_INIT;
    Pst__JobRecord r = job_of(&ask);

    (void)state;
    policy_tres_put_gres(&sb, NULL, &r, NULL);
    assert_int_equal(sb.len, 0);
    strbuf_add(&sb, "x");
    policy_tres_put_gres(&sb, NULL, &r, "gres/gpu, gres/gpu:a100,license/matlab,gres/tape,gres/");
    assert_string_equal(strbuf_str(&sb), "xgres/gpu=4,gres/gpu:a100=4");
    strbuf_done(&sb);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_types),
        cmocka_unit_test(test_asked),
        cmocka_unit_test(test_billing),
        cmocka_unit_test(test_gres_text),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
