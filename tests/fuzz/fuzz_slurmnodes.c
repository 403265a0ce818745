/* fuzz_slurmnodes.c - what a hostile slurmrestd tells the operator of nodes and jobs
 *
 * A script of fakecall.h; `An1` asks whether n1 is drained, `Dn1` when its jobs end, `P` follows
 * jobs that wait.  While nothing is known there is no node; only an answer says drained or gone. */
#include "fakecall.h"
#include "kube/operator/slurmnodes.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void see_change(void *ctx, const char *name)
{
    (void)ctx;
    (void)(name ? strlen(name) : 0);
}

static void see_drained(void *ctx, enum slurmnodes_drained answer)
{
    (void)ctx;
    assert(answer <= SLURMNODES_GONE);
}

static void see_node(void *ctx, const json_t *node)
{
    (void)ctx;
    assert(*kubejson_text(node, "name") && json_is_array(json_object_get(node, "state")));
}

static void do_other(void *ctx, char what, const char *word)
{
    struct slurmnodes *l = ctx;

    if (what == 'A')
        (void)slurmnodes_ask_drained(l, word, see_drained, NULL);
    else if (what == 'D')
        assert(slurmnodes_deadline(l, word) <= INT64_MAX);
    else if (what == 'P')
        slurmnodes_want_pending(l);
    assert(slurmnodes_is_known(l) || !slurmnodes_get(l, word));
    slurmnodes_walk(l, see_node, NULL);
    (void)slurmnodes_missed_us(l, word);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct slurmnodes *l = NULL;

    fake_begin();
    assert(slurmnodes_new(fake.server, "test", see_change, NULL, &l) == 0);
    fake_turn();
    fake_play(data, size, do_other, l);
    do_other(l, 'D', "n1");
    fake_hang_up();
    assert(*slurmnodes_why_unknown(l));
    l = slurmnodes_free(l);
    fake_end();
    return 0;
}
