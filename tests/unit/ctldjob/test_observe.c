/* test_observe.c - what observers are told after a start, in which order, and which jobs the hooks
 * of a recovery walk over */
#include "model_util.h"

#include "ctld/core/observe.h"
#include "ctld/core/service.h"

#define JOBS 3000u

struct seen {
    uint32_t last_job, jobs, pauses, nodes;
    uint32_t nodes_before; /* told before the first pause */
    bool ordered;
};

static void see_job(void *ctx, struct job *j, Pst__EventKind kind)
{
    struct seen *s = ctx;

    (void)kind;
    s->ordered = s->ordered && j->rec->job_id > s->last_job;
    s->last_job = j->rec->job_id;
    s->jobs++;
}

static void see_node(void *ctx, struct node *n, Pst__EventKind kind)
{
    struct seen *s = ctx;

    (void)n;
    (void)kind;
    s->nodes++;
}

static void see_pause(void *ctx)
{
    struct seen *s = ctx;

    if (!s->pauses++) {
        assert_int_equal(s->jobs, 0);
        s->nodes_before = s->nodes;
    }
}

/* Ids that differ in each of their bytes, put in no order. */
static uint32_t id_of(uint32_t i)
{
    return (i * 2654435761u) | 1u;
}

static struct cluster *make_jobs(void)
{
    struct cluster *c = new_cluster();
    Pst__Transaction *tx = tx_new(T0);

    add_nodes(c, 3, 8);
    for (uint32_t i = 0; i < JOBS; i++)
        if (!cluster_job(c, id_of(i)))
            SET(put_job(tx, id_of(i)), batch, true);
    apply_ok(c, tx);
    return c;
}

static void test_order(void **state)
{
    struct seen s = { .ordered = true };
    struct cluster_observer o = { .job = see_job, .node = see_node, .ctx = &s };
    struct cluster *c = make_jobs();

    (void)state;
    c->observer = &o;
    observe_each(c, see_pause, &s);
    assert_true(s.ordered);
    assert_int_equal(s.jobs, c->jobs.count);
    assert_int_equal(s.nodes_before, 3);
    assert_in_range(s.pauses, 3, JOBS); /* in pieces */
    s = (struct seen){ .ordered = true };
    observe_each(c, NULL, NULL);
    assert_int_equal(s.jobs, c->jobs.count);
    c->observer = NULL;
    cluster_free(c);
}

static void end_it(Pst__JobRecord *r)
{
    SET(r, state, JOB_STATE(COMPLETED));
}
static void no_batch(Pst__JobRecord *r)
{
    SET(r, batch, false);
}
static void requeue_it(Pst__JobRecord *r)
{
    SET(r, state_flags, JOB_FLAG(REQUEUED));
}
static void with_client(Pst__JobRecord *r)
{
    SET(r, kill_on_client_loss, true);
}
static void external(Pst__JobRecord *r)
{
    SET(r, external, true);
}
static void depend_it(Pst__JobRecord *r)
{
    assert_int_equal(pb_set_str(&r->dependency, "afterok:7"), 0);
}
static void component(Pst__JobRecord *r)
{
    SET(r, het_job_id, r->job_id);
}
static void crontab(Pst__JobRecord *r)
{
    assert_int_equal(pb_set_str(&r->cron_spec, "@daily"), 0);
}

static void (*const changes[])(Pst__JobRecord *) = { end_it,   no_batch,  requeue_it, with_client,
                                                     external, depend_it, component,  crontab };

static void test_special(void **state)
{
    static const struct ctld_service *const none[] = { NULL };
    struct ctld *ctld = calloc(1, sizeof(*ctld));
    Pst__Transaction *tx = tx_new(T0);
    uint32_t n = 0, last = 0;
    struct job *j;

    (void)state;
    assert_non_null(ctld);
    ctld->services = none;
    ctld->cluster = make_jobs();
    for (uint32_t i = 0; i < ARRAY_SIZE(changes); i++) {
        Pst__JobRecord *r = put_job(tx, 2 * i + 2); /* those of make_jobs() are odd */

        SET(r, batch, true);
        assert_true(job_only_waits(r));
        changes[i](r);
        assert_false(job_only_waits(r));
    }
    apply_ok(ctld->cluster, tx);
    observe_init(ctld);
    observe_all(ctld);
    for (size_t pos = 0; (j = observe_next_special(ctld, &pos)); n++) {
        assert_true(j->rec->job_id > last);
        last = j->rec->job_id;
        assert_int_equal(last % 2, 0);
    }
    assert_int_equal(n, ARRAY_SIZE(changes));
    observe_forget_special(ctld);
    n = 0;
    for (size_t pos = 0; (j = observe_next_special(ctld, &pos));)
        n++;
    assert_int_equal(n, ctld->cluster->jobs.count); /* nobody knows better: all */
    ctld->cluster->observer = NULL;
    cluster_free(ctld->cluster);
    free(ctld);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_special),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
