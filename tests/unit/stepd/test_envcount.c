/* test_envcount.c - what an allocation has, as variables tell it: CPUs and tasks by node, however
 * many nodes differ; the variables of heterogeneous jobs */
#include "model_util.h"

#include "stepd/env/env.h"

/* So many groups of these nodes, CPUs and tasks, which repeat. */
static Pst__Alloc *groups_of(size_t n, const uint32_t (*values)[3], size_t nvalues)
{
    Pst__Alloc *a = make_alloc(0, 0, 0, 0);

    pst__alloc_group__free_unpacked(a->groups[0], NULL);
    a->groups = realloc(a->groups, (n + 1) * sizeof(Pst__AllocGroup *));
    assert_non_null(a->groups);
    a->n_groups = n;
    for (size_t i = 0; i < n; i++) {
        const uint32_t *v = values[i % nvalues];

        a->groups[i] = malloc(sizeof(**a->groups));
        assert_non_null(a->groups[i]);
        pst__alloc_group__init(a->groups[i]);
        SET(a->groups[i], nodes, v[0]);
        SET(a->groups[i], cpus, v[1]);
        SET(a->groups[i], tasks, v[2]);
    }
    return a;
}

static void expect_counts(const Pst__Alloc *a, bool tasks, const char *want)
{
    struct envlist el = ENVLIST_INIT;
    _cleanup_free_ char *got = env_counts(&el, a, tasks);

    assert_string_equal(got, want);
    assert_false(el.failed);
}

static void test_counts(void **state)
{
    static const uint32_t values[][3] = { { 2, 4, 1 }, { 1, 4, 2 }, { 1, 8, 2 } };
    Pst__Alloc *a = groups_of(3, values, 3);

    (void)state;
    expect_counts(NULL, false, "");
    expect_counts(a, false, "4(x3),8"); /* equal neighbours are one */
    expect_counts(a, true, "1(x2),2(x2)");
    assert_int_equal(env_alloc_nodes(a), 4);
    assert_int_equal(env_alloc_nodes(NULL), 0);
    pst__alloc__free_unpacked(a, NULL);
}

/* Nodes that all differ from their neighbours: nothing is cut off. */
static void test_many(void **state)
{
    static const uint32_t values[][3] = { { 1, 128, 127 }, { 1, 64, 63 } };
    enum { GROUPS = 5000 };
    Pst__Alloc *a = groups_of(GROUPS, values, 2);
    struct envlist el = ENVLIST_INIT;
    _cleanup_free_ char *got = env_counts(&el, a, false);
    size_t n = 1;

    (void)state;
    for (const char *p = got; (p = strchr(p, ',')); p++)
        n++;
    assert_int_equal(n, GROUPS);
    assert_string_equal(got + strlen(got) - 7, ",128,64");
    pst__alloc__free_unpacked(a, NULL);
}

static void test_held(void **state)
{
    Pst__AllocGroup g = PST__ALLOC_GROUP__INIT;

    (void)state;
    SET(&g, cpus, 3);
    assert_int_equal(env_held_cpus(&g), 3);
    g.cpu_ids = (char *)"0-3,8";            /* read only */
    assert_int_equal(env_held_cpus(&g), 5); /* whole cores */
    g.cpu_ids = (char *)"x";
    assert_int_equal(env_held_cpus(&g), 3);
}

static void test_het(void **state)
{
    static const uint32_t values[][3] = { { 2, 4, 1 } };
    Pst__JobRecord first = PST__JOB_RECORD__INIT, second = PST__JOB_RECORD__INIT;
    Pst__JobRecord *jobs[] = { &first, &second };
    struct envlist el = ENVLIST_INIT;

    (void)state;
    envlist_set(&el, "SLURM_NTASKS_HET_GROUP_7", "1"); /* of a job around the submission */
    SET(&first, job_id, 10);
    SET(&first, het_count, 2);
    SET(&first, num_tasks, 3);
    first.alloc = groups_of(1, values, 1);
    SET(&second, job_id, 11);
    SET(&second, het_offset, 1);
    env_het(&el, jobs, 2); /* the second holds nothing yet */
    assert_string_equal(envlist_get(&el, "SLURM_HET_SIZE"), "2");
    assert_string_equal(envlist_get(&el, "SLURM_JOB_ID_HET_GROUP_0"), "10");
    assert_string_equal(envlist_get(&el, "SLURM_JOB_CPUS_PER_NODE_PACK_GROUP_0"), "4(x2)");
    assert_string_equal(envlist_get(&el, "SLURM_TASKS_PER_NODE_HET_GROUP_0"), "1(x2)");
    assert_string_equal(envlist_get(&el, "SLURM_NTASKS_HET_GROUP_0"), "3");
    assert_null(envlist_get(&el, "SLURM_JOB_ID_HET_GROUP_1"));
    assert_null(envlist_get(&el, "SLURM_NTASKS_HET_GROUP_7"));
    assert_null(envlist_get(&el, "SLURM_JOB_ACCOUNT_HET_GROUP_0"));
    env_het(&el, NULL, 0);
    assert_null(envlist_get(&el, "SLURM_HET_SIZE"));
    assert_null(envlist_get(&el, "SLURM_JOB_ID_HET_GROUP_0"));
    envlist_done(&el);
    pst__alloc__free_unpacked(first.alloc, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counts),
        cmocka_unit_test(test_many),
        cmocka_unit_test(test_held),
        cmocka_unit_test(test_het),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
