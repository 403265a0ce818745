/* bench_conf.c - reading slurm.conf: what a command pays at its start, and a controller at a reload
 *
 * The file has 2,000 lines with ranges of nodes.  One JSON object a line; `read_ratio` compares
 * with reading the same bytes and doing nothing with them. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/timefmt.h"
#include "conf/conf.h"

enum { LINES = 2000, ROUNDS = 200 };

static int write_file(FILE *f)
{
    fprintf(f, "ClusterName=bench\nSlurmctldHost=ctl1(10.0.0.1)\nSlurmUser=root\n"
               "StateSaveLocation=/var/spool/slurmctld\nSlurmctldPort=6817\nSlurmdPort=6818\n"
               "SchedulerParameters=bf_window=2880,default_queue_depth=500\nKillWait=30\n"
               "SelectType=select/cons_tres\nSelectTypeParameters=CR_Core_Memory\n"
               "SlurmctldLogFile=/var/log/slurm/slurmctld.log # where to look first\n");
    for (int i = 0; i < LINES - 111; i++)
        fprintf(f,
                "NodeName=r%dn[01-10] NodeAddr=10.%d.%d.[1-10] Sockets=2 CoresPerSocket=64 "
                "RealMemory=512000 Features=rack%d,ib State=UNKNOWN\n",
                i, i / 250, i % 250, i);
    for (int i = 0; i < 100; i++)
        fprintf(f, "PartitionName=p%d Nodes=r[%d-%d]n[01-10] MaxTime=1-0 State=UP\n", i, i * 10,
                i * 10 + 9);
    return ferror(f) ? -1 : 0;
}

static int run_read(const char *path)
{
    _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
    off_t size = fd < 0 ? -1 : lseek(fd, 0, SEEK_END);
    _cleanup_free_ char *text = size > 0 ? malloc((size_t)size) : NULL;

    if (!text || pread(fd, text, (size_t)size, 0) != size)
        return -1;
    __asm__ volatile("" : : "r"(text) : "memory"); /* the bytes are wanted */
    return 0;
}

static int run_load(const char *path, enum conf_scope scope)
{
    _cleanup_(conf_free) struct conf *c = NULL;
    struct err err = { .text = "" };
    int r = conf_load(path, scope, &c, NULL, &err);

    if (r < 0)
        fprintf(stderr, "%s\n", err.text);
    return r;
}

static int run_client(const char *path)
{
    return run_load(path, CONF_CLIENT);
}

static int run_full(const char *path)
{
    return run_load(path, CONF_FULL);
}

static const struct {
    const char *name;
    int (*fn)(const char *path);
    int rounds;
} rows[] = {
    { "read", run_read, ROUNDS },
    { "client", run_client, ROUNDS },
    { "full", run_full, ROUNDS / 20 },
};

int main(void)
{
    char path[] = "/tmp/bench_confXXXXXX";
    int fd = mkostemp(path, O_CLOEXEC);
    _cleanup_fclose_ FILE *f = fd < 0 ? NULL : fdopen(fd, "w");
    double read_us = 1;
    int r = 1;

    if (!f || write_file(f) < 0 || fflush(f) != 0)
        goto remove_file;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        int64_t best = INT64_MAX;

        for (int round = 0; round < rows[i].rounds; round++) {
            int64_t start = now_mono_us();

            for (int again = 0; again < 4; again++) {
                if (rows[i].fn(path) < 0)
                    goto remove_file;
            }
            best = MIN(best, now_mono_us() - start);
        }
        if (i == 0)
            read_us = MAX((double)best / 4, 0.25);
        printf(
            "{\"bench\":\"conf\",\"what\":\"%s\",\"lines\":%d,\"us\":%.1f,\"read_ratio\":%.1f}\n",
            rows[i].name, LINES, (double)best / 4, (double)best / 4 / read_us);
    }
    r = 0;
remove_file:
    if (fd >= 0)
        (void)unlink(path); /* a temporary file of our own */
    return r;
}
