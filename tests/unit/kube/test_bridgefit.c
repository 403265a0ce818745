/* test_bridgefit.c - what pods are told that fit nowhere */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "kube/bridge/bridgefit.h"

static void test_sentences(void **state)
{
    static const struct {
        struct bridgefit f;
        size_t needed;
        const char *want;
    } cases[] = {
        { { 0 }, 1, "Kubernetes has no nodes" },
        { { .nodes = 1, .cordoned = 1 }, 1, "None of 1 node fits: 1 is cordoned" },
        { { .nodes = 9, .cordoned = 2, .tainted = 3, .unnamed = 4 },
          1,
          "None of 9 nodes fits: 2 are cordoned, 3 have taints that are not tolerated, 4 are not "
          "those of nodeSelector and node affinity" },
        { { .nodes = 5, .fit = 1, .tainted = 1, .unnamed = 1, .lacking = 1, .kept = 1 },
          2,
          "1 of 5 nodes fits, and the group needs 2: 1 has a taint that is not tolerated, 1 is not "
          "one of nodeSelector and node affinity, 1 has not the volumes or devices, 1 is kept by "
          "what pods say of pods" },
        { { .nodes = 8, .fit = 2, .lacking = 4, .kept = 2 },
          3,
          "2 of 8 nodes fit, and the group needs 3: 4 have not the volumes or devices, 2 are kept "
          "by what pods say of pods" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_val_(strbuf_done) struct strbuf out = STRBUF_INIT;

        bridgefit_write(&cases[i].f, cases[i].needed, &out);
        assert_string_equal(strbuf_str(&out), cases[i].want);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_sentences) };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
