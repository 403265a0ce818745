/* test_nodedevices.c - a node's devices as users are told */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>

#include "base/cleanup.h"
#include "model/words/nodedevices.h"

static void assert_text(const char *gres, const char *cores, const char *want)
{
    Pst__NodeRecord n = PST__NODE_RECORD__INIT;
    Pst__GresTopo t = PST__GRES_TOPO__INIT, *topo[] = { &t };
    _cleanup_val_(strbuf_done) struct strbuf sb = STRBUF_INIT;

    n.cpus = 16;
    n.cores_per_socket = 4;
    n.gres = (char *)gres;
    n.gres_topo = topo;
    n.n_gres_topo = 1;
    t.name = (char *)"gpu";
    t.cores = (char *)cores;
    nodedevices_put(&sb, &n);
    assert_string_equal(sb.len ? strbuf_str(&sb) : "", want);
}

static void test_text(void **state)
{
    assert_text(NULL, NULL, "");
    assert_text("gpu:tesla:4,mps:400,nic:2", "0-7",
                "gpu:tesla:4(S:0-1),mps:tesla:400(S:0-1),nic:2");
    assert_text("gpu:a100:2,shard:8", NULL, "gpu:a100:2,shard:a100:8");
    assert_text("gpu:a100:1,gpu:k80:1,shard:8", "4-7",
                "gpu:a100:1(S:1),gpu:k80:1(S:1),shard:8(S:1)");
    assert_text("gpu:2,shard:8,bb:no_consume:100G", NULL, "gpu:2,shard:8,bb:no_consume:100G");
    assert_text("gpu:2", "nonsense", "gpu:2");
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_text) };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
