/* json_diag.c - the controller's statistics as JSON; see json_diag.h */
#include "cli/format/json_diag.h"

#include <sys/time.h>

#include "base/cleanup.h"
#include "base/timefmt.h"
#include "cli/query/out_users.h"
#include "wire/msgname.h"

#define LATENCY_CALLS 1000

#define ALWAYS 1 /* older than any version */

struct counter {
    const char *label;
    uint64_t value;
    unsigned wide; /* the version that declares 64 bits; 0: each declares 32 */
};

uint64_t diag_mean(uint64_t total, uint64_t n)
{
    return n ? total / n : 0;
}

int64_t diag_clock_latency_us(void)
{
    int64_t start = now_mono_us();

    for (int i = 0; i < LATENCY_CALLS; i++) {
        struct timeval tv;

        (void)gettimeofday(&tv, NULL); /* only its cost matters */
    }
    return now_mono_us() - start;
}

uint64_t diag_cycles_per_minute(const Pst__DiagReply *d)
{
    int64_t minutes = (d->now_us - d->since_us) / (60 * USEC_PER_SEC);

    return minutes > 0 ? d->cycles / (uint64_t)minutes : d->cycles;
}

const char *diag_user(const Pst__UserStat *u)
{
    return u->name && *u->name ? u->name : user_name_of(u->uid);
}

/* Strict clients refuse the whole answer for one number that is wider than declared. */
static void json_narrow(struct json *js, const char *label, uint64_t value)
{
    json_int(js, label, value < INT32_MAX ? (int64_t)value : INT32_MAX);
}

static void json_counters(struct json *js, const struct counter *c, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (c[i].wide && !json_is_before(js, c[i].wide))
            json_int(js, c[i].label, (int64_t)c[i].value);
        else
            json_narrow(js, c[i].label, c[i].value);
    }
}

static void json_main(struct json *js, const Pst__DiagReply *d)
{
    const struct counter head[] = {
        { "server_thread_count", d->server_threads },
        { "agent_queue_size", d->agent_queue },
        { "agent_count", 0 },
        { "agent_thread_count", 0 },
        { "dbd_agent_queue_size", d->acct_lag },
        { "gettimeofday_latency", (uint64_t)diag_clock_latency_us() },
        { "schedule_cycle_max", d->cycle_max_us },
        { "schedule_cycle_last", d->cycle_last_us },
        { "schedule_cycle_sum", d->cycle_total_us, 44 },
        { "schedule_cycle_total", d->cycles },
        { "schedule_cycle_mean", diag_mean(d->cycle_total_us, d->cycles), ALWAYS },
        { "schedule_cycle_mean_depth", diag_mean(d->cycle_depth_total, d->cycles), ALWAYS },
        { "schedule_cycle_per_minute", diag_cycles_per_minute(d), ALWAYS },
        { "schedule_cycle_depth", d->cycle_depth_total },
    };
    const struct counter exits[] = {
        { "end_job_queue", d->cycles - d->exits_depth - d->exits_starts },
        { "default_queue_depth", d->exits_depth },
        { "max_job_start", d->exits_starts },
        { "max_rpc_cnt", 0 },
        { "max_sched_time", 0 },
        { "licenses", 0 },
    };
    const struct counter jobs[] = {
        { "schedule_queue_length", d->queue_len }, { "jobs_submitted", d->jobs_submitted },
        { "jobs_started", d->jobs_started },       { "jobs_completed", d->jobs_completed },
        { "jobs_canceled", d->jobs_cancelled },    { "jobs_failed", d->jobs_failed },
        { "jobs_pending", d->jobs_pending },       { "jobs_running", d->jobs_running },
    };

    json_time(js, "req_time", d->now_us);
    json_time(js, "req_time_start", d->since_us);
    json_counters(js, head, ARRAY_SIZE(head));
    json_map(js, "schedule_exit");
    json_counters(js, exits, ARRAY_SIZE(exits));
    json_map_end(js);
    json_counters(js, jobs, ARRAY_SIZE(jobs));
    json_time(js, "job_states_ts", d->now_us);
}

static void json_backfill(struct json *js, const Pst__DiagReply *d)
{
    uint64_t depth = diag_mean(d->bf_depth_total, d->bf_cycles);
    const struct counter cycles[] = {
        { "bf_backfilled_jobs", d->bf_started },
        { "bf_last_backfilled_jobs", d->bf_started_cycle },
        { "bf_backfilled_het_jobs", d->bf_het_started },
        { "bf_cycle_counter", d->bf_cycles },
        { "bf_cycle_mean", diag_mean(d->bf_total_us, d->bf_cycles), ALWAYS },
        { "bf_depth_mean", depth, ALWAYS },
        { "bf_depth_mean_try", depth, ALWAYS },
        { "bf_cycle_sum", d->bf_total_us, ALWAYS },
        { "bf_cycle_last", d->bf_last_us },
        { "bf_cycle_max", d->bf_max_us },
    };
    const struct counter exits[] = {
        { "end_job_queue", d->bf_cycles - d->bf_exits_depth - d->bf_exits_starts },
        { "bf_max_job_start", d->bf_exits_starts },
        { "bf_max_job_test", d->bf_exits_depth },
        { "bf_max_time", 0 },
        { "bf_node_space_size", 0 },
        { "state_changed", 0 },
    };
    const struct counter rest[] = {
        { "bf_last_depth", d->bf_depth },
        { "bf_last_depth_try", d->bf_depth },
        { "bf_depth_sum", d->bf_depth_total },
        { "bf_depth_try_sum", d->bf_depth_total },
        { "bf_queue_len", d->bf_queue_len },
        { "bf_queue_len_mean", diag_mean(d->bf_queue_total, d->bf_cycles), ALWAYS },
        { "bf_queue_len_sum", d->bf_queue_total },
        { "bf_table_size", 0 },
        { "bf_table_size_sum", 0 },
        { "bf_table_size_mean", 0, ALWAYS },
    };

    json_counters(js, cycles, ARRAY_SIZE(cycles));
    json_map(js, "bf_exit");
    json_counters(js, exits, ARRAY_SIZE(exits));
    json_map_end(js);
    json_counters(js, rest, ARRAY_SIZE(rest));
    json_time(js, "bf_when_last_cycle", d->bf_when_us);
    json_bool(js, "bf_active", d->bf_active);
}

static void json_cost(struct json *js, uint64_t count, uint64_t total_us)
{
    json_int(js, "total_time", (int64_t)total_us);
    json_set(js, "average_time", diag_mean(total_us, count));
}

/* No call is queued or dropped here: a connection waits its turn. */
static void json_rpc(struct json *js, const Pst__RpcStat *rpc)
{
    struct msgname name = msgname_of(rpc->name);

    json_map(js, NULL);
    json_int(js, "type_id", name.number);
    json_str(js, "message_type", name.name);
    json_narrow(js, "count", rpc->count);
    json_int(js, "queued", 0);
    json_int(js, "dropped", 0);
    json_int(js, "cycle_last", 0);
    json_int(js, "cycle_max", 0);
    json_cost(js, rpc->count, rpc->total_us);
    json_map_end(js);
}

static void json_user(struct json *js, const Pst__UserStat *user)
{
    json_map(js, NULL);
    json_int(js, "user_id", user->uid);
    json_str(js, "user", diag_user(user));
    json_narrow(js, "count", user->count);
    json_cost(js, user->count, user->total_us);
    json_map_end(js);
}

void json_diag(struct json *js, const Pst__DiagReply *d)
{
    json_map(js, "statistics");
    json_main(js, d);
    json_backfill(js, d);
    json_list(js, "rpcs_by_message_type");
    for (size_t i = 0; i < d->n_rpcs; i++)
        json_rpc(js, d->rpcs[i]);
    json_list_end(js);
    json_list(js, "rpcs_by_user");
    for (size_t i = 0; i < d->n_users; i++)
        json_user(js, d->users[i]);
    json_list_end(js);
    json_list(js, "pending_rpcs");
    json_list_end(js);
    json_list(js, "pending_rpcs_by_hostlist");
    json_list_end(js);
    json_map_end(js);
}
