/* test_cxiservice.c - services of a step on two NICs of a made-up library: all or none, limits,
 * what was left behind */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "cxi/cxiservice.h"
#include "model/words/slingshot.h"

#define SVCS 8

struct nic {
    struct cxil_dev dev; /* first: the library gives it out */
    struct cxil_svc svcs[SVCS];
    unsigned n, shared;
    int refuses; /* errno of an allocation */
    bool busy;
};

static struct nic nics[2];

static int fake_alloc(struct cxil_dev *dev, const struct cxil_svc *svc, struct cxil_failure *why)
{
    struct nic *nic = (struct nic *)dev;

    (void)why;
    if (nic->refuses)
        return -nic->refuses;
    nic->svcs[nic->n] = *svc;
    nic->svcs[nic->n].enable = 0;
    nic->svcs[nic->n].svc_id = 5 + nic->n;
    return (int)nic->svcs[nic->n++].svc_id;
}

static int fake_update(struct cxil_dev *dev, const struct cxil_svc *svc, struct cxil_failure *why)
{
    struct nic *nic = (struct nic *)dev;

    (void)why;
    for (unsigned i = 0; i < nic->n; i++)
        if (nic->svcs[i].svc_id == svc->svc_id)
            nic->svcs[i] = *svc;
    return 0;
}

static int fake_destroy(struct cxil_dev *dev, unsigned svc_id)
{
    struct nic *nic = (struct nic *)dev;

    if (nic->busy)
        return -EBUSY;
    for (unsigned i = 0; i < nic->n; i++)
        if (nic->svcs[i].svc_id == svc_id) {
            nic->svcs[i] = nic->svcs[--nic->n];
            return 0;
        }
    return -ENOENT;
}

static int fake_list(struct cxil_dev *dev, struct cxil_svc_list **ret)
{
    const struct nic *nic = (const struct nic *)dev;
    struct cxil_svc_list *l = malloc(sizeof(*l) + SVCS * sizeof(l->descs[0]));

    assert_non_null(l);
    l->count = nic->n;
    memcpy(l->descs, nic->svcs, nic->n * sizeof(l->descs[0]));
    *ret = l;
    return 0;
}

static void fake_list_free(struct cxil_svc_list *l)
{
    free(l);
}

static int fake_use(struct cxil_dev *dev, unsigned svc_id, struct cxil_use *ret)
{
    (void)dev;
    *ret = (struct cxil_use){ .svc_id = svc_id };
    ret->in_use[SLINGSHOT_TXQS] = 60;
    return 0;
}

static int fake_share(struct cxil_dev *dev, unsigned svc_id, unsigned n)
{
    (void)svc_id;
    ((struct nic *)dev)->shared = n;
    return 0;
}

static struct cxi two_nics(void)
{
    struct cxi c = { .lib = { .alloc = fake_alloc,
                              .update = fake_update,
                              .destroy = fake_destroy,
                              .list = fake_list,
                              .list_free = fake_list_free,
                              .use = fake_use,
                              .share = fake_share },
                     .n = 2,
                     .ids = { 0, 3 },
                     .devs = { &nics[0].dev, &nics[1].dev } };

    memset(nics, 0, sizeof(nics));
    for (size_t i = 0; i < ARRAY_SIZE(nics); i++)
        nics[i].dev.num_txqs = nics[i].dev.num_les = 100;
    return c;
}

static uint32_t reserved[CXIL_RESOURCES], most[CXIL_RESOURCES], vnis[] = { 1024, 1030 };

static Pst__CxiPlan a_plan(uint32_t txqs, bool adjust)
{
    Pst__CxiPlan p = PST__CXI_PLAN__INIT;

    memset(reserved, 0, sizeof(reserved));
    reserved[SLINGSHOT_TXQS] = txqs;
    reserved[SLINGSHOT_TLES] = 4;
    for (size_t i = 0; i < CXIL_RESOURCES; i++)
        most[i] = 90;
    p.uid = 1000;
    p.vnis = vnis;
    p.n_vnis = 2;
    p.tcs = SLINGSHOT_LOW_LATENCY | SLINGSHOT_BEST_EFFORT;
    p.tasks = 10;
    p.reserved = reserved;
    p.most = most;
    p.n_reserved = p.n_most = CXIL_RESOURCES;
    p.adjust = adjust;
    return p;
}

static void test_made(void **state)
{
    struct cxi c = two_nics();
    Pst__CxiPlan p = a_plan(20, true);
    const struct cxil_svc *svc = &nics[1].svcs[0];

    (void)state;
    assert_int_equal(cxi_make(&c, &p, NULL), 0);
    assert_int_equal(c.svc_ids[0], 5);
    assert_int_equal(nics[1].n, 1);
    assert_true(svc->enable && svc->restricted_members && svc->restricted_vnis &&
                svc->restricted_tcs && svc->resource_limits && !svc->is_system_svc);
    assert_int_equal(svc->members[0].member.uid, 1000);
    assert_int_equal(svc->members[0].type, CXIL_MEMBER_UID);
    assert_int_equal(svc->num_vld_vnis, 2);
    assert_int_equal(svc->vnis[1], 1030);
    assert_true(!svc->tcs[0] && svc->tcs[1] && !svc->tcs[2] && svc->tcs[3] && !svc->tcs[4]);
    assert_int_equal(svc->limits[SLINGSHOT_TXQS].res, 20);
    assert_int_equal(svc->limits[SLINGSHOT_TXQS].max, 90);
    assert_int_equal(svc->limits[SLINGSHOT_TLES].max, 4); /* as many as are reserved */
    assert_int_equal(nics[1].shared, 0);
    assert_true(cxi_drop(&c, 1024));
    assert_int_equal(nics[0].n + nics[1].n, 0);
}

static void test_all_or_none(void **state)
{
    struct cxi c = two_nics();
    Pst__CxiPlan p = a_plan(20, true);
    struct err err = { .text = "" };

    (void)state;
    nics[1].refuses = ENOSPC;
    assert_int_equal(cxi_make(&c, &p, &err), -ENOSPC);
    assert_string_equal(err.text, "cxi3: no service for VNI 1024: No space left on device");
    assert_int_equal(nics[0].n, 0);
    p.n_vnis = 0;
    assert_int_equal(cxi_make(&c, &p, &err), -EINVAL);
}

static void test_adjusted(void **state)
{
    struct cxi c = two_nics();
    Pst__CxiPlan p = a_plan(80, true);

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(nics); i++) {
        nics[i].svcs[0] = (struct cxil_svc){ .is_system_svc = 1, .svc_id = 2 };
        nics[i].n = 1;
    }
    nics[1].svcs[0].resource_limits = 1; /* 70 are kept for it, more than the 60 it uses */
    nics[1].svcs[0].limits[SLINGSHOT_TXQS].res = 70;
    assert_int_equal(cxi_make(&c, &p, NULL), 0);
    assert_int_equal(nics[0].svcs[1].limits[SLINGSHOT_TXQS].res, 40);
    assert_int_equal(nics[1].svcs[1].limits[SLINGSHOT_TXQS].res, 30);
    assert_true(cxi_drop(&c, 1024));
    assert_int_equal(nics[0].n, 1); /* the system's stays */
    p.adjust = false;
    assert_int_equal(cxi_make(&c, &p, NULL), 0);
    assert_int_equal(nics[1].svcs[1].limits[SLINGSHOT_TXQS].res, 80);
}

static void test_left_behind(void **state)
{
    struct cxi c = two_nics();
    Pst__CxiPlan p = a_plan(1, false);

    (void)state;
    assert_int_equal(cxi_make(&c, &p, NULL), 0);
    assert_int_equal(cxi_make(&c, &p, NULL), 0); /* the first one's step daemon was killed */
    assert_int_equal(nics[0].n, 1);
    nics[0].busy = true;
    assert_false(cxi_drop(&c, 1024));
    assert_int_equal(nics[0].n, 1);
    assert_int_equal(nics[1].n, 0);
    nics[0].busy = false;
    assert_true(cxi_drop(&c, 1025)); /* of another VNI there is none */
    assert_int_equal(nics[0].n, 1);
    assert_true(cxi_drop(&c, 1024));
    assert_int_equal(nics[0].n, 0);
}

static void test_many_tasks(void **state)
{
    static const struct {
        uint32_t tasks, shared;
    } cases[] = { { 252, 0 }, { 253, 2 }, { 504, 2 }, { 505, 3 } };
    struct err err = { .text = "" };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct cxi c = two_nics();
        Pst__CxiPlan p = a_plan(1, false);

        p.tasks = cases[i].tasks;
        assert_int_equal(cxi_make(&c, &p, NULL), 0);
        assert_int_equal(nics[0].shared, cases[i].shared);
        c.lib.share = NULL;
        assert_int_equal(cxi_make(&c, &p, &err), cases[i].shared ? -ENOTSUP : 0);
    }
    assert_non_null(strstr(err.text, "505 tasks on a node need a newer libcxi"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_made),       cmocka_unit_test(test_all_or_none),
        cmocka_unit_test(test_adjusted),   cmocka_unit_test(test_left_behind),
        cmocka_unit_test(test_many_tasks),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
