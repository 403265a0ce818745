/* test_srun_nodes.c - which nodes of a step are done, their names, the exit code that counts */
#include <errno.h>

#include "cli/srun/srun.h"
#include "output_util.h"
#include "wire/ops.h"

static struct srun_node nodes[4];

static void test_exit_codes(void **state)
{
    struct srun s = { 0 };

    (void)state;
    srun_note_exit(&s, 0, 0);
    assert_int_equal(s.exit_code, 0);
    srun_note_exit(&s, 3, 3 << 8);
    srun_note_exit(&s, 2, 2 << 8); /* the greatest counts */
    assert_int_equal(s.exit_code, 3);
    assert_int_equal(s.worst_status, 3 << 8);
    srun_note_exit(&s, 3, 77); /* and the first of equal ones */
    assert_int_equal(s.worst_status, 3 << 8);
    srun_note_exit(&s, 137, 9);
    assert_int_equal(s.exit_code, 137);
    assert_int_equal(s.worst_status, 9);
}

static void test_names(void **state)
{
    struct srun s = { .nodes = nodes, .n_nodes = 4 };
    char *names;

    (void)state;
    nodes[0].name = "n2";
    nodes[1].name = "n1";
    nodes[2].name = "n2"; /* of another part */
    nodes[3].name = "m7";
    names = srun_all_nodes(&s);
    assert_string_equal(names, "m7,n[1-2]");
    free(names);
}

/* Done once, with connections or without. */
static void test_done(void **state)
{
    struct srun_part part = { 0 };
    struct srun s = { .nodes = nodes, .n_nodes = 2, .parts = &part, .n_parts = 1 };

    (void)state;
    nodes[0] = (struct srun_node){ .name = "n1", .part = &part };
    nodes[1] = (struct srun_node){ .name = "n2", .part = &part };
    srun_node_done(&s, &nodes[1]);
    srun_node_done(&s, &nodes[1]);
    assert_int_equal(s.n_done, 1);
    assert_true(nodes[1].done);
    assert_false(nodes[0].done);
    /* there is no connection: nothing is sent, which the caller is told */
    assert_int_equal(srun_node_send(&s, &nodes[0], OP_PING, NULL), -EPIPE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exit_codes),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_done),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
