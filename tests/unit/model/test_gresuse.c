/* test_gresuse.c - what is in use of a node's devices, as text */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>

#include "base/cleanup.h"
#include "model/gresuse.h"

static void change(struct gresuse **use, bool add, const char *name, const char *type,
                   uint64_t count, const char *devices, const char *shares)
{
    Pst__GresAlloc g = PST__GRES_ALLOC__INIT, *list[] = { &g };
    Pst__AllocGroup group = PST__ALLOC_GROUP__INIT;

    g.name = (char *)name; /* borrowed, as all below */
    g.type = (char *)type;
    g.count = count;
    g.devices = (char *)devices;
    g.shares = (char *)shares;
    g.share_counts = (char *)(shares ? "1/1" : NULL);
    group.gres = list;
    group.n_gres = 1;
    assert_int_equal(gresuse_change(use, &group, add), 0);
}

static void expect(const struct gresuse *use, const char *gres, const char *want)
{
    _cleanup_val_(strbuf_done) struct strbuf sb = STRBUF_INIT;
    Pst__NodeRecord node = PST__NODE_RECORD__INIT;

    node.gres = (char *)gres;
    gresuse_text(use, &node, &sb);
    assert_string_equal(strbuf_str(&sb), want);
}

static void test_text(void **state)
{
    const char *node = "gpu:a100:2,shard:a100:8,tmp:4";
    struct gresuse *use = NULL;

    (void)state;
    expect(NULL, NULL, "");
    expect(NULL, "gpu:2", "gpu:0");
    expect(NULL, node, "gpu:a100:0(IDX:N/A),shard:a100:0(0/4,0/4),tmp:0");
    change(&use, true, "gpu", "a100", 1, "0", NULL);
    change(&use, true, "tmp", NULL, 3, NULL, NULL);
    change(&use, true, "shard", NULL, 3, "1", "4-6");
    expect(use, node, "gpu:a100:1(IDX:0),shard:a100:3(-/4,3/4),tmp:3");
    change(&use, true, "shard", NULL, 1, "1", "7");
    change(&use, false, "gpu", "a100", 1, "0", NULL);
    change(&use, false, "tmp", NULL, 3, NULL, NULL);
    expect(use, node, "gpu:a100:0(IDX:N/A),shard:a100:4(0/4,4/4),tmp:0");
    expect(use, "gpu:a100:2(S:0-1),shard:7", "gpu:a100:0(IDX:N/A),shard:a100:4");
    change(&use, true, "gpu", "h100", 2, "2-3", NULL);
    expect(use, "gpu:a100:2,gpu:h100:2", "gpu:a100:0(IDX:N/A),gpu:h100:2(IDX:2-3)");
    gresuse_free(use);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_text) };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
