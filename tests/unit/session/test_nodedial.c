/* test_nodedial.c - a node that is not there: what is said, and that nothing is waited for */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/timefmt.h"
#include "conf/conf.h"
#include "session/nodedial.h"

static const char text[] = "ClusterName=c\nSlurmctldHost=h(127.0.0.1)\nAuthType=auth/slurm\n"
                           "MessageTimeout=7\nNodeName=n1 CPUs=1\nPartitionName=p Nodes=n1\n";

/* Port 1 of this host: nobody listens there. */
static void test_absent(void **state)
{
    const struct conf_text file = { .name = "slurm.conf", .text = text, .len = strlen(text) };
    Pst__SignedCredential credential = PST__SIGNED_CREDENTIAL__INIT;
    Pst__StepReply granted = PST__STEP_REPLY__INIT;
    Pst__NodeAddr addr = PST__NODE_ADDR__INIT;
    struct nodedial d = { .program = "test", .cluster = "c" };
    struct client *client = NULL;
    struct conf *conf = NULL;
    struct err err = { .text = "" };
    int64_t since;

    (void)state;
    assert_int_equal(conf_load_text(&file, 1, CONF_CLIENT, &conf, NULL, &err), 0);
    d.conf = conf;
    granted.credential = &credential;
    addr.name = (char *)"n1";
    addr.addr = (char *)"127.0.0.1";
    addr.has_port = true;
    addr.port = 1;
    since = now_mono_us();
    assert_true(nodedial_step(&d, &granted, &addr, &client, &err) < 0);
    assert_null(client);
    assert_true(err.text[0] != 0);
    assert_true(now_mono_us() - since < 5 * (int64_t)USEC_PER_SEC);
    conf_free(conf);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_absent) };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
