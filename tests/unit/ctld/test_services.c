/* test_services.c - the rows of services: the order of hooks, ticks, failures, operations */
#include "model_util.h"

#include "base/strbuf.h"
#include "ctld/core/service.h"
#include "ctld/services.h"

static struct strbuf told; /* what the services below were called for */

static void note_free(struct ctld *ctld)
{
    (void)ctld;
    strbuf_add(&told, " free");
}

static int start_first(struct ctld *ctld, struct err *err)
{
    (void)ctld;
    (void)err;
    strbuf_add(&told, " start1");
    return 0;
}

static int start_second(struct ctld *ctld, struct err *err)
{
    (void)ctld;
    (void)err;
    strbuf_add(&told, " start2");
    return -EIO;
}

static int start_third(struct ctld *ctld, struct err *err)
{
    (void)ctld;
    (void)err;
    strbuf_add(&told, " start3");
    return 0;
}

static void stop_first(struct ctld *ctld)
{
    (void)ctld;
    strbuf_add(&told, " stop1");
}

static void stop_third(struct ctld *ctld)
{
    (void)ctld;
    strbuf_add(&told, " stop3");
}

static void tick_always(struct ctld *ctld, int64_t now_us)
{
    (void)ctld;
    (void)now_us;
    strbuf_add(&told, " t");
}

static void tick_writing(struct ctld *ctld, int64_t now_us)
{
    (void)ctld;
    (void)now_us;
    strbuf_add(&told, " w");
}

static void tick_slow(struct ctld *ctld, int64_t now_us)
{
    (void)ctld;
    (void)now_us;
    strbuf_add(&told, " s");
}

/* The job leaves the cluster when it has ended. */
static void purge_ended(struct ctld *ctld, struct job *j, uint64_t lsn)
{
    (void)lsn;
    strbuf_addf(&told, " ended%u", j->rec->job_id);
    purge_job(ctld->cluster, j->rec->job_id);
}

static void see_ended(struct ctld *ctld, struct job *j, uint64_t lsn)
{
    (void)ctld;
    (void)lsn;
    strbuf_addf(&told, " seen%u", j->rec->job_id);
}

static uint64_t keep_nine(struct ctld *ctld)
{
    (void)ctld;
    return 9;
}

static void run_ping(struct ctld *ctld, struct cmd *cmd)
{
    (void)ctld;
    (void)cmd;
}

static const struct ctld_op first_ops[] = { { OP_PING, .fn = run_ping, .flags = OPF_WRITES },
                                            { 0 } };
static const struct ctld_service first = {
    .name = "first",
    .ops = first_ops,
    .start = start_first,
    .stop = stop_first,
    .free = note_free,
    .tick = tick_always,
    .job_ended = purge_ended,
};
static const struct ctld_service second = {
    .name = "second",
    .start = start_second,
    .tick_writing = tick_writing,
    .keeps = keep_nine,
};
static const struct ctld_service third = {
    .name = "third",
    .start = start_third,
    .stop = stop_third,
    .tick_slow = tick_slow,
    .job_ended = see_ended,
};
static const struct ctld_service *const services[] = { &first, &second, &third, NULL };

static struct ctld *new_ctld(void)
{
    struct ctld *ctld = calloc(1, sizeof(*ctld));

    assert_non_null(ctld);
    ctld->services = services;
    strbuf_done(&told);
    told = (struct strbuf)STRBUF_INIT;
    return ctld;
}

static void expect(const char *want)
{
    assert_string_equal(strbuf_str(&told), want);
    strbuf_done(&told);
    told = (struct strbuf)STRBUF_INIT;
}

static void test_life(void **state)
{
    struct ctld *ctld = new_ctld();
    struct err err = { .text = "" };

    (void)state;
    assert_int_equal(services_start(ctld, &err), -EIO);
    assert_non_null(strstr(err.text, "second: cannot start"));
    expect(" start1 start2"); /* the first failure ends it */
    services_stop(ctld);
    expect(" stop3 stop1"); /* backwards, started or not */
    services_free(ctld);
    expect(" free");
    assert_int_equal(services_keep(ctld), 9);
    free(ctld);
}

static void test_ticks(void **state)
{
    struct ctld *ctld = new_ctld();

    (void)state;
    services_tick(ctld);
    expect(" t w s");
    for (unsigned i = 1; i < SERVICE_SLOW_TICKS; i++) {
        services_tick(ctld);
        expect(" t w");
    }
    atomic_store(&ctld->disk_full, true);
    services_tick(ctld); /* a slow one: left out, the disk is full */
    expect(" t");
    free(ctld);
}

static void test_job_leaves(void **state)
{
    struct ctld *ctld = new_ctld();

    (void)state;
    ctld->cluster = new_cluster();
    add_job(ctld->cluster, 7);
    end_job(ctld->cluster, 7, JOB_STATE(CANCELLED), T0, true);
    services_job_ended(ctld, cluster_job(ctld->cluster, 7), 1);
    expect(" ended7"); /* the third service is not called for a job that is no more */
    ctld->cluster = cluster_free(ctld->cluster);
    free(ctld);
}

static void test_operations(void **state)
{
    struct ctld *ctld = new_ctld();

    (void)state;
    (void)services_start(ctld, NULL);
    assert_ptr_equal(service_op(ctld, OP_PING), &first_ops[0]);
    assert_null(service_op(ctld, OP_WATCH));
    assert_null(service_op(ctld, OP_MAX_));
    assert_null(service_op(ctld, UINT32_MAX));
    strbuf_done(&told);
    told = (struct strbuf)STRBUF_INIT;
    free(ctld);
}

/* The services of the controller: a name each, none twice, and no operation of two. */
static void test_real_rows(void **state)
{
    bool taken[OP_MAX_] = { false };

    (void)state;
    for (size_t i = 0; ctld_services[i]; i++) {
        assert_non_null(ctld_services[i]->name);
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(ctld_services[i]->name, ctld_services[k]->name);
        for (const struct ctld_op *o = ctld_services[i]->ops; o && (o->fn || o->front); o++) {
            assert_true(o->op < OP_MAX_ && !taken[o->op]);
            assert_true(!o->fn != !o->front);
            taken[o->op] = true;
        }
    }
    assert_true(taken[OP_JOB_SUBMIT] && taken[OP_NODE_REGISTER] && taken[OP_QUERY_JOBS]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_life),       cmocka_unit_test(test_ticks),
        cmocka_unit_test(test_job_leaves), cmocka_unit_test(test_operations),
        cmocka_unit_test(test_real_rows),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
