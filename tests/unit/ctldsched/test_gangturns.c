/* test_gangturns.c - jobs that share CPUs take turns, also when the disk was full for a while */
#include "corefull_util.h"

#include <errno.h>
#include <poll.h>

#include "base/process/failpoint.h"
#include "ctld/core/commit.h"
#include "ctld/schedlink/gangturns.h"
#include "feed/records.h"

static void run_job(uint32_t id)
{
    Pst__Transaction *tx;
    Pst__JobRecord *set;

    (void)core_job(&core, id, NULL);
    set = core_start(id, 1, &tx);
    assert_int_equal(pb_set_str(&set->alloc->groups[0]->cpu_ids, "0-3"), 0);
    apply_ok(core.ctld.cluster, tx);
}

/* Two jobs have started on the same CPUs. */
static void begin(void)
{
    corefull_begin("PreemptMode=GANG\nSchedulerTimeSlice=30\n", 1);
    assert_int_equal(
        pb_set_str(&cluster_partition(core.ctld.cluster, "p")->rec->oversubscribe, "FORCE:2"), 0);
    run_job(1);
    run_job(2);
}

static unsigned waiting(void)
{
    return (unsigned)job_waits_for_turn(cluster_job(core.ctld.cluster, 1)->rec) +
           (unsigned)job_waits_for_turn(cluster_job(core.ctld.cluster, 2)->rec);
}

static void test_one_waits(void **state)
{
    (void)state;
    begin();
    gang_settle_fresh(&core.ctld);
    assert_int_equal(waiting(), 1);
    corefull_end();
}

/* What could not be written is not forgotten: with the next slice one of the two waits. */
static void test_full_disk(void **state)
{
    Pst__Transaction *tx = tx_new(T0);
    int64_t now = now_us();
    uint64_t lsn;

    (void)state;
    begin();
    failpoint_arm("journal.write.enospc:1+");
    SET(tx_cluster(tx), next_job_id, 100);
    lsn = core_commit(&core.ctld, tx);
    journal_commit(core.ctld.journal);
    assert_int_equal(journal_wait_durable(core.ctld.journal, lsn), -ENOSPC);
    gang_settle_fresh(&core.ctld);
    assert_int_equal(waiting(), 0);
    failpoint_arm(NULL);
    while (journal_wait_durable(core.ctld.journal, lsn) < 0)
        (void)poll(NULL, 0, 5); /* the writer tries again in a moment */
    gang_tick(&core.ctld, now);
    gang_tick(&core.ctld, now + 31 * SEC);
    assert_int_equal(waiting(), 1);
    corefull_end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_waits),
        cmocka_unit_test(test_full_disk),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
