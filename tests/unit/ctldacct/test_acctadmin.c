/* test_acctadmin.c - accounting entities in a controller that keeps the store itself: what the
 * cluster says of itself, and the way of a change from the store into the log */
#include "core_util.h"

#include <poll.h>

#include "base/timefmt.h"
#include "ctld/acct/acctadmin.h"
#include "ctld/acct/acctsync.h"
#include "ctld/core/corequeue.h"
#include "ctld/core/loop.h"
#include "model/account/assoc.h"

extern const struct ctld_service acctsync_service;

static struct acctadmin_self self;

static void describe(const char *lines)
{
    struct ctld ctld = { .conf = conf_with_lines(lines) };

    assert_int_equal(acctadmin_describe(&ctld, &self), 0);
    self.cluster.name = self.cluster.name ? tx_strdup(self.cluster.name) : NULL;
    conf_free(ctld.conf);
}

static void forget(void)
{
    free(self.cluster.name);
    acctadmin_self_done(&self);
}

/* What sacctmgr list clusters shows. */
static void test_cluster(void **state)
{
    (void)state;
    describe("SlurmctldPort=7000\n");
    assert_string_equal(self.cluster.name, "c");
    assert_int_equal(self.cluster.control_port, 7000);
    assert_int_equal(self.n_tres, 0);    /* but for the plain ones */
    assert_string_equal(self.addrs, ""); /* there is one controller */
    forget();
    describe("SlurmctldHost=h2(127.0.0.2)\n");
    assert_non_null(strstr(self.addrs, "h,127.0.0.2"));
    forget();
}

/* AccountingStorageTRES: names of the kind "gres/gpu"; with GPUs what is measured of them. */
static const struct {
    const char *lines, *want;
} lists[] = {
    { "AccountingStorageTRES=gres/nic,license/matlab\n", "gres/nic license/matlab " },
    { "AccountingStorageTRES=gres/gpu\n", "gres/gpu gres/gpumem gres/gpuutil " },
    { "AccountingStorageTRES=gres/gpu:a100,cpu,gres/gpu\n",
      "gres/gpu gres/gpu:a100 gres/gpumem gres/gpuutil " },
    { "AccountingStorageTRES=gres/gpu:a100\n", "gres/gpu:a100 " },
};

static void test_tres(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
        char text[256] = "";
        size_t len = 0;

        describe(lists[i].lines);
        for (size_t k = 0; k < self.n_tres; k++)
            len += (size_t)snprintf(text + len, sizeof(text) - len, "%s ", self.tres[k]);
        assert_string_equal(text, lists[i].want);
        forget();
    }
}

/* ---- the store ------------------------------------------------------------------------------- */

static struct core core;

static void begin(void)
{
    core = (struct core){ .services = { &acctsync_service, NULL } };
    core.ctld.conf = conf_with_lines("AccountingStorageTRES=gres/gpu\n");
    core_open(&core);
    assert_int_equal(core_queue_new(&core.ctld.queue), 0);
}

static void end(void)
{
    acctsync_end(&core.ctld);
    core.ctld.queue = core_queue_free(core.ctld.queue);
    core_end(&core);
}

static struct acctadmin *open_store(void)
{
    struct acctadmin *a = NULL;
    struct err err = { .text = "" };
    char db[160];

    (void)snprintf(db, sizeof(db), "%s/db", core.dir);
    if (acctadmin_start(&core.ctld, db, &a, &err) < 0)
        fail_msg("%s", err.text);
    return a;
}

static void await_tables(void)
{
    const int64_t until = now_mono_us() + 20 * SEC;

    while (!am_qos_named(core.ctld.cluster->am, "normal")) {
        assert_true(now_mono_us() < until);
        core_post_kind(&core.ctld, CMD_STOP);
        core_run(&core.ctld);
        acctsync_durable(&core.ctld, core.ctld.applied_lsn);
        (void)poll(NULL, 0, 2); /* between two looks */
    }
}

/* A new store brings its first records into the log; a controller that has them gets them no
 * more. */
static void test_first(void **state)
{
    struct acctadmin *a;
    uint64_t lsn, version;

    (void)state;
    begin();
    a = open_store();
    await_tables();
    assert_non_null(am_account(core.ctld.cluster->am, "root"));
    assert_null(acctadmin_stop(a));
    core_post_kind(&core.ctld, CMD_STOP); /* what it told last */
    core_run(&core.ctld);
    version = core.ctld.cluster->rec->acct_version;
    assert_true(version > 0);
    lsn = core.ctld.applied_lsn;
    a = open_store();
    acctadmin_reconfigured(a);
    assert_null(acctadmin_stop(a));
    core_post_kind(&core.ctld, CMD_STOP);
    core_run(&core.ctld);
    assert_int_equal(core.ctld.cluster->rec->acct_version, version);
    assert_int_equal(core.ctld.applied_lsn, lsn);
    assert_null(acctadmin_stop(NULL));
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cluster),
        cmocka_unit_test(test_tres),
        cmocka_unit_test(test_first),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
