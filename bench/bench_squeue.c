/* bench_squeue.c - what a listing of 50,000 jobs costs squeue, without network and terminal
 *
 * Unpacks records as they come from the controller (only the fields of the default format), renders
 * and sorts them as squeue does.  Prints microseconds a job, the total, and the same for JSON. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/timefmt.h"
#include "cli/format/fmt_squeue.h"
#include "cli/format/json_job.h"
#include "cli/query/out_query.h"

#define JOBS 50000u
#define RECORD_MAX 256u

struct encoded {
    uint8_t data[RECORD_MAX];
    size_t len;
};

static void on_bad(void *ctx, const char *spec)
{
    (void)ctx;
    (void)fprintf(stderr, "format: %s\n", spec);
    exit(1);
}

static void encode(struct encoded *e, uint32_t i)
{
    static char *const parts[] = { "debug", "batch", "gpu" };
    uint32_t ids[] = { i % 1000 };
    char name[32], nodes[32];
    Pst__Alloc alloc = PST__ALLOC__INIT;
    Pst__JobRecord j = PST__JOB_RECORD__INIT;

    (void)snprintf(name, sizeof(name), "job-%u", i); /* fits */
    (void)snprintf(nodes, sizeof(nodes), "node%u", i % 1000);
    alloc.nodes = nodes;
    alloc.node_ids = ids;
    alloc.n_node_ids = 1;
    alloc.has_total_cpus = true;
    alloc.total_cpus = 4;
    j.has_job_id = true;
    j.job_id = i + 1;
    j.has_uid = true;
    j.uid = 1000;
    j.user_name = "alice";
    j.name = name;
    j.partition = parts[i % ARRAY_SIZE(parts)];
    j.has_state = true;
    j.has_cur_priority = true;
    j.cur_priority = i * 7919 % 10000;
    j.has_min_nodes = true;
    j.min_nodes = 1;
    if (i % 2) {
        j.state = PST__JOB_STATE__JOB_RUNNING;
        j.has_start_us = true;
        j.start_us = INT64_C(1795167440000000) + i;
        j.alloc = &alloc;
    } else {
        j.has_pend_reason = true;
        j.pend_reason = PST__JOB_REASON__REASON_PRIORITY;
    }
    e->len = pst__job_record__pack(&j, e->data);
}

static double cpu_s(void)
{
    struct timespec ts;

    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts); /* cannot fail */
    return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static void report(const char *name, double seconds, size_t bytes)
{
    (void)printf(
        "{\"bench\":\"%s\",\"jobs\":%u,\"cpu_ms\":%.1f,\"us_per_job\":%.3f,\"bytes\":%zu}\n", name,
        JOBS, seconds * 1e3, seconds * 1e6 / JOBS, bytes);
}

static void bench_unpack(const struct encoded *e, struct pb_arena *arena)
{
    double start = cpu_s();

    for (uint32_t i = 0; i < JOBS; i++) {
        pb_arena_reset(arena);
        if (!query_unpack(arena, &pst__job_record__descriptor, e[i].data, e[i].len))
            exit(1);
    }
    report("squeue-unpack", cpu_s() - start, 0);
}

static void bench_text(const struct encoded *e, struct pb_arena *arena)
{
    struct fmt f = FMT_INIT;
    struct fmt_sort sort;
    struct fmt_lines *lines = NULL;
    _cleanup_val_(strbuf_done) struct strbuf out = STRBUF_INIT;
    FILE *sink = fopen("/dev/null", "w");
    char bad;
    double start = cpu_s();

    if (!sink || fmt_parse_short(&f, &squeue_job_fields, SQUEUE_JOBS, on_bad, NULL) < 0 ||
        fmt_sort_parse(&sort, &squeue_job_fields, "P,t,-p", &bad) < 0 ||
        fmt_lines_new(&sort, &lines) < 0)
        exit(1);
    for (uint32_t i = 0; i < JOBS; i++) {
        struct job_row row = { .now_us = INT64_C(1795170000000000), .bitstr_len = 64 };
        size_t at = out.len;

        pb_arena_reset(arena);
        row.job = (const Pst__JobRecord *)query_unpack(arena, &pst__job_record__descriptor,
                                                       e[i].data, e[i].len);
        if (!row.job)
            exit(1);
        fmt_row(&f, &row, &out);
        if (fmt_lines_add(lines, &out, at, &row, i) < 0)
            exit(1);
    }
    if (fmt_lines_write(lines, sink) < 0)
        exit(1);
    report("squeue-list", cpu_s() - start, 0);
    (void)fclose(sink);
    fmt_lines_free(lines);
    fmt_done(&f);
}

static void bench_json(const struct encoded *e, struct pb_arena *arena)
{
    _cleanup_val_(strbuf_done) struct strbuf out = STRBUF_INIT;
    struct json js;
    size_t bytes = 0;
    double start = cpu_s();

    json_begin(&js, &out, JSON_PRETTY);
    json_list(&js, "jobs");
    for (uint32_t i = 0; i < JOBS; i++) {
        struct job_row row = { .now_us = INT64_C(1795170000000000) };

        pb_arena_reset(arena);
        row.job = (const Pst__JobRecord *)query_unpack(arena, &pst__job_record__descriptor,
                                                       e[i].data, e[i].len);
        if (!row.job)
            exit(1);
        json_job(&js, &row);
        bytes += out.len;
        strbuf_reset(&out);
    }
    report("squeue-json", cpu_s() - start, bytes);
}

int main(void)
{
    struct encoded *e = calloc(JOBS, sizeof(*e));
    struct pb_arena *arena = NULL;

    if (!e || pb_arena_new(&arena) < 0)
        return 1;
    for (uint32_t i = 0; i < JOBS; i++)
        encode(&e[i], i);
    bench_unpack(e, arena);
    bench_text(e, arena);
    bench_json(e, arena);
    pb_arena_free(arena);
    free(e);
    return 0;
}
