/* test_stepcreds.c - what a client needs to launch a step: addresses, and a credential that the
 * cluster's key proves */
#include "stepcore_util.h"

static Pst__StepCredential *opened(const Pst__SignedCredential *cred)
{
    Pst__StepCredential *c;

    assert_non_null(cred);
    assert_int_equal(cred->mac.len, AUTH_MAC_SIZE);
    assert_int_equal(auth_verify(core.ctld.keys, cred->key_id, cred->credential.data,
                                 cred->credential.len, cred->mac.data),
                     0);
    c = pst__step_credential__unpack(NULL, cred->credential.len, cred->credential.data);
    assert_non_null(c);
    return c;
}

static void named(Pst__JobRecord *r)
{
    SET(r, gid, 100);
    SET(r, db_id, 4711);
    assert_int_equal(pb_set_str(&r->user_name, "ann"), 0);
}

/* Whose step it is, of which run, and for how long it may be launched. */
static void test_launch(void **state)
{
    Pst__SignedCredential *cred;
    Pst__StepCredential *c;
    int64_t now = now_us();
    struct job *j;

    (void)state;
    stepcore_begin("", 1);
    j = stepcore_job(7, 1, named);
    (void)stepcore_step(j, 3, 1, 2);
    cred = steps_sign(&core.ctld, j, cluster_step(j, 3), PST__CRED_PURPOSE__CRED_LAUNCH);
    c = opened(cred);
    assert_int_equal(c->job_id, 7);
    assert_int_equal(c->run_id, 4711);
    assert_int_equal(c->step_id, 3);
    assert_int_equal(c->uid, 1000);
    assert_int_equal(c->gid, 100);
    assert_string_equal(c->user_name, "ann");
    assert_int_equal(c->step->num_tasks, 2);
    assert_int_equal(c->job->job_id, 7);
    assert_false(c->has_purpose); /* to launch needs no word */
    assert_false(c->has_contain);
    assert_true(c->expires_us >= now + 120 * SEC && c->expires_us <= now_us() + 120 * SEC);
    pst__step_credential__free_unpacked(c, NULL);
    cred->credential.data[0] ^= 1; /* what is changed on the way is found out */
    assert_int_not_equal(auth_verify(core.ctld.keys, cred->key_id, cred->credential.data,
                                     cred->credential.len, cred->mac.data),
                         0);
    pst__signed_credential__free_unpacked(cred, NULL);
    coreask_end(&core);
}

/* For the whole job: without a step, for its purpose alone, as long as AuthInfo says. */
static void test_purpose(void **state)
{
    Pst__SignedCredential *cred;
    Pst__StepCredential *c;
    int64_t now = now_us();
    struct job *j;

    (void)state;
    stepcore_begin("AuthInfo=cred_expire=600\n", 1);
    j = stepcore_job(7, 1, named);
    (void)stepcore_step(j, STEP_EXTERN, 1, 1);
    cred = steps_sign(&core.ctld, j, NULL, PST__CRED_PURPOSE__CRED_BCAST);
    c = opened(cred);
    assert_null(c->step);
    assert_false(c->has_step_id);
    assert_int_equal(c->purpose, PST__CRED_PURPOSE__CRED_BCAST);
    assert_true(c->contain); /* the job has an extern step that takes in what comes */
    assert_true(c->expires_us >= now + 600 * SEC);
    pst__step_credential__free_unpacked(c, NULL);
    pst__signed_credential__free_unpacked(cred, NULL);
    coreask_end(&core);
}

/* The launch request that a queued step keeps is not sent once more with its credential. */
static void test_plain(void **state)
{
    Pst__SignedCredential *cred;
    Pst__StepCredential *c;
    Pst__Transaction *tx;
    Pst__StepRecord *set;
    struct job *j;

    (void)state;
    stepcore_begin("", 1);
    j = stepcore_job(7, 1, named);
    (void)stepcore_step(j, 0, 1, 1);
    tx = tx_new(T0);
    set = tx_step_patch(tx, EV(UNSPECIFIED), 7, 0);
    set->has_async_launch = set->has_async_spec = true;
    set->async_launch = (ProtobufCBinaryData){ 3, (uint8_t *)strdup("abc") };
    set->async_spec = (ProtobufCBinaryData){ 3, (uint8_t *)strdup("def") };
    apply_ok(core.ctld.cluster, tx);
    cred = steps_sign(&core.ctld, j, cluster_step(j, 0), PST__CRED_PURPOSE__CRED_LAUNCH);
    c = opened(cred);
    assert_false(c->step->has_async_launch || c->step->has_async_spec);
    assert_true(cluster_step(j, 0)->rec->has_async_launch); /* the record keeps it */
    pst__step_credential__free_unpacked(c, NULL);
    pst__signed_credential__free_unpacked(cred, NULL);
    coreask_end(&core);
}

/* Addresses in the order of the allocation; a node that has gone keeps its place. */
static void test_addresses(void **state)
{
    Pst__NodeAddr **list;
    Pst__Transaction *tx;
    Pst__NodeRecord *set;
    Pst__Alloc *a = make_alloc(1, 2, 3, 0);
    size_t n;

    (void)state;
    stepcore_begin("", 3);
    tx = tx_new(T0);
    set = tx_node_patch(tx, EV(NODE_UPDATE), 1);
    assert_int_equal(pb_set_str(&set->hostname, "host1"), 0);
    SET(set, port, 6818);
    set = tx_node_patch(tx, EV(NODE_UPDATE), 2);
    assert_int_equal(pb_set_str(&set->hostname, "host2"), 0);
    assert_int_equal(pb_set_str(&set->addr, "10.0.0.2"), 0);
    apply_ok(core.ctld.cluster, tx);
    a->node_ids[0] = 2;
    a->node_ids[1] = 1;
    n = steps_node_addrs(&core.ctld, a, NULL, &list);
    assert_int_equal(n, 2);
    assert_string_equal(list[0]->name, "n2");
    assert_string_equal(list[0]->addr, "10.0.0.2"); /* NodeAddr before NodeHostname */
    assert_string_equal(list[1]->addr, "host1");
    assert_int_equal(list[1]->port, 6818);
    assert_int_equal(list[1]->cpus, 3);
    for (size_t i = 0; i < n; i++)
        pst__node_addr__free_unpacked(list[i], NULL);
    free(list);
    a->node_ids[0] = 9;
    n = steps_node_addrs(&core.ctld, a, NULL, &list);
    assert_int_equal(n, 2);
    assert_int_equal(list[0]->node_id, 9);
    assert_null(list[0]->name);
    for (size_t i = 0; i < n; i++)
        pst__node_addr__free_unpacked(list[i], NULL);
    free(list);
    pst__alloc__free_unpacked(a, NULL);
    coreask_end(&core);
}

/* ---- how tasks are bound by default ---------------------------------------------------------- */

static const char *job_bind;

static void bound(Pst__JobRecord *r)
{
    assert_int_equal(pb_set_str(&r->cpu_bind, job_bind), 0);
}

/* CpuBind of the job, else of all the nodes, if they agree, else of the partition. */
static const struct {
    const char *job, *n0, *n1, *part, *want;
} binds[] = {
    { NULL, NULL, NULL, NULL, NULL },
    { "cores", "threads", "threads", "sockets", "cores" },
    { NULL, "threads", "threads", "sockets", "threads" },
    { NULL, "threads", "cores", "sockets", "sockets" },
    { NULL, "threads", NULL, "sockets", "sockets" },
    { NULL, NULL, "threads", NULL, NULL },
    { "", "threads", "threads", NULL, "threads" },
};

static void test_binding(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(binds); i++) {
        Pst__Transaction *tx;
        Pst__StepReply *reply;
        struct job *j;

        stepcore_begin("", 2);
        tx = tx_new(T0);
        assert_int_equal(pb_set_str(&tx_node_patch(tx, EV(NODE_UPDATE), 0)->cpu_bind, binds[i].n0),
                         0);
        assert_int_equal(pb_set_str(&tx_node_patch(tx, EV(NODE_UPDATE), 1)->cpu_bind, binds[i].n1),
                         0);
        assert_int_equal(
            pb_set_str(&tx_part_patch(tx, EV(PART_UPDATE), "p")->cpu_bind, binds[i].part), 0);
        apply_ok(core.ctld.cluster, tx);
        job_bind = binds[i].job;
        j = stepcore_job(7, 2, bound);
        (void)stepcore_step(j, 0, 2, 1);
        reply = steps_reply_new(&core.ctld, j, cluster_step(j, 0));
        assert_non_null(reply);
        if (!reply->cpu_bind != !binds[i].want ||
            (binds[i].want && strcmp(reply->cpu_bind, binds[i].want) != 0))
            fail_msg("row %zu: %s", i, reply->cpu_bind ? reply->cpu_bind : "(none)");
        assert_int_equal(reply->n_nodes, 2);
        assert_int_equal(reply->step->step_id, 0);
        assert_int_equal(reply->job->job_id, 7);
        steps_reply_free(reply);
        coreask_end(&core);
    }
}

/* The key that slurmd wants with the credential is of this credential alone. */
static void test_launch_key(void **state)
{
    Pst__StepReply *a, *b;
    uint8_t key[AUTH_MAC_SIZE];
    struct job *j;

    (void)state;
    stepcore_begin("", 1);
    j = stepcore_job(7, 1, named);
    (void)stepcore_step(j, 0, 1, 1);
    (void)stepcore_step(j, 1, 1, 1);
    a = steps_reply_new(&core.ctld, j, cluster_step(j, 0));
    b = steps_reply_new(&core.ctld, j, cluster_step(j, 1));
    assert_true(a->has_launch_key && b->has_launch_key);
    assert_int_equal(a->launch_key.len, AUTH_MAC_SIZE);
    assert_memory_not_equal(a->launch_key.data, b->launch_key.data, AUTH_MAC_SIZE);
    assert_int_equal(auth_derive(core.ctld.keys, a->credential->key_id, AUTH_FOR_LAUNCH,
                                 a->credential->mac.data, AUTH_MAC_SIZE, key, NULL),
                     0);
    assert_memory_equal(a->launch_key.data, key, sizeof(key));
    steps_reply_free(a);
    steps_reply_free(b);
    steps_reply_free(NULL);
    coreask_end(&core);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_launch),  cmocka_unit_test(test_purpose),
        cmocka_unit_test(test_plain),   cmocka_unit_test(test_addresses),
        cmocka_unit_test(test_binding), cmocka_unit_test(test_launch_key),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
