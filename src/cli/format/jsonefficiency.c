/* jsonefficiency.c - what a run used of what it held, for programs; see jsonefficiency.h */
#include "cli/format/jsonefficiency.h"

#include "base/cleanup.h"
#include "model/words/names.h"

static void put_figure(struct json *js, const char *key, double v)
{
    if (v >= 0)
        json_double(js, key, v);
}

void efficiency_json(const Pst__AcctJob *a, int64_t now_us, struct json *js)
{
    _cleanup_val_(strbuf_done) struct strbuf advice = STRBUF_INIT;
    struct efficiency e;
    bool better;

    efficiency_of(a, now_us, &e);
    better = efficiency_advice(a, &e, &advice);
    json_map(js, NULL);
    json_int(js, "job_id", a->job->job_id);
    if (a->job->has_array_task_id) {
        json_int(js, "array_job_id", a->job->array_job_id);
        json_int(js, "array_task_id", a->job->array_task_id);
    }
    json_str(js, "state", names_job_state(a->job->state));
    json_int(js, "wait_seconds", e.wait_s);
    json_int(js, "elapsed_seconds", e.elapsed_s);
    json_int(js, "limit_seconds", e.limit_s);
    json_int(js, "nodes", e.nodes);
    json_int(js, "cpus", e.cpus);
    json_double(js, "cpu_seconds", (double)e.cpu_used_us / 1e6);
    put_figure(js, "cpu_percent", efficiency_cpu(&e));
    json_int(js, "memory_mib", (int64_t)e.mem_used_mib);
    json_int(js, "memory_held_mib", (int64_t)e.mem_held_mib);
    put_figure(js, "memory_percent", efficiency_mem(&e));
    json_int(js, "gpus", e.gpus);
    json_str(js, "advice", strbuf_str(&advice));
    json_bool(js, "could_be_better", better);
    json_map_end(js);
}
