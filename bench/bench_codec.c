/* bench_codec.c - cost per job record of what the controller does with one: pack, unpack, project,
 * copy, JSON
 *
 * One JSON object a line; `memcpy_ratio` compares with copying the encoded record once. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/pb/pbutil.h"
#include "base/timefmt.h"
#include "job.pb-c.h"
#include "fields.h"

enum { RECORDS = 20000, ROUNDS = 7 };

struct work {
    Pst__JobRecord *job;
    Pst__JobRecord patch;
    uint8_t *data, *out;
    size_t len;
    struct pb_fieldset squeue; /* the fields squeue's default columns need */
    struct pb_arena *arena;
    FILE *null;
};

static const char job_json[] =
    "{\"job_id\":123456,\"uid\":1000,\"gid\":1000,\"user_name\":\"ada\",\"group_name\":\"staff\","
    "\"name\":\"train-resnet\",\"account\":\"physics\",\"qos\":\"normal\",\"partition\":\"gpu\","
    "\"alloc_host\":\"login1\",\"alloc_sid\":4711,\"db_id\":987654,\"state\":\"JOB_RUNNING\","
    "\"state_flags\":0,"
    "\"priority\":4294901757,\"nice\":0,\"submit_us\":1774602000123456,\"eligible_us\":"
    "1774602000123456,"
    "\"start_us\":1774602012123456,\"end_us\":1774688412123456,\"min_nodes\":2,\"max_nodes\":2,"
    "\"num_tasks\":16,"
    "\"cpus_per_task\":4,\"mem_per_cpu_mib\":4096,\"tres_per_node\":\"gres/"
    "gpu:a100:4\",\"time_limit_min\":1440,"
    "\"requeue\":true,\"batch\":true,\"script_hash\":17293822569102704640,\"env_hash\":"
    "1152921504606846976,"
    "\"argv\":[\"/home/ada/run/train.sh\",\"--epochs\",\"90\"],\"work_dir\":\"/home/ada/run\","
    "\"std_in\":\"/dev/null\",\"std_out\":\"/home/ada/run/slurm-123456.out\","
    "\"std_err\":\"/home/ada/run/slurm-123456.out\",\"umask\":18,\"command\":\"/home/ada/run/"
    "train.sh\","
    "\"submit_line\":\"sbatch -N 2 -n 16 -c 4 --gres=gpu:a100:4 train.sh --epochs 90\","
    "\"rlimits\":[{\"name\":\"NOFILE\",\"soft\":131072},{\"name\":\"CORE\",\"soft\":0},"
    "{\"name\":\"STACK\",\"soft\":18446744073709551615}],"
    "\"alloc\":{\"nodes\":\"node[0017-0018]\",\"node_ids\":[16,17],\"groups\":[{\"nodes\":2,"
    "\"cpus\":32,"
    "\"cpu_ids\":\"0-31\",\"mem_mib\":131072,\"gres\":[{\"name\":\"gpu\",\"type\":\"a100\","
    "\"count\":4,"
    "\"devices\":\"0-3\"}]}],\"total_cpus\":64},\"next_step_id\":1,\"batch_host\":\"node0017\","
    "\"batch_started\":true,\"alloc_tres\":\"cpu=64,mem=256G,node=2,billing=64,gres/gpu=8\","
    "\"req_tres\":\"cpu=64,mem=256G,node=2,billing=64,gres/gpu=8\",\"cur_priority\":4294901757}";

static int run_copy(struct work *w)
{
    memcpy(w->out, w->data, w->len);
    __asm__ volatile("" : : "r"(w->out) : "memory"); /* the copy is wanted */
    return 0;
}

static int run_pack(struct work *w)
{
    if (protobuf_c_message_get_packed_size(&w->job->base) != w->len)
        return -1;
    return protobuf_c_message_pack(&w->job->base, w->out) == w->len ? 0 : -1;
}

static int run_unpack(struct work *w)
{
    Pst__JobRecord *job = pst__job_record__unpack(NULL, w->len, w->data);

    if (!job)
        return -1;
    protobuf_c_message_free_unpacked(&job->base, NULL);
    return 0;
}

static int run_unpack_arena(struct work *w)
{
    ProtobufCAllocator *alloc = pb_arena_allocator(w->arena);

    pb_arena_reset(w->arena);
    return pst__job_record__unpack(alloc, w->len, w->data) ? 0 : -1;
}

static int run_project(struct work *w)
{
    return pb_project(w->data, w->len, &w->squeue, w->out) > 0 ? 0 : -1;
}

static int run_caps(struct work *w)
{
    static const struct pb_cap rows[] = { { "pst.JobRecord", "argv", 4096, 1024 } };
    static const struct pb_caps caps = { rows, 1, 1024, 4096 };

    return pb_check_caps(&pst__job_record__descriptor, w->data, w->len, &caps, NULL);
}

static int run_dup(struct work *w)
{
    ProtobufCMessage *copy;

    if (pb_dup(&w->job->base, &copy) < 0)
        return -1;
    protobuf_c_message_free_unpacked(copy, NULL);
    return 0;
}

static int run_merge(struct work *w)
{
    return pb_merge(&w->job->base, &w->patch.base);
}

static int run_equal(struct work *w)
{
    return pb_equal(&w->job->base, &w->job->base) ? 0 : -1;
}

static int run_json_write(struct work *w)
{
    return pb_json_write(w->null, &w->job->base, -1);
}

static int run_json_read(struct work *w)
{
    ProtobufCMessage *msg;

    (void)w;
    if (pb_json_read(job_json, sizeof(job_json) - 1, &pst__job_record__descriptor, &msg, NULL) < 0)
        return -1;
    protobuf_c_message_free_unpacked(msg, NULL);
    return 0;
}

static const struct {
    const char *name;
    int (*fn)(struct work *w);
} rows[] = {
    { "memcpy", run_copy },
    { "pack", run_pack },
    { "unpack_free", run_unpack },
    { "unpack_arena", run_unpack_arena },
    { "project", run_project },
    { "check_caps", run_caps },
    { "dup_free", run_dup },
    { "merge_patch", run_merge },
    { "equal", run_equal },
    { "json_write", run_json_write },
    { "json_read_free", run_json_read },
};

static int prepare(struct work *w)
{
    static const uint32_t fields[] = { JOB_F_JOB_ID,      JOB_F_ARRAY_JOB_ID, JOB_F_ARRAY_TASK_ID,
                                       JOB_F_ARRAY_TASKS, JOB_F_USER_NAME,    JOB_F_NAME,
                                       JOB_F_PARTITION,   JOB_F_STATE,        JOB_F_STATE_FLAGS,
                                       JOB_F_REASON,      JOB_F_ELIGIBLE_US,  JOB_F_START_US,
                                       JOB_F_END_US,      JOB_F_MAX_NODES,    JOB_F_TIME_LIMIT_MIN,
                                       JOB_F_ALLOC,       JOB_F_PEND_REASON };
    ProtobufCMessage *msg;

    if (pb_json_read(job_json, sizeof(job_json) - 1, &pst__job_record__descriptor, &msg, NULL) < 0)
        return -1;
    w->job = (Pst__JobRecord *)msg;
    w->len = protobuf_c_message_get_packed_size(msg);
    w->data = malloc(w->len);
    w->out = malloc(w->len);
    w->null = fopen("/dev/null", "w");
    if (!w->data || !w->out || !w->null || pb_arena_new(&w->arena) < 0)
        return -1;
    (void)protobuf_c_message_pack(msg, w->data); /* sized for it */
    for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
        pb_fieldset_add(&w->squeue, fields[i]);
    pst__job_record__init(&w->patch);
    w->patch.has_state = true;
    w->patch.state = PST__JOB_STATE__JOB_RUNNING;
    w->patch.has_start_us = true;
    w->patch.start_us = w->job->start_us;
    w->patch.batch_host = (char *)(uintptr_t) "node0017";
    return 0;
}

int main(void)
{
    struct work w = { 0 };
    double copy_ns = 0;

    if (prepare(&w))
        return 1;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        int64_t best = INT64_MAX;
        double ns;

        for (int round = 0; round < ROUNDS; round++) {
            int64_t start = now_mono_us();

            for (int n = 0; n < RECORDS; n++) {
                if (rows[i].fn(&w))
                    return 1;
            }
            best = MIN(best, now_mono_us() - start);
        }
        ns = (double)best * 1000 / RECORDS;
        if (i == 0)
            copy_ns = MAX(ns, 0.1);
        printf("{\"bench\":\"codec\",\"what\":\"%s\",\"record_bytes\":%zu,\"ns_per_record\":%.0f,"
               "\"memcpy_ratio\":%.1f}\n",
               rows[i].name, w.len, ns, ns / copy_ns);
    }
    protobuf_c_message_free_unpacked(&w.job->base, NULL);
    (void)pb_arena_free(w.arena);
    (void)fclose(w.null); /* /dev/null */
    free(w.data);
    free(w.out);
    return 0;
}
