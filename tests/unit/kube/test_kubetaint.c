/* test_kubetaint.c - the taint of nodes that both Kubernetes and Slurm have */
#include "kube_util.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "kube/api/kubejson.h"
#include "kube/claim/podread.h"

/* Ours is put in and taken away; those of others stay where they are. */
static void test_taints_of_managed_nodes(void **state)
{
    _cleanup_json_ json_t *node = read_text(
        "{\"metadata\":{\"resourceVersion\":\"7\"},\"spec\":{\"taints\":[{\"key\":\"a\",\"effect\":"
        "\"NoSchedule\"},{\"key\":\"slinky.slurm.net/managed-node\",\"value\":\"theirs\","
        "\"effect\":\"NoExecute\"}]}}");
    _cleanup_json_ json_t *pod = read_text("{\"spec\":{\"tolerations\":[{\"key\":\"a\"}]}}");
    _cleanup_json_ json_t *put = NULL, *back = NULL, *list = NULL, *bare = json_object();

    (void)state;
    assert_true(podread_taint_differs(node, "s", true) && !podread_taint_differs(node, "s", false));
    assert_true(podread_taint_differs(bare, "s", true) && !podread_taint_differs(bare, "s", false));
    put = podread_taint_change(node, "s", true);
    assert_string_equal(kubejson_text(put, "metadata.resourceVersion"), "7");
    assert_int_equal(json_array_size(kubejson_at(put, "spec.taints")), 3);
    assert_true(!podread_taint_differs(put, "s", true) && podread_taint_differs(put, "s", false));
    back = podread_taint_change(put, "s", false);
    assert_true(json_equal(kubejson_at(back, "spec.taints"), kubejson_at(node, "spec.taints")));
    assert_false(podread_tolerates_own(pod, "s"));
    list = podread_tolerations(pod, "s");
    assert_int_equal(json_array_size(list), 2);
    (void)json_object_set(kubejson_at(pod, "spec"), "tolerations", list);
    assert_true(podread_tolerates_own(pod, "s") && !podread_tolerates_own(pod, "other"));
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_taints_of_managed_nodes),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
