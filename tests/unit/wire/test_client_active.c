/* test_client_active.c - of several controllers the active one is found */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api.pb-c.h"
#include "base/cleanup.h"
#include "base/pb/pbutil.h"
#include "wire/client_active.h"
#include "wire/errors.h"
#include "wire/ops.h"
#include "wire/server/server.h"

struct ctl {
    struct server *server;
    atomic_bool standby;
    atomic_uint pings;
};

static void on_request(void *ctx, struct conn *c, const struct frame *frame)
{
    Pst__PingReply r = PST__PING_REPLY__INIT;
    struct ctl *ctl = ctx;

    atomic_fetch_add(&ctl->pings, 1);
    r.has_standby = true;
    r.standby = atomic_load(&ctl->standby);
    assert_int_equal(frame->op, OP_PING);
    assert_int_equal(conn_reply(c, OP_PING, frame->id, 0, &r.base), 0);
}

static char key_path[64];

static uint16_t start_ctl(struct ctl *ctl, const char *addr, uint16_t port, bool standby)
{
    struct auth_keys *keys = NULL;
    struct err err = { .text = "" };
    struct server_config config = { .bind_addr = addr,
                                    .port = port,
                                    .any_port = !port,
                                    .threads = 1,
                                    .cluster = "t",
                                    .service = "slurmctld",
                                    .serves = ACCESS_AT(ACCESS_CTLD),
                                    .slurm_uid = geteuid(),
                                    .hooks.on_request = on_request,
                                    .ctx = ctl };

    atomic_store(&ctl->standby, standby);
    atomic_store(&ctl->pings, 0);
    assert_int_equal(auth_keys_load(key_path, &keys, &err), 0);
    config.keys = keys;
    if (server_new(&config, &ctl->server, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(server_start(ctl->server), 0);
    (void)auth_keys_free(keys);
    return server_port(ctl->server);
}

static int find_active(uint16_t port, struct client_hosts *hosts, struct err *err)
{
    struct client_target target = {
        .port = port, .cluster = "t", .key_file = key_path, .timeout_ms = 5000, .program = "test"
    };
    struct client *c = NULL;
    int r = client_connect_active(&target, hosts, geteuid(), &c, err);

    client_free(c);
    return r;
}

static void test_finds_and_remembers(void **state)
{
    struct client_hosts hosts = { .addr = { "127.0.0.9", "127.0.0.2", "127.0.0.3" }, .n = 3 };
    struct err err = { .text = "" };
    struct ctl two, three;
    uint16_t port = start_ctl(&two, "127.0.0.2", 0, true);

    (void)start_ctl(&three, "127.0.0.3", port, false); /* nobody listens on 127.0.0.9 */
    assert_int_equal(find_active(port, &hosts, &err), 0);
    assert_int_equal(hosts.last, 2);
    assert_int_equal(find_active(port, &hosts, &err), 0);
    assert_int_equal(atomic_load(&two.pings), 1); /* not asked again */
    atomic_store(&three.standby, true);
    assert_int_equal(find_active(port, &hosts, &err), -ECONNREFUSED); /* soon one will lead */
    assert_string_equal(err.text, slurm_err_text(ESLURM_IN_STANDBY_MODE));
    atomic_store(&two.standby, false);
    assert_int_equal(find_active(port, &hosts, &err), 0);
    assert_int_equal(hosts.last, 1);
    server_free(two.server);
    server_free(three.server);
    (void)state;
}

static void test_one_is_not_asked(void **state)
{
    struct client_hosts hosts = { .addr = { "127.0.0.2" }, .n = 1 };
    struct err err = { .text = "" };
    struct ctl one;
    uint16_t port = start_ctl(&one, "127.0.0.2", 0, false);

    assert_int_equal(find_active(port, &hosts, &err), 0);
    assert_int_equal(atomic_load(&one.pings), 0);
    server_free(one.server);
    assert_int_equal(find_active(port, &hosts, &err), -ECONNREFUSED);
    (void)state;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_finds_and_remembers),
        cmocka_unit_test(test_one_is_not_asked),
    };
    struct err err = { .text = "" };
    int r;

    (void)snprintf(key_path, sizeof(key_path), "/tmp/test_active.%d.key", (int)getpid());
    if (auth_keys_create(key_path, &err) < 0)
        return 1;
    cmocka_set_message_output(CM_OUTPUT_TAP);
    r = cmocka_run_group_tests(tests, NULL, NULL);
    (void)unlink(key_path);
    return r;
}
