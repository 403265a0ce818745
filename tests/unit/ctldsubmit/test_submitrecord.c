/* test_submitrecord.c - the record of a submission: whose it is, since when, with which script */
#include "submit_util.h"

/* The connection says whose it is, and from where; what is not asked for has Slurm's defaults. */
static void test_identity(void **state)
{
    const Pst__JobRecord *r;
    int64_t before = now_us();
    uint32_t id = 0;

    (void)state;
    corefull_begin("FirstJobId=100\n", 1);
    assert_int_equal(submit_as(ann, JOB(",'partition':'p','uid':5,'user_name':'bob'"), &id), 0);
    r = submitted(id);
    assert_int_equal(r->uid, 1000);
    assert_int_equal(r->gid, 1000);
    assert_string_equal(r->user_name, "ann");
    assert_string_equal(r->group_name, "users"); /* his own group is the first */
    assert_string_equal(r->alloc_host, "login1");
    assert_int_equal(r->state, JOB_STATE(PENDING));
    assert_true(r->submit_us >= before && r->submit_us <= now_us());
    assert_true(r->eligible_us == r->submit_us);
    assert_true(r->requeue); /* JobRequeue=1 */
    assert_false(r->has_stepmgr);
    assert_null(r->groups); /* no partition asks for them */
    assert_true(r->db_id > 0);
    assert_int_equal(submit_as(ann, JOB(",'partition':'p'"), &id), 0);
    assert_int_equal(submitted(id)->job_id, r->job_id + 1);
    corefull_end();
}

static void test_settings(void **state)
{
    uint32_t id = 0;

    (void)state;
    corefull_begin("JobRequeue=0\nSlurmctldParameters=enable_stepmgr\n", 1);
    assert_int_equal(submit_as(ann, JOB(",'partition':'p'"), &id), 0);
    assert_false(submitted(id)->requeue);
    assert_true(submitted(id)->stepmgr);
    assert_int_equal(submit_as(ann, JOB(",'partition':'p','requeue':true"), &id), 0);
    assert_true(submitted(id)->requeue);
    corefull_end();
}

/* It can start from --begin on; a held job, and one that waits for others, not yet. */
static void test_eligible(void **state)
{
    const int64_t then = now_us() + 3600 * SEC;
    char json[256];
    uint32_t id = 0, first = 0;

    (void)state;
    corefull_begin("", 1);
    (void)snprintf(json, sizeof(json), JOB(",'partition':'p','begin_us':%lld"), (long long)then);
    assert_int_equal(submit_as(ann, json, &first), 0);
    assert_true(submitted(first)->eligible_us == then);
    assert_int_equal(submit_as(ann, JOB(",'partition':'p'") ",'hold':true", &id), 0);
    assert_false(submitted(id)->has_eligible_us);
    assert_true(job_is_held(submitted(id)));
    (void)snprintf(json, sizeof(json), JOB(",'partition':'p','dependency':'afterany:%u'"), first);
    assert_int_equal(submit_as(ann, json, &id), 0);
    assert_false(submitted(id)->has_eligible_us);
    corefull_end();
}

/* Groups are kept where a partition asks for them when the job starts. */
static void test_groups(void **state)
{
    uint32_t id = 0;

    (void)state;
    corefull_begin("", 1);
    add_partition("q", "'nodes':'n0','allow_groups':'video'");
    assert_int_equal(submit_as(ann, JOB(",'partition':'q'"), &id), 0);
    assert_string_equal(submitted(id)->groups, "users,video");
    corefull_end();
}

/* Equal scripts are kept once. */
static void test_script(void **state)
{
    const Pst__JobRecord *r;
    struct digest name;
    uint32_t a = 0, b = 0, c = 0;

    (void)state;
    corefull_begin("", 1);
    assert_int_equal(submit_as(ann, JOB(",'partition':'p'"), &a), 0);
    assert_int_equal(submit_as(bob, JOB(",'partition':'p'"), &b), 0);
    assert_int_equal(corefull_ask(ann, OP_JOB_SUBMIT,
                                  "{'script':'IyEvYmluL3NoCmZhbHNlCg==',"
                                  "'job':{'batch':true,'work_dir':'/tmp','partition':'p'}}",
                                  NULL),
                     0);
    c = b + 1;
    r = submitted(a);
    assert_int_equal(r->script_digest.len, DIGEST_SIZE);
    assert_memory_equal(r->script_digest.data, submitted(b)->script_digest.data, DIGEST_SIZE);
    assert_memory_not_equal(r->script_digest.data, submitted(c)->script_digest.data, DIGEST_SIZE);
    memcpy(name.bytes, r->script_digest.data, DIGEST_SIZE);
    assert_non_null(cluster_blob(core.ctld.cluster, &name));
    corefull_end();
}

/* An array has the number of its first job; a heterogeneous job a number for each component. */
static void test_numbers(void **state)
{
    uint32_t id = 0;

    (void)state;
    corefull_begin("", 2);
    assert_int_equal(submit_as(ann, JOB(",'partition':'p'") ",'array':'0-3'", &id), 0);
    assert_int_equal(submitted(id)->array_job_id, id);
    assert_string_equal(submitted(id)->array_tasks, "0-3");
    assert_int_equal(submit_as(ann,
                               JOB(",'partition':'p'") ",'components':[{'job':{'partition':'p'}},"
                                                       "{'job':{'partition':'p'}}]",
                               &id),
                     0);
    for (uint32_t k = 0; k < 3; k++) {
        assert_int_equal(submitted(id + k)->het_job_id, id);
        assert_int_equal(submitted(id + k)->het_offset, k);
        assert_int_equal(submitted(id + k)->het_count, 3);
        assert_int_equal(submitted(id + k)->has_script_digest, k == 0);
    }
    corefull_end();
}

/* An allocation without a name is called so. */
static void test_name(void **state)
{
    (void)state;
    corefull_begin("", 1);
    coreask_send(&core, ann, "ann", OP_JOB_SUBMIT, "{'job':{'partition':'p'},'wait_alloc':true}");
    coreask_forget();
    assert_string_equal(submitted(1)->name, "allocation");
    assert_false(submitted(1)->has_script_digest);
    corefull_end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_identity), cmocka_unit_test(test_settings),
        cmocka_unit_test(test_eligible), cmocka_unit_test(test_groups),
        cmocka_unit_test(test_script),   cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_name),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
