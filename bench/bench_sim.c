/* bench_sim.c - the simulator: 100,000 jobs of the GPU mix on 5,000 nodes
 *
 *     bench_sim [NODES JOBS]
 *
 * One JSON object. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "conf/conf.h"
#include "feed/params.h"
#include "sim/engine.h"
#include "sim/generate.h"

static double now_s(void)
{
    struct timespec ts;

    (void)clock_gettime(CLOCK_MONOTONIC, &ts); /* cannot fail for this clock */
    return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static void must(int r, const char *what)
{
    if (r >= 0)
        return;
    fprintf(stderr, "bench_sim: %s: error %d\n", what, -r);
    exit(1);
}

int main(int argc, char **argv)
{
    const uint32_t nodes = argc > 2 ? (uint32_t)strtoul(argv[1], NULL, 10) : 5000;
    const uint32_t jobs = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 100000;
    const struct generate_params gen = { .kind = SIM_GEN_GPU,
                                         .jobs = jobs,
                                         .seed = 1,
                                         .nodes = nodes,
                                         .cpus_per_node = 64,
                                         .gpus_per_node = 8,
                                         .load = 0.9 };
    struct sim_config config = { .bf_interval_s = 30 };
    struct conf_text file = { .name = "slurm.conf" };
    char text[512];
    struct conf *conf;
    struct sim_machine *m;
    struct workload *w;
    struct sim_result r;
    double t;

    file.text = text;
    file.len = (size_t)snprintf(
        text, sizeof(text),
        "ClusterName=b\nSlurmctldHost=h\nSlurmUser=root\nGresTypes=gpu\nNodeName=n[1-%u] CPUs=64 "
        "Sockets=2 CoresPerSocket=32 ThreadsPerCore=1 RealMemory=256000 Gres=gpu:8 "
        "State=UNKNOWN\nPartitionName=p Nodes=ALL Default=YES MaxTime=INFINITE State=UP\n",
        nodes);
    must(conf_load_text(&file, 1, CONF_FULL, &conf, NULL, NULL), "configuration");
    must(machine_from_conf(conf, &m, NULL), "machine");
    must(workload_new(&w), "workload");
    must(generate(&gen, w, NULL), "generate");
    feed_fill_params(conf, &config.sched);
    t = now_s();
    must(sim_run(m, w, &config, &r, NULL), "run");
    t = now_s() - t;
    printf("{\"bench\":\"sim\",\"nodes\":%u,\"jobs\":%u,\"seconds\":%.2f,\"jobs_per_s\":%.0f,"
           "\"ended\":%zu,"
           "\"passes\":%llu,\"backfills\":%llu}\n",
           nodes, jobs, t, jobs / t, r.ended, (unsigned long long)r.quick.n,
           (unsigned long long)r.backfill.n);
    sim_result_done(&r);
    workload_free(w);
    machine_free(m);
    conf_free(conf);
    return 0;
}
