/* fuzz_slurmlink.c - what a hostile slurmrestd tells the bridge of jobs: stream, lists, answers
 *
 * A script of fakecall.h; `A7` asks for job 7, `N7` lets its nodes go, `F7` forgets it.  No job is
 * taken for gone that was not missed before. */
#include "base/timefmt.h"
#include "fakecall.h"
#include "kube/bridge/podgang.h"
#include "kube/bridge/slurmlink.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void see_job(void *ctx, const struct slurmjob *job)
{
    struct podgang_view v = { .pods = ctx, .least = 1, .job = job };

    assert(job->id > 0 && (job->state != SLURMJOB_GONE || job->missed_us));
    assert(!job->word || *job->word);
    (void)podgang_decide(&v);
    (void)podgang_owns(job, "pod/a/b");
    (void)slurmlink_is_kept(job);
}

static void see_node(void *ctx, const char *name)
{
    (void)ctx;
    (void)strlen(name);
}

static void see_nothing(void *ctx)
{
    (void)ctx;
}

static void do_other(void *ctx, char what, const char *word)
{
    struct slurmlink *l = ctx;
    uint64_t id;

    if (parse_u64(word, 1, UINT32_MAX, &id) < 0)
        return;
    if (what == 'A')
        (void)slurmlink_ask(l, (uint32_t)id);
    else if (what == 'N')
        slurmlink_let_go(l, (uint32_t)id);
    else if (what == 'F')
        slurmlink_forget(l, (uint32_t)id);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    json_t *pods = json_array();
    const struct slurmlink_heard heard = { see_job, see_node, see_nothing, see_nothing, pods };
    struct slurmlink *l = NULL;

    fake_begin();
    assert(slurmlink_new(fake.server, "", &heard, &l) == 0);
    fake_turn();
    fake_play(data, size, do_other, l);
    fake_hang_up();
    assert(slurmlink_silence_us(l) >= 0 && *slurmlink_silent(l));
    l = slurmlink_free(l);
    fake_end();
    json_decref(pods);
    return 0;
}
