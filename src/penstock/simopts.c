/* simopts.c - options of `penstock sim`: one table for parser, help and completion */
#include "penstock/simopts.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/timefmt.h"
#include "sim/workload.h"

enum kind { K_FLAG, K_TEXT, K_COUNT, K_FACTOR, K_SIZE, K_SET, K_WEIGHT, K_ASK };

static const struct row {
    const char *name;
    char letter; /* 0 = none */
    enum kind kind;
    size_t offset; /* in struct sim_args */
    uint64_t max;
    const char *metavar, *help;
} rows[] = {
#define ROW(name, letter, kind, member, max, metavar, help)                                        \
    {                                                                                              \
        name, letter, kind, offsetof(struct sim_args, member), max, metavar, help                  \
    }
    ROW("trace", 't', K_TEXT, trace, 0, "FILE",
        "jobs of a trace: SWF, or what sacct --parsable2 prints; - reads stdin"),
    ROW("from-live", 0, K_FLAG, from_live, 0, NULL,
        "the jobs, nodes and partitions of the running controller: what would happen to them"),
    ROW("when", 'w', K_TEXT, when, 0, "JOB,...", "live: report these jobs alone, as 12 or 12_3"),
    ROW("submit", 0, K_TEXT, submit, 0, "OPTIONS",
        "live: a job as `sbatch OPTIONS` would make it waits, too"),
    ROW("drain", 0, K_ASK, asks, SIM_DRAIN, "NODES", "live: nodes take no new jobs"),
    ROW("down", 0, K_ASK, asks, SIM_DOWN, "NODES",
        "live: nodes are gone; their jobs wait again, or end when they may not"),
    ROW("resume", 0, K_ASK, asks, SIM_RESUME, "NODES",
        "live: nodes that are down or drained take jobs"),
    ROW("add", 0, K_ASK, asks, SIM_ADD, "NODE:COUNT",
        "live: more nodes like this one, in its partitions"),
    ROW("partition", 0, K_ASK, asks, SIM_PARTITION, "NAME.KEY=VALUE",
        "live: another MaxTime, State, Nodes, MaxNodes, MinNodes, MaxCPUsPerNode, PriorityTier, "
        "PriorityJobFactor or OverSubscribe"),
    ROW("cancel", 0, K_ASK, asks, SIM_CANCEL, "JOB,...", "live: these jobs are gone"),
    ROW("hold", 0, K_ASK, asks, SIM_HOLD, "JOB,...", "live: these jobs are held"),
    ROW("release", 0, K_ASK, asks, SIM_RELEASE, "JOB,...", "live: these jobs are not held"),
    ROW("qos", 0, K_ASK, asks, SIM_QOS, "NAME:KEY=VALUE,...",
        "another Priority, UsageFactor or limit of a QOS, as MaxJobsPU=4 or GrpTRES=cpu=64"),
    ROW("account", 0, K_ASK, asks, SIM_ACCOUNT, "NAME:KEY=VALUE,...",
        "another limit, Priority or Fairshare of an account"),
    ROW("user", 0, K_ASK, asks, SIM_USER, "NAME:KEY=VALUE,...",
        "the same of a user, in all accounts"),
    ROW("reservation", 0, K_ASK, asks, SIM_RESV, "NAME:KEY=VALUE,...|NAME:delete",
        "live: a reservation of named nodes is made, changed or gone; keys as scontrol has them"),
    ROW("weight", 0, K_WEIGHT, sets, 0, "KEY=VALUE",
        "as --set=PriorityWeightKEY=VALUE; KEY is Age, JobSize, Partition ..."),
    ROW("defrag", 0, K_TEXT, defrag, 0, "JOB",
        "live: which running jobs, requeued, would make room for this one, the cheapest first"),
    ROW("run", 0, K_COUNT, run_percent, 100, "PERCENT",
        "live: jobs run for this much of their time limit; default 100"),
    ROW("all", 'a', K_FLAG, all, 0, NULL, "live: list jobs whose start does not change, too"),
    ROW("format", 'F', K_TEXT, format, 0, "swf|sacct", "of the trace; default: by its first line"),
    ROW("journal", 0, K_TEXT, journal, 0, "DIR",
        "jobs of a controller's journal (its StateSaveLocation)"),
    ROW("verify", 0, K_FLAG, verify, 0, NULL,
        "with --journal: ask the scheduler again, pass by pass, and report what it decides otherwise"),
    ROW("generate", 'g', K_TEXT, generate, 0, "lublin|gpu",
        "made-up jobs: rigid parallel ones, or a GPU training mix"),
    ROW("jobs", 'j', K_COUNT, jobs, WORKLOAD_MAX_JOBS, "N", "how many to make up; default 10000"),
    ROW("seed", 's', K_COUNT, seed, UINT64_MAX, "N", "of the made-up jobs; default 1"),
    ROW("users", 'u', K_COUNT, users, 4096, "N", "who submit made-up jobs; default 64"),
    ROW("load", 'l', K_FACTOR, load, 0, "FACTOR",
        "made-up jobs arrive so that they ask for this much of the machine; default 0.9"),
    ROW("scale", 'x', K_FACTOR, scale, 0, "FACTOR", "submissions come this many times as fast"),
    ROW("limits", 'L', K_COUNT, limit_factor_pct, 100000, "PERCENT",
        "time limits are this much of what the jobs say"),
    ROW("conf", 'f', K_TEXT, conf, 0, "FILE",
        "nodes, partitions and scheduling of this slurm.conf"),
    ROW("nodes", 'N', K_COUNT, nodes, MACHINE_MAX_NODES, "N",
        "without --conf: how many nodes; default: the trace's, else 128"),
    ROW("cpus", 'c', K_COUNT, cpus, 4096, "N", "CPUs of each; default: the trace's, else 64"),
    ROW("blocks", 'B', K_COUNT, block_nodes, MACHINE_MAX_NODES, "N",
        "block topology: each N neighbouring nodes are a block"),
    ROW("block-sizes", 0, K_TEXT, block_sizes, 0, "N,...",
        "of blocks and their aggregates, as BlockSizes; default: N times 1, 2, 4, 8, 16"),
    ROW("segment", 0, K_COUNT, segment, 4096, "N",
        "made-up GPU training takes groups of N nodes, each in one block"),
    ROW("gpus", 'G', K_COUNT, gpus, 1024, "N", "GPUs of each; default 0, with --generate=gpu 8"),
    ROW("mem", 'm', K_SIZE, mem_mib, 0, "SIZE", "memory of each; default 4G for each CPU"),
    ROW("compare", 'p', K_TEXT, compare, 0, "POLICY,...",
        "easy, conservative, fifo, conf (as --conf and --set have it); default conf. easy+OPTION: "
        "with an option of SchedulerParameters"),
    ROW("set", 'S', K_SET, sets, 0, "KEY=VALUE",
        "a line of slurm.conf, e.g. PriorityWeightAge=1000; may be repeated"),
    ROW("timing", 'T', K_FLAG, timing, 0, NULL,
        "measure what passes cost; the report is then not the same every time"),
    ROW("json", 'J', K_FLAG, json, 0, NULL, "print the report as JSON"),
    ROW("html", 'H', K_TEXT, html, 0, "FILE", "write it with charts as one page of HTML too"),
    ROW("svg", 'V', K_TEXT, svg, 0, "DIR", "write the charts as files DIR/*.svg too"),
    ROW("title", 0, K_TEXT, title, 0, "TEXT", "headline of the report"),
    ROW("quiet", 'q', K_FLAG, quiet, 0, NULL, "no progress bar"),
#undef ROW
};

static int print_help(void)
{
    (void)puts(
        "Usage: penstock sim --trace FILE | --generate lublin|gpu | --from-live [OPTIONS...]\n\n"
        "Run jobs through the controller's scheduler on a clock of its own, and report.\n");
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        print_option(rows[i].letter, rows[i].name, rows[i].metavar, rows[i].help);
    (void)puts("\nManual: penstock-sim(1)");
    return -1;
}

/* As other commands' option tables give it to tools/gen-completion. */
static int help_table(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        (void)printf("%s\t%c\t%s\t%s\t%s\n", rows[i].name, rows[i].letter ? rows[i].letter : '-',
                     rows[i].metavar ? "required" : "none",
                     !rows[i].metavar                       ? "-"
                     : strcmp(rows[i].metavar, "FILE") == 0 ? "file"
                                                            : rows[i].metavar,
                     rows[i].help);
    return -1;
}

/* Texts made here live as long as the process. */
static const char *make_text(const char *before, const char *text)
{
    char *line;

    return asprintf(&line, "%s%s", before, text) < 0 ? NULL : line;
}

static int set_weight(const char *text, struct sim_args *a)
{
    if (!strchr(text, '=') || strpbrk(text, "\n\r"))
        return usage_error("sim: --weight: %s is not KEY=VALUE, as in Age=1000", text);
    if (a->nsets == SIM_MAX_SETS)
        return usage_error("sim: more than %u --set", SIM_MAX_SETS);
    a->sets[a->nsets] = make_text("PriorityWeight", text);
    return a->sets[a->nsets++] ? STATUS_OK : say_nomem();
}

static int set_ask(const struct row *r, const char *text, struct sim_args *a)
{
    char option[64];

    if (a->nasks == SIM_MAX_ASKS)
        return usage_error("sim: more than %u changes", SIM_MAX_ASKS);
    if (!*text)
        return usage_error("sim: --%s needs a value", r->name);
    (void)snprintf(option, sizeof(option), "--%s ", r->name);
    a->asks[a->nasks] = (struct sim_ask){ .what = (enum sim_what)r->max,
                                          .text = text,
                                          .line = make_text(option, text) };
    return a->asks[a->nasks++].line ? STATUS_OK : say_nomem();
}

static int set_value(const struct row *r, const char *text, struct sim_args *a)
{
    void *at = (char *)a + r->offset;
    char *end;
    struct err err = { .text = "" };

    switch (r->kind) {
    case K_FLAG:
        *(bool *)at = true;
        return STATUS_OK;
    case K_TEXT:
        *(const char **)at = text;
        return *text ? STATUS_OK : usage_error("sim: --%s needs a value", r->name);
    case K_COUNT:
        if (parse_u64(text, strcmp(r->name, "seed") == 0 || strcmp(r->name, "gpus") == 0 ? 0 : 1,
                      r->max, at) < 0)
            return usage_error("sim: --%s: %s is not a number up to %llu", r->name, text,
                               (unsigned long long)r->max);
        return STATUS_OK;
    case K_FACTOR:
        *(double *)at = strtod(text, &end);
        if (end == text || *end || !(*(double *)at > 0 && *(double *)at <= 1e6))
            return usage_error("sim: --%s: %s is not a number above 0", r->name, text);
        return STATUS_OK;
    case K_SIZE:
        if (size_mib_parse(text, at, &err) < 0)
            return usage_error("sim: --%s: %s is not a size such as 256G", r->name, text);
        return STATUS_OK;
    case K_SET:
        if (!strchr(text, '=') || strpbrk(text, "\n\r"))
            return usage_error("sim: --set: %s is not KEY=VALUE", text);
        if (a->nsets == SIM_MAX_SETS)
            return usage_error("sim: more than %u --set", SIM_MAX_SETS);
        a->sets[a->nsets++] = text;
        return STATUS_OK;
    case K_WEIGHT:
        return set_weight(text, a);
    case K_ASK:
        return set_ask(r, text, a);
    }
    return STATUS_USAGE;
}

static int check_together(struct sim_args *a)
{
    bool live = false;

    if (!!a->trace + !!a->journal + !!a->generate + a->from_live != 1)
        return usage_error("sim needs one of --trace, --journal, --generate and --from-live");
    if (a->verify && (!a->journal || a->html || a->svg || strcmp(a->compare, "conf") != 0))
        return usage_error(
            "sim: --verify needs --journal, and takes nothing but --conf, --set and --json with it");
    for (size_t i = 0; !a->from_live && i < a->nasks; i++)
        live = live || (a->asks[i].what != SIM_QOS && a->asks[i].what != SIM_ACCOUNT &&
                        a->asks[i].what != SIM_USER);
    if (a->defrag && (!a->from_live || a->when || a->submit || a->nasks || a->all))
        return usage_error("sim: --defrag needs --from-live, and takes nothing but --set, --run "
                           "and --json with it");
    if (!a->from_live && (live || a->when || a->submit || a->run_percent || a->all))
        return usage_error(
            "sim: --when, --submit, --run, --all and changes of the cluster need --from-live");
    if (a->verify && a->nasks)
        return usage_error("sim: --verify asks what was decided: nothing can be changed");
    if (a->from_live && (a->html || a->svg || a->nodes || a->cpus || a->gpus || a->mem_mib ||
                         a->scale > 0 || a->limit_factor_pct || strcmp(a->compare, "conf") != 0))
        return usage_error(
            "sim: --from-live takes the machine, the jobs and the policy from the controller: "
            "--set and the changes of the cluster change them");
    if (a->format && strcmp(a->format, "swf") != 0 && strcmp(a->format, "sacct") != 0)
        return usage_error("sim: --format: no such format: %s (swf and sacct are known)",
                           a->format);
    if (a->generate && strcmp(a->generate, "lublin") != 0 && strcmp(a->generate, "gpu") != 0)
        return usage_error("sim: --generate: no such generator: %s (lublin and gpu are known)",
                           a->generate);
    if (a->block_nodes && (a->from_live || a->verify))
        return usage_error("sim: --blocks is for a machine of the simulator's own");
    if (a->block_sizes && !a->block_nodes)
        return usage_error("sim: --block-sizes needs --blocks");
    if (a->segment && (!a->generate || strcmp(a->generate, "gpu") != 0))
        return usage_error("sim: --segment is for --generate=gpu");
    if (a->conf && (a->nodes || a->cpus || a->mem_mib || a->gpus))
        return usage_error("sim: --conf says what the nodes are: --nodes, --cpus, --gpus and --mem "
                           "are for a machine without one");
    return STATUS_OK;
}

int simopts_parse(int argc, char **argv, struct sim_args *a)
{
    struct option longs[ARRAY_SIZE(rows) + 3] = { { NULL, 0, NULL, 0 } };
    char shorts[2 * ARRAY_SIZE(rows) + 2] = "h", *p = shorts + 1;
    int c, r = STATUS_OK;

    *a = (struct sim_args){ .jobs = 10000, .seed = 1, .load = 0.9, .compare = "conf" };
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        longs[i] = (struct option){ rows[i].name, rows[i].metavar ? required_argument : no_argument,
                                    NULL, 256 + (int)i };
        if (rows[i].letter)
            *p++ = rows[i].letter;
        if (rows[i].letter && rows[i].metavar)
            *p++ = ':';
    }
    *p = '\0';
    longs[ARRAY_SIZE(rows)] = (struct option){ "help", no_argument, NULL, 'h' };
    longs[ARRAY_SIZE(rows) + 1] = (struct option){ "help-table", no_argument, NULL, 255 };
    while (r == STATUS_OK && (c = getopt_long(argc, argv, shorts, longs, NULL)) != -1) {
        size_t i = (size_t)c - 256;

        if (c == 'h')
            return print_help();
        if (c == 255)
            return help_table();
        if (c == '?')
            return bad_option();
        if (c < 256)
            for (i = 0; rows[i].letter != c; i++)
                ;
        r = set_value(&rows[i], optarg, a);
    }
    if (r == STATUS_OK && optind < argc)
        return usage_error("sim: unexpected argument: %s", argv[optind]);
    return r == STATUS_OK ? check_together(a) : r;
}
