/* test_bridgedrain.c - what is said of nodes that are drained in Slurm */
#include "kube_util.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "kube/api/kubejson.h"
#include "kube/external/bridgedrain.h"

/* have: a node as slurmrestd writes it; NULL: none.  said: the sentence. */
static void note_and_check(json_t *drains, const char *have, bool changed, const char *said)
{
    _cleanup_json_ json_t *node = have ? read_text(have) : NULL;
    _cleanup_val_(strbuf_done) struct strbuf out = STRBUF_INIT;

    assert_int_equal(bridgedrain_note(drains, "n1", node, &out), changed);
    assert_string_equal(strbuf_str(&out), said);
}

static void test_drains_that_come_and_go(void **state)
{
    _cleanup_json_ json_t *drains = json_object(), *seen = json_object();

    (void)state;
    note_and_check(drains, "{\"state\":[\"IDLE\",\"EXTERNAL\"],\"reason\":\"\"}", false, "");
    note_and_check(drains, NULL, false, "");
    note_and_check(drains, "{\"state\":[\"MIXED\",\"DRAIN\"],\"reason\":\"disk\"}", true,
                   "Slurm node n1 is drained: disk; jobs that are there run on");
    /* The last job ends: that is no news. */
    note_and_check(drains, "{\"state\":[\"IDLE\",\"DRAIN\"],\"reason\":\"disk\"}", false, "");
    note_and_check(drains, "{\"state\":[\"IDLE\",\"DRAIN\"],\"reason\":\"\"}", true,
                   "Slurm node n1 is drained: no reason is given");
    /* It moves: jobs of other partitions are told. */
    note_and_check(drains,
                   "{\"state\":[\"IDLE\",\"DRAIN\"],\"reason\":\"\",\"partitions\":[\"p\"]}", true,
                   "");
    note_and_check(drains, "{\"state\":[\"IDLE\",\"DRAIN\",\"UNDRAIN\"],\"reason\":\"\"}", true,
                   "Slurm node n1 is not drained any more");
    assert_int_equal(json_object_size(drains), 0);
    note_and_check(drains, "{\"state\":[\"DOWN\",\"DRAIN\"],\"reason\":\"x\"}", true,
                   "Slurm node n1 is drained: x");
    note_and_check(drains, NULL, true, ""); /* it is no node of Slurm any more */
    note_and_check(drains, "{\"state\":[\"DOWN\",\"DRAIN\"],\"reason\":\"x\"}", true,
                   "Slurm node n1 is drained: x");
    (void)json_object_set_new(seen, "n1", json_true());
    assert_false(bridgedrain_keep(drains, seen));
    (void)json_object_clear(seen);
    assert_true(bridgedrain_keep(drains, seen));
    assert_int_equal(json_object_size(drains), 0);
}

static void test_what_a_job_could_have(void **state)
{
    static const struct {
        const char *excluded, *partitions, *want;
    } cases[] = {
        { "", "p", "; drained in Slurm: a (disk), b, c (a fan) and 1 more" },
        { "", "", "; drained in Slurm: a (disk), b, c (a fan) and 2 more" },
        { "a,c,x[1-9]", "p", "; drained in Slurm: b, d (y)" },
        { "[a", "p", "" }, /* no list: nothing is said */
        { "a,b", "z,q", "; drained in Slurm: e (z)" },
        { "e", "q", "" },
        { "", "none", "" },
    };
    _cleanup_json_ json_t *drains = read_text(
        "{\"a\":{\"reason\":\"disk\",\"partitions\":[\"p\"]},\"b\":{\"reason\":\"\",\"partitions\":"
        "[\"o\",\"p\"]},\"c\":{\"reason\":\"a fan\",\"partitions\":[\"p\"]},\"d\":{\"reason\":"
        "\"y\",\"partitions\":[\"p\"]},\"e\":{\"reason\":\"z\",\"partitions\":[\"q\"]}}");
    _cleanup_json_ json_t *none = json_object();

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_val_(strbuf_done) struct strbuf out = STRBUF_INIT, nothing = STRBUF_INIT;

        bridgedrain_write(drains, cases[i].excluded, cases[i].partitions, &out);
        assert_string_equal(strbuf_str(&out), cases[i].want);
        bridgedrain_write(none, cases[i].excluded, cases[i].partitions, &nothing);
        assert_int_equal(nothing.len, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_drains_that_come_and_go),
        cmocka_unit_test(test_what_a_job_could_have),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
