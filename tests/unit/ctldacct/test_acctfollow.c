/* test_acctfollow.c - changes of accounting records come from slurmdbd, which is played, and are
 * put into the log */
#include "core_util.h"

#include <unistd.h>

#include "ctld/acct/acctfollow.h"
#include "ctld/acct/acctsync.h"
#include "ctld/core/corequeue.h"
#include "ctld/core/loop.h"
#include "json_util.h"
#include "model/account/assoc.h"
#include "wire/client.h"

#include "played_dbd.h"

extern const struct ctld_service acctsync_service;

static struct played_dbd dbd;
static struct core core;
static struct acctfollow *follow;

static void start_follower(void)
{
    struct err err = { .text = "" };

    if (acctfollow_start(&core.ctld, &follow, &err) < 0)
        fail_msg("%s", err.text);
}

static int set_up(void **state)
{
    (void)state;
    dbd_begin(&dbd);
    core = (struct core){ .services = { &acctsync_service, NULL } };
    core.ctld.conf = conf_with_lines(dbd_lines(&dbd));
    core_open(&core);
    assert_int_equal(core_queue_new(&core.ctld.queue), 0);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    follow = acctfollow_stop(follow);
    acctsync_end(&core.ctld);
    core.ctld.queue = core_queue_free(core.ctld.queue);
    core_end(&core);
    dbd_end(&dbd);
    return 0;
}

/* What came to the core is carried out, and is on disk. */
static void turn(void)
{
    core_post_kind(&core.ctld, CMD_STOP);
    core_run(&core.ctld);
    acctsync_durable(&core.ctld, core.ctld.applied_lsn);
}

/* Wait until slurmdbd was asked so often. */
static void await_request(unsigned times)
{
    const int64_t until = now_mono_us() + DBD_WAIT_US;
    unsigned now = 0;

    while (now < times) {
        assert_true(now_mono_us() < until);
        turn();
        (void)poll(NULL, 0, 2); /* between two looks */
        (void)pthread_mutex_lock(&dbd.lock);
        now = dbd.followed;
        (void)pthread_mutex_unlock(&dbd.lock);
    }
}

static void tell(const char *json)
{
    ProtobufCMessage *msg = from_json(&pst__acct_changes__descriptor, json);

    (void)pthread_mutex_lock(&dbd.lock);
    assert_non_null(dbd.follower);
    (void)conn_reply(dbd.follower, OP_ACCT_FOLLOW, dbd.follower_id, FRAME_MORE, msg);
    (void)pthread_mutex_unlock(&dbd.lock);
    protobuf_c_message_free_unpacked(msg, NULL);
}

static void await_version(uint64_t version)
{
    const int64_t until = now_mono_us() + DBD_WAIT_US;

    while (core.ctld.cluster->rec->acct_version != version) {
        assert_true(now_mono_us() < until);
        turn();
        (void)poll(NULL, 0, 2); /* between two looks */
    }
}

static void hang_up(void)
{
    (void)pthread_mutex_lock(&dbd.lock);
    conn_close(dbd.follower);
    (void)pthread_mutex_unlock(&dbd.lock);
}

/* The request says which cluster asks, what TRES it has, and how far it is. */
static void test_asks(void **state)
{
    (void)state;
    SET(core.ctld.cluster->rec, acct_version, 12);
    start_follower();
    await_request(1);
    assert_string_equal(dbd.last_follow->cluster->name, "c");
    assert_int_equal(dbd.last_follow->cluster->control_port, 6817);
    assert_int_equal(dbd.last_follow->version, 12);
    assert_true(dbd.last_follow->n_tres >= 1);
    assert_string_equal(dbd.last_follow->tres[0], "gres/gpu");
    assert_null(dbd.last_follow->leaves);
}

/* Changes are in force; a batch in pieces only when its last piece is there. */
static void test_changes(void **state)
{
    (void)state;
    start_follower();
    await_request(1);
    tell("{'changes':[{'version':3,'account':{'name':'bio'}}]}");
    await_version(3);
    assert_non_null(am_account(core.ctld.cluster->am, "bio"));
    tell("{'more':true,'changes':[{'version':4,'account':{'name':'geo'}}]}");
    tell("{'changes':[{'version':5,'account':{'name':'eco'}}]}");
    await_version(5);
    assert_non_null(am_account(core.ctld.cluster->am, "geo"));
    /* half a batch, and the end of the connection: it is asked for again from 5 on */
    tell("{'more':true,'changes':[{'version':6,'account':{'name':'half'}}]}");
    hang_up();
    await_request(2);
    assert_int_equal(dbd.last_follow->version, 5);
    tell("{'changes':[{'version':7,'account':{'name':'all'}}]}");
    await_version(7);
    assert_null(am_account(core.ctld.cluster->am, "half"));
}

/* What the log does not take is asked for again, from the version that is in force, but not at
 * once: slurmdbd would send the same. */
static void test_refused(void **state)
{
    int64_t told;

    (void)state;
    start_follower();
    await_request(1);
    tell("{'changes':[{'version':3,'account':{'name':'bio'}}]}");
    await_version(3);
    told = now_mono_us();
    tell("{'changes':[{'version':4,'account':{}}]}");
    await_request(2);
    assert_true(now_mono_us() - told >= SEC);
    assert_int_equal(dbd.last_follow->version, 3);
    tell("{'changes':[{'version':4,'account':{'name':'geo'}}]}");
    await_version(4);
}

/* Whoever asks is told when a batch is in force, and when records are brought. */
static void test_tells(void **state)
{
    (void)state;
    start_follower();
    await_request(1);
    assert_true(dbd.last_follow->tells);
    tell("{'asks':true,'changes':[{'version':3,'account':{'name':'bio'}}]}");
    await_request(2);
    assert_int_equal(dbd.last_follow->arrived, 3);
    assert_non_null(am_account(core.ctld.cluster->am, "bio"));
    tell("{'bring':17}");
    await_request(3);
    assert_int_equal(dbd.last_follow->brought, 17);
    assert_false(dbd.last_follow->has_arrived);
    tell("{'changes':[{'version':4,'account':{'name':'geo'}}]}"); /* nobody asks */
    await_version(4);
    assert_int_equal(dbd.followed, 3);
}

/* That the cluster leaves its federation is said in a new request, once; what is taken back in
 * time is not said. */
static void test_leaves(void **state)
{
    (void)state;
    start_follower();
    await_request(1);
    acctfollow_leave(follow, "union");
    await_request(2);
    assert_string_equal(dbd.last_follow->leaves, "union");
    hang_up();
    await_request(3);
    assert_null(dbd.last_follow->leaves);
    acctfollow_stay(follow);
}

/* Nobody listens: the controller goes on, and ends without delay. */
static void test_away(void **state)
{
    int64_t began;

    (void)state;
    dbd_stop(&dbd);
    start_follower();
    began = now_mono_us();
    follow = acctfollow_stop(follow);
    assert_true(now_mono_us() - began < 5 * SEC);
    assert_null(acctfollow_stop(NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_asks, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_changes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_tells, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_leaves, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_away, set_up, tear_down),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
