/* schedmetrics.c - the page of the scheduler: sdiag's figures under the incumbent's names
 *
 * What cannot happen here is 0, as sdiag says: there are no agents, no table of times, and no pass
 * or plan that ends at a time, a license or a number of requests.  What this controller has no
 * figure for has no row. */
#include "ctld/web/schedmetrics.h"

#include "base/cleanup.h"
#include "base/timefmt.h"
#include "ctld/web/exposition.h"

static uint64_t whole_seconds(int64_t us)
{
    return us > 0 ? (uint64_t)us / 1000000 : 0;
}

static uint64_t mean_of(uint64_t total, uint64_t n)
{
    return n ? total / n : 0;
}

#define LATENCY_CALLS 1000

/* As sdiag measures it, on this host. */
static uint64_t clock_latency_us(void)
{
    int64_t start = now_mono_us();

    for (int i = 0; i < LATENCY_CALLS; i++)
        (void)now_us(); /* only its cost matters */
    return (uint64_t)(now_mono_us() - start);
}

/* Name behind slurm_, help, value from r. */
#define FIGURES(X)                                                                                 \
    X("agent_queue_size", "Answers that wait until they are durable", r->agent_queue)              \
    X("agent_cnt", "Agents that send requests: there are none", 0)                                 \
    X("agent_thread_cnt", "Threads of agents: there are none", 0)                                  \
    X("bf_depth_mean", "Jobs that a plan looked at, on average",                                   \
      mean_of(r->bf_depth_total, r->bf_cycles))                                                    \
    X("bf_mean_cycle", "Microseconds of a plan, on average",                                       \
      mean_of(r->bf_total_us, r->bf_cycles))                                                       \
    X("bf_try_depth_mean", "Jobs that a plan tried, on average",                                   \
      mean_of(r->bf_depth_total, r->bf_cycles))                                                    \
    X("bf_queue_len_mean", "Jobs that waited for a plan, on average",                              \
      mean_of(r->bf_queue_total, r->bf_cycles))                                                    \
    X("bf_mean_table_sz", "Size of the table of times, on average: there is none", 0)              \
    X("backfilled_jobs", "Jobs that plans started", r->bf_started)                                 \
    X("backfilled_het_jobs", "Components of heterogeneous jobs that plans started",                \
      r->bf_het_started)                                                                           \
    X("bf_active", "Is a plan being made?", r->bf_active)                                          \
    X("bf_cycle_cnt", "Plans", r->bf_cycles)                                                       \
    X("bf_cycle_last", "Microseconds of the last plan", r->bf_last_us)                             \
    X("bf_cycle_max", "Microseconds of the longest plan", r->bf_max_us)                            \
    X("bf_cycle_tot", "Microseconds of all plans", r->bf_total_us)                                 \
    X("bf_depth_tot", "Jobs that plans looked at", r->bf_depth_total)                              \
    X("bf_last_depth", "Jobs that the last plan looked at", r->bf_depth)                           \
    X("bf_depth_try_tot", "Jobs that plans tried", r->bf_depth_total)                              \
    X("bf_last_depth_try", "Jobs that the last plan tried", r->bf_depth)                           \
    X("bf_queue_len_tot", "Jobs that waited for plans", r->bf_queue_total)                         \
    X("bf_table_size", "Size of the last table of times: there is none", 0)                        \
    X("bf_table_size_tot", "Sizes of all tables of times: there are none", 0)                      \
    X("bf_exit_end", "Plans that came to the end of the queue",                                    \
      r->bf_cycles - r->bf_exits_depth - r->bf_exits_starts)                                       \
    X("bf_exit_max_job_start", "Plans that ended at bf_max_job_start", r->bf_exits_starts)         \
    X("bf_exit_max_job_test", "Plans that ended at bf_max_job_test", r->bf_exits_depth)            \
    X("bf_exit_state_changed", "Plans that a change ended: none does", 0)                          \
    X("bf_exit_table_limit", "Plans that a full table ended: none does", 0)                        \
    X("bf_exit_timeout", "Plans that the time ended: none does", 0)                                \
    X("bf_queue_len", "Jobs that waited for the last plan", r->bf_queue_len)                       \
    X("bf_when_last_cycle", "When the last plan was made", whole_seconds(r->bf_when_us))           \
    X("sdiag_jobs_canceled", "Jobs cancelled", r->jobs_cancelled)                                  \
    X("sdiag_jobs_completed", "Jobs completed", r->jobs_completed)                                 \
    X("sdiag_jobs_failed", "Jobs failed", r->jobs_failed)                                          \
    X("sdiag_jobs_pending", "Jobs that wait", r->jobs_pending)                                     \
    X("sdiag_jobs_running", "Jobs that run", r->jobs_running)                                      \
    X("sdiag_jobs_started", "Jobs started", r->jobs_started)                                       \
    X("sdiag_jobs_submitted", "Jobs submitted", r->jobs_submitted)                                 \
    X("sdiag_latency", "Microseconds of 1,000 looks at the clock", clock_latency_us())             \
    X("sdiag_job_states_ts", "When the states were counted", whole_seconds(r->now_us))             \
    X("last_backfilled_jobs", "Jobs that plans started since the last reset", r->bf_started_cycle) \
    X("schedule_cycle_cnt", "Passes of the scheduler", r->cycles)                                  \
    X("schedule_cycle_depth", "Jobs that passes looked at", r->cycle_depth_total)                  \
    X("schedule_cycle_last", "Microseconds of the last pass", r->cycle_last_us)                    \
    X("schedule_cycle_max", "Microseconds of the longest pass", r->cycle_max_us)                   \
    X("schedule_cycle_tot", "Microseconds of all passes", r->cycle_total_us)                       \
    X("schedule_queue_len", "Jobs that wait", r->queue_len)                                        \
    X("sched_exit_end", "Passes that came to the end of the queue",                                \
      r->cycles - r->exits_depth - r->exits_starts)                                                \
    X("sched_exit_max_depth", "Passes that ended at default_queue_depth", r->exits_depth)          \
    X("sched_exit_max_job_start", "Passes that ended at sched_max_job_start", r->exits_starts)     \
    X("sched_exit_lic", "Passes that a license ended: none does", 0)                               \
    X("sched_exit_rpc_cnt", "Passes that requests ended: none does", 0)                            \
    X("sched_exit_timeout", "Passes that the time ended: none does", 0)                            \
    X("sched_mean_cycle", "Microseconds of a pass, on average",                                    \
      mean_of(r->cycle_total_us, r->cycles))                                                       \
    X("sched_mean_depth_cycle", "Jobs that a pass looked at, on average",                          \
      mean_of(r->cycle_depth_total, r->cycles))                                                    \
    X("server_thread_cnt", "Connections", r->server_threads)                                       \
    X("slurmdbd_queue_size", "Records that accounting has yet to take", r->acct_lag)               \
    X("last_proc_req_start", "When the figures began", whole_seconds(r->since_us))                 \
    X("sched_stats_timestamp", "When the figures were read", whole_seconds(r->now_us))

void schedmetrics_write(const Pst__DiagReply *r, struct strbuf *sb)
{
#define WRITE(name, help, value) exposition_gauge(sb, "slurm_" name, help, value);
    FIGURES(WRITE)
#undef WRITE
}
