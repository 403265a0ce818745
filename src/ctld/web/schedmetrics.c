/* schedmetrics.c - the page of the scheduler: sdiag's figures under the incumbent's names
 *
 * What this controller has no figure for has no row: outgoing requests that are tried again,
 * threads of agents, exits of passes by cause, sizes of a table of times. */
#include "ctld/web/schedmetrics.h"

#include "base/cleanup.h"
#include "ctld/web/exposition.h"

static uint64_t whole_seconds(int64_t us)
{
    return us > 0 ? (uint64_t)us / 1000000 : 0;
}

static uint64_t mean_of(uint64_t total, uint64_t n)
{
    return n ? total / n : 0;
}

/* Name behind slurm_, help, value from r. */
#define FIGURES(X)                                                                                 \
    X("agent_queue_size", "Answers that wait until they are durable", r->agent_queue)              \
    X("bf_depth_mean", "Jobs that a plan looked at, on average",                                   \
      mean_of(r->bf_depth_total, r->bf_cycles))                                                    \
    X("bf_mean_cycle", "Microseconds of a plan, on average",                                       \
      mean_of(r->bf_total_us, r->bf_cycles))                                                       \
    X("backfilled_jobs", "Jobs that plans started", r->bf_started)                                 \
    X("bf_cycle_cnt", "Plans", r->bf_cycles)                                                       \
    X("bf_cycle_last", "Microseconds of the last plan", r->bf_last_us)                             \
    X("bf_cycle_max", "Microseconds of the longest plan", r->bf_max_us)                            \
    X("bf_cycle_tot", "Microseconds of all plans", r->bf_total_us)                                 \
    X("bf_depth_tot", "Jobs that plans looked at", r->bf_depth_total)                              \
    X("bf_last_depth", "Jobs that the last plan looked at", r->bf_depth)                           \
    X("bf_queue_len", "Jobs that waited for the last plan", r->bf_queue_len)                       \
    X("bf_when_last_cycle", "When the last plan was made", whole_seconds(r->bf_when_us))           \
    X("sdiag_jobs_canceled", "Jobs cancelled", r->jobs_cancelled)                                  \
    X("sdiag_jobs_completed", "Jobs completed", r->jobs_completed)                                 \
    X("sdiag_jobs_failed", "Jobs failed", r->jobs_failed)                                          \
    X("sdiag_jobs_pending", "Jobs that wait", r->jobs_pending)                                     \
    X("sdiag_jobs_running", "Jobs that run", r->jobs_running)                                      \
    X("sdiag_jobs_started", "Jobs started", r->jobs_started)                                       \
    X("sdiag_jobs_submitted", "Jobs submitted", r->jobs_submitted)                                 \
    X("sdiag_job_states_ts", "When the states were counted", whole_seconds(r->now_us))             \
    X("last_backfilled_jobs", "Jobs that plans started since the last reset", r->bf_started_cycle) \
    X("schedule_cycle_cnt", "Passes of the scheduler", r->cycles)                                  \
    X("schedule_cycle_depth", "Jobs that passes looked at", r->cycle_depth_total)                  \
    X("schedule_cycle_last", "Microseconds of the last pass", r->cycle_last_us)                    \
    X("schedule_cycle_max", "Microseconds of the longest pass", r->cycle_max_us)                   \
    X("schedule_cycle_tot", "Microseconds of all passes", r->cycle_total_us)                       \
    X("schedule_queue_len", "Jobs that wait", r->queue_len)                                        \
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
