/* test_stepvnis.c - VNIs of steps: in turn, held until the step ended, none left, a job's own */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/pb/pbutil.h"
#include "ctld/core/service.h"
#include "ctld/step/stepvnis.h"
#include "wire/errors.h"

extern const struct ctld_service stepvnis_service;

static void begin(struct ctld *c, const char *params)
{
    char text[512];
    struct conf_text file = { .name = "slurm.conf", .text = text };

    file.len =
        (size_t)snprintf(text, sizeof(text),
                         "ClusterName=t\nSlurmctldHost=h\nSwitchType=switch/hpe_slingshot\n"
                         "SwitchParameters=%s\nNodeName=n1 CPUs=1\nPartitionName=p Nodes=n1\n",
                         params);
    assert_int_equal(conf_load_text(&file, 1, CONF_FULL, &c->conf, NULL, NULL), 0);
    assert_int_equal(stepvnis_service.start(c, NULL), 0);
}

static void end(struct ctld *c)
{
    stepvnis_service.free(c);
    conf_free(c->conf);
    c->conf = NULL;
}

/* What the records of a step say to the service. */
static void tell(struct ctld *c, uint32_t vni, Pst__EventKind kind)
{
    Pst__StepRecord rec = PST__STEP_RECORD__INIT;
    struct step s = { .rec = &rec };

    rec.vnis = &vni;
    rec.n_vnis = 1;
    stepvnis_service.on_step(c, NULL, &s, kind);
}

static void test_in_turn(void **state)
{
    static struct ctld c;
    Pst__JobRecord rec = PST__JOB_RECORD__INIT;
    struct job j = { .rec = &rec };
    struct stepvnis_pick p;
    struct err err = { .text = "" };

    (void)state;
    begin(&c, "vnis=10-12");
    for (uint32_t vni = 10; vni <= 12; vni++) {
        assert_int_equal(stepvnis_choose(&c, &j, NULL, 2, &p, NULL), 0);
        assert_int_equal(p.n, 1);
        assert_int_equal(p.vnis[0], vni);
        tell(&c, vni, PST__EVENT_KIND__EV_STEP_START);
    }
    assert_int_equal(stepvnis_choose(&c, &j, NULL, 2, &p, &err), ESLURM_INTERCONNECT_FAILURE);
    assert_string_equal(err.text, "All VNIs from 10 to 12 (SwitchParameters=vnis) are in use");
    assert_int_equal(stepvnis_choose(&c, &j, NULL, 1, &p, NULL), 0); /* needs none */
    assert_int_equal(p.n, 0);
    tell(&c, 11, PST__EVENT_KIND__EV_UNSPECIFIED); /* it changed, and runs */
    assert_int_equal(stepvnis_choose(&c, &j, NULL, 2, &p, NULL), ESLURM_INTERCONNECT_FAILURE);
    tell(&c, 11, PST__EVENT_KIND__EV_STEP_END);
    assert_int_equal(stepvnis_choose(&c, &j, NULL, 2, &p, NULL), 0);
    assert_int_equal(p.vnis[0], 11);
    assert_int_equal(stepvnis_choose(&c, &j, "fast", 2, &p, &err), ESLURM_INTERCONNECT_FAILURE);
    end(&c);
}

/* Two components of a heterogeneous job's step share a number: it is free after both. */
static void test_shared(void **state)
{
    static struct ctld c;
    Pst__JobRecord rec = PST__JOB_RECORD__INIT;
    struct job j = { .rec = &rec };
    struct stepvnis_pick p;

    (void)state;
    begin(&c, "vnis=5-5");
    tell(&c, 5, PST__EVENT_KIND__EV_STEP_START);
    tell(&c, 5, PST__EVENT_KIND__EV_STEP_START);
    tell(&c, 5, PST__EVENT_KIND__EV_STEP_END);
    assert_int_equal(stepvnis_choose(&c, &j, NULL, 2, &p, NULL), ESLURM_INTERCONNECT_FAILURE);
    tell(&c, 5, PST__EVENT_KIND__EV_STEP_END);
    tell(&c, 5, PST__EVENT_KIND__EV_STEP_END); /* said twice: not below none */
    assert_int_equal(stepvnis_choose(&c, &j, NULL, 2, &p, NULL), 0);
    end(&c);
}

static void test_of_a_job(void **state)
{
    static struct ctld c;
    Pst__JobRecord rec = PST__JOB_RECORD__INIT;
    Pst__Alloc alloc = PST__ALLOC__INIT;
    struct job j = { .rec = &rec };
    struct stepvnis_pick p;

    (void)state;
    begin(&c, "vnis=7-9,job_vni=all");
    SET(&rec, job_id, 3);
    SET(&rec, state, PST__JOB_STATE__JOB_RUNNING);
    rec.alloc = &alloc;
    assert_int_equal(stepvnis_choose(&c, &j, NULL, 2, &p, NULL), 0);
    assert_int_equal(p.n, 2);
    assert_true(p.fresh_job && p.vnis[0] == 8 && p.vnis[1] == 7);
    SET(&rec, vni, p.vnis[1]);
    stepvnis_service.on_job(&c, &j, PST__EVENT_KIND__EV_UNSPECIFIED);
    stepvnis_service.on_job(&c, &j, PST__EVENT_KIND__EV_UNSPECIFIED);
    tell(&c, 8, PST__EVENT_KIND__EV_STEP_START);
    assert_int_equal(stepvnis_choose(&c, &j, NULL, 2, &p, NULL), 0);
    assert_true(!p.fresh_job && p.vnis[0] == 9 && p.vnis[1] == 7);
    tell(&c, 9, PST__EVENT_KIND__EV_STEP_START);
    assert_int_equal(stepvnis_choose(&c, &j, NULL, 2, &p, NULL), ESLURM_INTERCONNECT_FAILURE);
    rec.has_vni = false; /* queued again */
    stepvnis_service.on_job(&c, &j, PST__EVENT_KIND__EV_UNSPECIFIED);
    tell(&c, 9, PST__EVENT_KIND__EV_STEP_END);
    assert_int_equal(stepvnis_choose(&c, &j, NULL, 2, &p, NULL), 0);
    assert_true(p.fresh_job && p.vnis[0] + p.vnis[1] == 16);
    end(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_in_turn),
        cmocka_unit_test(test_shared),
        cmocka_unit_test(test_of_a_job),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
