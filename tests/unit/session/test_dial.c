/* test_dial.c - how long a controller that is not there is tried for */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/timefmt.h"
#include "conf/conf.h"
#include "session/dial.h"

/* Port 1 of this host: nobody listens there. */
static const char text[] = "ClusterName=c\nSlurmctldHost=h(127.0.0.1)\nSlurmctldPort=1\n"
                           "AuthType=auth/slurm\nMessageTimeout=7\n"
                           "NodeName=n1 CPUs=1\nPartitionName=p Nodes=n1\n";

static void count_tries(void *ctx, const char *why)
{
    (void)why;
    ++*(int *)ctx;
}

static void test_absent(void **state)
{
    const struct conf_text file = { .name = "slurm.conf", .text = text, .len = strlen(text) };
    struct client *client = NULL;
    struct conf *conf = NULL;
    struct err err = { .text = "" };
    struct tls_ctx *tls = NULL;
    struct dial d = { .program = "test", .tls = &tls };
    int64_t since;
    int tries = 0;

    (void)state;
    assert_int_equal(conf_load_text(&file, 1, CONF_CLIENT, &conf, NULL, &err), 0);
    assert_int_equal(dial_conf_timeout_ms(conf), 7000);
    d.conf = conf;
    d.timeout_ms = 300;
    since = now_mono_us();
    assert_true(dial_ctld_once(&d, &client, &err) < 0);
    assert_true(dial_may_come_back(dial_ctld(&d, count_tries, &tries, &client, &err)));
    assert_true(tries >= 2);
    assert_true(now_mono_us() - since >= 300000);
    assert_true(err.text[0]);
    assert_null(client);
    assert_int_equal(dial_dbd_host(&d, 1, &client, &err), -ENOENT);
    assert_false(dial_may_come_back(-EACCES));
    conf = conf_free(conf);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_absent) };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
