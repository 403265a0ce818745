/* test_scriptnode.c - the node of a job's script: sbatch --batch */
#include "model_util.h"

#include "ctld/job/nodefeatures.h"
#include "ctld/policy/scriptnode.h"

static void name_features(struct cluster *c, uint32_t id, const char *features)
{
    assert_int_equal(pb_set_str(&c->nodes[id]->rec->features, features), 0);
}

static void test_choose(void **state)
{
    static const struct {
        const char *batch;
        size_t want;
    } rows[] = {
        { NULL, 0 },  { "", 0 },       { "a", 0 },  { "b", 1 },  { "b&c", 2 },
        { "c|b", 1 }, { "nosuch", 0 }, { "b&", 1 }, { "((", 0 }, { "d", 0 },
    };
    struct cluster *c = new_cluster();
    Pst__Alloc *alloc;

    (void)state;
    add_nodes(c, 4, 2);
    name_features(c, 0, "a");
    name_features(c, 1, "a,b");
    name_features(c, 2, "b,c");
    name_features(c, 3, "d"); /* not of the job */
    alloc = make_alloc(0, 3, 2, 100);
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        assert_int_equal(nodes_script_position(c, rows[i].batch, alloc), rows[i].want);
    pst__alloc__free_unpacked(alloc, NULL);
    cluster_free(c);
}

/* Where job 7's script began, and what --batch says; NULL: as before. */
static void set_batch(struct cluster *c, const char *host, const char *features)
{
    Pst__Transaction *tx = tx_new(T0);
    Pst__JobRecord *set = tx_job_patch(tx, PST__EVENT_KIND__EV_JOB_UPDATE, 7);

    if (host)
        assert_int_equal(pb_set_str(&set->batch_host, host), 0);
    if (features)
        assert_int_equal(pb_set_str(&set->batch_features, features), 0);
    apply_ok(c, tx);
}

static void test_of_a_job(void **state)
{
    struct cluster *c = new_cluster();
    const Pst__JobRecord *r;

    (void)state;
    add_nodes(c, 4, 2);
    add_job(c, 7);
    start_job(c, 7, make_alloc(0, 3, 2, 100), T0);
    r = cluster_job(c, 7)->rec;
    set_batch(c, c->nodes[2]->rec->name, NULL);
    assert_int_equal(scriptnode_position(c, r), 0); /* without --batch: the first */
    set_batch(c, NULL, "c");
    assert_int_equal(scriptnode_position(c, r), 2);
    assert_ptr_equal(scriptnode_of(c, r), c->nodes[2]);
    set_batch(c, c->nodes[3]->rec->name, NULL);
    assert_int_equal(scriptnode_position(c, r), 0); /* it is none of the job's */
    cluster_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_choose),
        cmocka_unit_test(test_of_a_job),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
