/* test_usage.c - what associations and QOS have used: against a step-by-step sum, and as a
 * function of the log alone */
#include "model_util.h"

#include <math.h>

#include "model/use/usage.h"

#define HOUR (3600 * SEC)
enum { ROOT = 1, SCIENCE, CHEM, PHYSICS, ALICE, BOB };
enum { NORMAL = 1, HALF, KEEPS };

static void put_change(struct cluster *c, Pst__AcctChange *ch, int64_t now)
{
    Pst__Transaction *tx = tx_new(now);

    tx_acct_change(tx, ch);
    apply_ok(c, tx);
}

static void put_assoc(struct cluster *c, uint32_t id, uint32_t parent, const char *account,
                      const char *user, int64_t now)
{
    Pst__AcctChange ch = PST__ACCT_CHANGE__INIT;
    Pst__AssocRecord r = PST__ASSOC_RECORD__INIT;

    SET(&r, assoc_id, id);
    if (parent)
        SET(&r, parent_id, parent);
    r.cluster = (char *)"demo";
    r.account = (char *)account;
    r.user = (char *)user;
    ch.body_case = PST__ACCT_CHANGE__BODY_ASSOC;
    ch.assoc = &r;
    put_change(c, &ch, now);
}

static void put_qos(struct cluster *c, uint32_t id, const char *name, double factor, uint32_t flags,
                    int64_t now)
{
    Pst__AcctChange ch = PST__ACCT_CHANGE__INIT;
    Pst__QosRecord r = PST__QOS_RECORD__INIT;

    SET(&r, qos_id, id);
    r.name = (char *)name;
    SET(&r, usage_factor, factor);
    SET(&r, flags, flags);
    ch.body_case = PST__ACCT_CHANGE__BODY_QOS;
    ch.qos = &r;
    put_change(c, &ch, now);
}

static void put_tres(struct cluster *c, uint32_t id, const char *type, const char *name)
{
    Pst__AcctChange ch = PST__ACCT_CHANGE__INIT;
    Pst__TresRecord r = PST__TRES_RECORD__INIT;

    SET(&r, tres_id, id);
    r.type = (char *)type;
    r.name = (char *)name;
    ch.body_case = PST__ACCT_CHANGE__BODY_TRES;
    ch.tres = &r;
    put_change(c, &ch, T0);
}

static void set_half_life(struct cluster *c, uint32_t s, int64_t now)
{
    Pst__Transaction *tx = tx_new(now);

    SET(tx_cluster(tx), usage_half_life_s, s);
    apply_ok(c, tx);
}

static struct cluster *demo(uint32_t half_life_s)
{
    struct cluster *c = new_cluster();

    add_nodes(c, 4, 8);
    put_tres(c, AM_TRES_CPU, "cpu", NULL);
    put_tres(c, AM_TRES_MEM, "mem", NULL);
    put_tres(c, AM_TRES_NODE, "node", NULL);
    put_tres(c, AM_TRES_BILLING, "billing", NULL);
    put_tres(c, 1001, "gres", "gpu");
    put_assoc(c, ROOT, 0, "root", NULL, T0);
    put_assoc(c, SCIENCE, ROOT, "science", NULL, T0);
    put_assoc(c, CHEM, SCIENCE, "chem", NULL, T0);
    put_assoc(c, PHYSICS, SCIENCE, "physics", NULL, T0);
    put_assoc(c, ALICE, PHYSICS, "physics", "alice", T0);
    put_assoc(c, BOB, CHEM, "chem", "bob", T0);
    put_qos(c, NORMAL, "normal", 1, 0, T0);
    put_qos(c, HALF, "half", 0.5, 0, T0);
    put_qos(c, KEEPS, "keeps", 1, 1u << PST__QOS_FLAG__QOS_NO_DECAY, T0);
    set_half_life(c, half_life_s, T0);
    return c;
}

/* A job of an association and a QOS that starts with these TRES. */
static void run(struct cluster *c, uint32_t id, uint32_t assoc, uint32_t qos, const char *tres,
                int64_t now)
{
    Pst__Transaction *tx = tx_new(now);
    Pst__JobRecord *r = put_job(tx, id);

    SET(r, assoc_id, assoc);
    SET(r, qos_id, qos);
    apply_ok(c, tx);
    tx = tx_new(now);
    r = tx_job_patch(tx, EV(JOB_START), id);
    SET(r, state, JOB_STATE(RUNNING));
    SET(r, start_us, now);
    assert_int_equal(pb_set_str(&r->alloc_tres, tres), 0);
    r->alloc = make_alloc(0, 1, 4, 400);
    apply_ok(c, tx);
}

static void is_near(double got, double wanted)
{
    if (fabs(got - wanted) > 1e-6 * MAX(1.0, fabs(wanted)))
        fail_msg("%.9f, not %.9f", got, wanted);
}

/* What a rate that acts from `from` to `to` has come to at `now`: tiny steps, each decayed. */
static double stepwise(double rate, int64_t from, int64_t to, int64_t now, double half_s)
{
    double sum = 0, dt = (double)(to - from) / 1e6 / 100000;

    for (int i = 0; i < 100000; i++) {
        double age = (double)(now - from) / 1e6 - (i + 0.5) * dt;

        sum += rate * dt * (half_s > 0 ? exp2(-age / half_s) : 1);
    }
    return sum;
}

static void test_sums(void **state)
{
    struct cluster *c = demo(7200);

    (void)state;
    run(c, 1, ALICE, NORMAL, "cpu=4,mem=2G,node=1,billing=6,gres/gpu=2", T0);
    run(c, 2, BOB, HALF, "cpu=1,mem=100M,node=1,billing=1", T0 + HOUR);
    end_job(c, 1, JOB_STATE(COMPLETED), T0 + 2 * HOUR, true);
    for (int h = 3; h < 9; h += 5) {
        int64_t now = T0 + h * HOUR;
        double alice = stepwise(6, T0, T0 + 2 * HOUR, now, 7200),
               bob = stepwise(0.5, T0 + HOUR, now, now, 7200);

        is_near(usage_raw(c, USAGE_ASSOC, ALICE, now), alice);
        is_near(usage_raw(c, USAGE_ASSOC, PHYSICS, now), alice);
        is_near(usage_raw(c, USAGE_ASSOC, BOB, now), bob);
        is_near(usage_raw(c, USAGE_ASSOC, SCIENCE, now), alice + bob);
        is_near(usage_raw(c, USAGE_ASSOC, ROOT, now), alice + bob);
        is_near(usage_raw(c, USAGE_QOS, NORMAL, now), alice);
        is_near(usage_raw(c, USAGE_QOS, HALF, now), bob);
        is_near(usage_tres_s(c, USAGE_ASSOC, ROOT, AM_TRES_CPU, now), alice / 6 * 4 + bob);
        is_near(usage_tres_s(c, USAGE_ASSOC, ROOT, AM_TRES_MEM, now), alice / 6 * 2048 + bob * 100);
        is_near(usage_tres_s(c, USAGE_ASSOC, ROOT, 1001, now), alice / 3);
        is_near(usage_wall_s(c, USAGE_ASSOC, PHYSICS, now), alice / 6);
        is_near(usage_raw(c, USAGE_ASSOC, 99, now), 0);
    }
    cluster_free(c);
}

static void test_no_decay(void **state)
{
    struct cluster *c = demo(0);

    (void)state;
    run(c, 1, ALICE, NORMAL, "cpu=2,billing=2", T0);
    is_near(usage_raw(c, USAGE_ASSOC, ROOT, T0 + 50 * HOUR), 2 * 50 * 3600.0);
    cluster_free(c);
    c = demo(3600);
    run(c, 1, ALICE, KEEPS, "cpu=2,billing=2", T0);
    end_job(c, 1, JOB_STATE(COMPLETED), T0 + HOUR, true);
    is_near(usage_raw(c, USAGE_QOS, KEEPS, T0 + 9 * HOUR), 7200);
    is_near(usage_raw(c, USAGE_ASSOC, ALICE, T0 + 9 * HOUR),
            stepwise(2, T0, T0 + HOUR, T0 + 9 * HOUR, 3600));
    cluster_free(c);
}

static void patch_state(struct cluster *c, uint32_t id, Pst__JobState to, int64_t now)
{
    Pst__Transaction *tx = tx_new(now);

    SET(tx_job_patch(tx, EV(JOB_SUSPEND), id), state, to);
    apply_ok(c, tx);
}

static void test_suspended(void **state)
{
    struct cluster *c = demo(0);

    (void)state;
    run(c, 1, ALICE, NORMAL, "cpu=2,billing=2", T0);
    patch_state(c, 1, JOB_STATE(SUSPENDED), T0 + HOUR);
    patch_state(c, 1, JOB_STATE(RUNNING), T0 + 5 * HOUR);
    end_job(c, 1, JOB_STATE(COMPLETED), T0 + 6 * HOUR, false);
    clean_job(c, 1);
    is_near(usage_raw(c, USAGE_ASSOC, ALICE, T0 + 9 * HOUR), 2 * 2 * 3600.0);
    cluster_free(c);
}

/* Another half-life holds from its time on; another factor likewise. */
static void test_changes(void **state)
{
    struct cluster *c = demo(3600);

    (void)state;
    run(c, 1, ALICE, NORMAL, "cpu=1,billing=1", T0);
    end_job(c, 1, JOB_STATE(COMPLETED), T0 + HOUR, true);
    set_half_life(c, 7200, T0 + 2 * HOUR);
    is_near(usage_raw(c, USAGE_ASSOC, ALICE, T0 + 4 * HOUR),
            stepwise(1, T0, T0 + HOUR, T0 + 2 * HOUR, 3600) * 0.5);
    cluster_free(c);
    c = demo(0);
    run(c, 1, ALICE, HALF, "cpu=1,billing=1", T0);
    put_qos(c, HALF, "half", 2, 0, T0 + HOUR);
    is_near(usage_raw(c, USAGE_ASSOC, ALICE, T0 + 2 * HOUR), 1800 + 7200);
    end_job(c, 1, JOB_STATE(COMPLETED), T0 + 2 * HOUR, true);
    is_near(usage_raw(c, USAGE_ASSOC, ALICE, T0 + 3 * HOUR), 9000);
    cluster_free(c);
}

/* A user who goes leaves what he used to those above; an account that moves counts there from
 * then on. */
static void test_tree_changes(void **state)
{
    struct cluster *c = demo(0);
    Pst__AcctChange ch = PST__ACCT_CHANGE__INIT;

    (void)state;
    run(c, 1, ALICE, NORMAL, "cpu=1,billing=1", T0);
    run(c, 2, BOB, NORMAL, "cpu=1,billing=1", T0);
    end_job(c, 1, JOB_STATE(COMPLETED), T0 + HOUR, true);
    ch.body_case = PST__ACCT_CHANGE__BODY_ASSOC_REMOVE;
    ch.assoc_remove = ALICE;
    put_change(c, &ch, T0 + HOUR);
    is_near(usage_raw(c, USAGE_ASSOC, ALICE, T0 + HOUR), 0);
    is_near(usage_raw(c, USAGE_ASSOC, PHYSICS, T0 + HOUR), 3600);
    put_assoc(c, CHEM, PHYSICS, "chem", NULL, T0 + HOUR);
    is_near(usage_raw(c, USAGE_ASSOC, PHYSICS, T0 + 2 * HOUR), 7200);
    is_near(usage_raw(c, USAGE_ASSOC, ROOT, T0 + 2 * HOUR), 3 * 3600);
    end_job(c, 2, JOB_STATE(COMPLETED), T0 + 2 * HOUR, true);
    is_near(usage_raw(c, USAGE_ASSOC, PHYSICS, T0 + 9 * HOUR), 7200);
    cluster_free(c);
}

static void test_reset(void **state)
{
    struct cluster *c = demo(0);
    Pst__Transaction *tx;

    (void)state;
    run(c, 1, ALICE, NORMAL, "cpu=1,billing=1", T0);
    run(c, 2, BOB, HALF, "cpu=1,billing=2", T0);
    tx = tx_new(T0 + HOUR);
    tx_usage_reset(tx, PHYSICS, 0);
    apply_ok(c, tx);
    is_near(usage_raw(c, USAGE_ASSOC, ALICE, T0 + 2 * HOUR), 3600);
    is_near(usage_raw(c, USAGE_ASSOC, PHYSICS, T0 + 2 * HOUR), 3600);
    is_near(usage_raw(c, USAGE_ASSOC, ROOT, T0 + 2 * HOUR), 3600 + 7200);
    is_near(usage_tres_s(c, USAGE_ASSOC, ROOT, AM_TRES_CPU, T0 + 2 * HOUR), 3600 + 3600);
    tx = tx_new(T0 + 2 * HOUR);
    tx_usage_reset(tx, 0, HALF);
    apply_ok(c, tx);
    is_near(usage_raw(c, USAGE_QOS, HALF, T0 + 2 * HOUR), 0);
    is_near(usage_raw(c, USAGE_QOS, NORMAL, T0 + 2 * HOUR), 7200);
    tx = tx_new(T0 + 2 * HOUR);
    tx_usage_reset(tx, 0, 0);
    apply_ok(c, tx);
    is_near(usage_raw(c, USAGE_ASSOC, ROOT, T0 + 3 * HOUR), 3600 + 3600);
    is_near(usage_raw(c, USAGE_QOS, NORMAL, T0 + 3 * HOUR), 3600);
    cluster_free(c);
}

static int replay(void *ctx, const Pst__Transaction *tx)
{
    Pst__Transaction *again = repack(tx);
    struct err err = { .text = "" };
    int r = cluster_apply(ctx, again, &err);

    tx_free(again);
    return r;
}

/* A random life; a state loaded from a dump in its middle goes on exactly as the one it came
 * from. */
static void test_snapshots(void **state)
{
    static const char *const tres[] = { "cpu=1,mem=100M,node=1,billing=1",
                                        "cpu=4,mem=3G,node=1,billing=7,gres/gpu=1" };

    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct cluster *c = demo(3600), *copy = NULL;
        bool runs[40] = { false };
        uint64_t s = seed;

        for (uint32_t step = 0; step < 200; step++) {
            uint32_t job = rnd_below(&s, ARRAY_SIZE(runs));
            int64_t now = T0 + (int64_t)step * 61 * SEC + (int64_t)rnd_below(&s, 1000000);
            uint64_t before = s;

            if (step == 100) {
                copy = new_cluster();
                assert_int_equal(cluster_dump(c, replay, copy), 0);
                assert_true(cluster_hash(c) == cluster_hash(copy));
            }
            for (int k = 0; k < (copy ? 2 : 1); k++) {
                struct cluster *at = k ? copy : c;

                s = before;
                if (runs[job])
                    end_job(at, job + 1, JOB_STATE(COMPLETED), now, true);
                else if (!cluster_job(at, job + 1))
                    run(at, job + 1, rnd_below(&s, 2) ? ALICE : BOB, 1 + rnd_below(&s, 3),
                        tres[rnd_below(&s, 2)], now);
                else if (rnd_below(&s, 4) == 0)
                    put_qos(at, HALF, "half", 1 + rnd_below(&s, 4) / 8.0, 0, now);
            }
            runs[job] = cluster_job(c, job + 1) && job_is_running(cluster_job(c, job + 1)->rec);
            if (copy)
                assert_true(cluster_hash(c) == cluster_hash(copy));
        }
        assert_true(usage_raw(c, USAGE_ASSOC, ROOT, T0 + 9 * HOUR) ==
                    usage_raw(copy, USAGE_ASSOC, ROOT, T0 + 9 * HOUR));
        cluster_free(c);
        cluster_free(copy);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sums),         cmocka_unit_test(test_no_decay),
        cmocka_unit_test(test_suspended),    cmocka_unit_test(test_changes),
        cmocka_unit_test(test_tree_changes), cmocka_unit_test(test_reset),
        cmocka_unit_test(test_snapshots),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
