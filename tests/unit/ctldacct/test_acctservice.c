/* test_acctservice.c - which accounting store a configuration asks for, and what of the log has to
 * be kept for it */
#include "core_util.h"

#include <unistd.h>

#include "ctld/acct/acctsync.h"
#include "ctld/core/corequeue.h"
#include "ctld/core/loop.h"
#include "wire/client.h"

#include "played_dbd.h"

extern const struct ctld_service acct_service, acctsync_service;

static struct core core;

/* The state folder is this core's own. */
static int open_with(const char *lines)
{
    struct err err = { .text = "" };
    char text[600];

    core = (struct core){ .services = { &acct_service, &acctsync_service, NULL } };
    core.ctld.conf = conf_with_lines("");
    core_open(&core);
    assert_int_equal(core_queue_new(&core.ctld.queue), 0);
    core.ctld.conf = conf_free(core.ctld.conf);
    (void)snprintf(text, sizeof(text), "StateSaveLocation=%s\n%s", core.dir, lines);
    core.ctld.conf = conf_with_lines(text);
    return acct_service.open(&core.ctld, &err);
}

static void end(void)
{
    acct_service.stop(&core.ctld);
    assert_null(core.ctld.acct);
    assert_null(core.ctld.acct_admin);
    assert_null(core.ctld.acct_follow);
    core.ctld.queue = core_queue_free(core.ctld.queue);
    core_end(&core);
}

static bool has_store(void)
{
    char path[200];

    (void)snprintf(path, sizeof(path), "%s/accounting.sqlite", core.dir);
    return access(path, F_OK) == 0;
}

/* accounting_storage/none keeps nothing: no store, no hold on the log. */
static void test_none(void **state)
{
    (void)state;
    assert_int_equal(open_with("AccountingStorageType=accounting_storage/none\n"), 0);
    assert_null(core.ctld.acct);
    assert_null(core.ctld.acct_admin);
    assert_null(core.ctld.acct_follow);
    assert_false(has_store());
    assert_true(acct_service.keeps(&core.ctld) == UINT64_MAX);
    acct_service.durable(&core.ctld, 7);
    acct_service.reconfigured(&core.ctld);
    end();
}

/* Without a word, the controller keeps the store itself, and the log from its first record on
 * until the store has it. */
static void test_own(void **state)
{
    (void)state;
    assert_int_equal(open_with(""), 0);
    assert_non_null(core.ctld.acct);
    assert_non_null(core.ctld.acct_admin);
    assert_null(core.ctld.acct_follow);
    assert_true(has_store());
    assert_int_equal(acct_service.keeps(&core.ctld), 1);
    acct_service.reconfigured(&core.ctld);
    end();
}

/* slurmdbd keeps it: the controller has none, and follows its changes. */
static void test_slurmdbd(void **state)
{
    struct played_dbd dbd;

    (void)state;
    dbd_begin(&dbd);
    assert_int_equal(open_with(dbd_lines(&dbd)), 0);
    assert_non_null(core.ctld.acct);
    assert_null(core.ctld.acct_admin);
    assert_non_null(core.ctld.acct_follow);
    assert_false(has_store());
    assert_int_equal(acct_service.keeps(&core.ctld), 1);
    end();
    dbd_end(&dbd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_none),
        cmocka_unit_test(test_own),
        cmocka_unit_test(test_slurmdbd),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
