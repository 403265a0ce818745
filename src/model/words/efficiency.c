/* efficiency.c - what a run used of what it held; see efficiency.h. */
#include "model/words/efficiency.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/timefmt.h"
#include "model/words/names.h"

#define LOW_CPU 50.0 /* per cent: from here on down something is wrong */
#define LOW_MEM 25.0
#define MEM_MATTERS_MIB 1024u
#define LOW_TIME 10.0
#define TIME_MATTERS_S 3600
#define SHORT_S 10 /* runs below that tell nothing */

static uint32_t most_tasks(const Pst__StepRecord *st)
{
    uint32_t most = 0, nodes = st->alloc ? (uint32_t)st->alloc->n_node_ids : 0;

    for (size_t g = 0; st->alloc && g < st->alloc->n_groups; g++)
        most = MAX(most, st->alloc->groups[g]->tasks);
    if (!most)
        most = nodes ? (st->num_tasks + nodes - 1) / nodes : st->num_tasks;
    return MAX(most, 1u);
}

static uint32_t nodes_of(const Pst__JobRecord *j)
{
    return j->alloc && j->alloc->n_node_ids ? (uint32_t)j->alloc->n_node_ids
                                            : MAX(j->min_nodes, 1u);
}

/* Held, or asked for. */
static uint32_t cpus_of(const Pst__JobRecord *j)
{
    uint32_t tasks = j->num_tasks ? j->num_tasks : nodes_of(j) * MAX(j->ntasks_per_node, 1u);

    if (j->alloc && j->alloc->total_cpus)
        return j->alloc->total_cpus;
    return MAX(tasks * MAX(j->cpus_per_task, 1u), j->min_cpus);
}

void efficiency_of(const Pst__AcctJob *a, int64_t now_us, struct efficiency *e)
{
    const Pst__JobRecord *j = a->job;
    int64_t end = names_job_state_terminal(j->state) && j->end_us ? j->end_us : now_us;
    int64_t from = j->eligible_us ? j->eligible_us : j->submit_us;

    *e = (struct efficiency){ .ended = names_job_state_terminal(j->state) && j->end_us,
                              .ran = j->start_us > 0 };
    e->wait_s = ((e->ran ? j->start_us : end) - from) / USEC_PER_SEC;
    e->wait_s = MAX(e->wait_s, 0);
    if (e->ran)
        e->elapsed_s = MAX((end - j->start_us - j->suspended_us) / USEC_PER_SEC, 0);
    if (!j->time_unlimited)
        e->limit_s = (int64_t)j->time_limit_min * 60;
    e->cpus = cpus_of(j);
    e->nodes = nodes_of(j);
    e->cpu_held_us = (uint64_t)MAX(e->ran ? end - j->start_us - j->suspended_us : 0, 0) * e->cpus;
    for (size_t g = 0; j->alloc && g < j->alloc->n_groups; g++) {
        const Pst__AllocGroup *grp = j->alloc->groups[g];

        e->mem_held_mib = MAX(e->mem_held_mib, grp->mem_mib);
        for (size_t i = 0; i < grp->n_gres; i++)
            if (grp->gres[i]->name && strcmp(grp->gres[i]->name, "gpu") == 0)
                e->gpus += (uint32_t)grp->gres[i]->count * grp->nodes;
    }
    for (size_t i = 0; i < a->n_steps; i++) {
        const Pst__StepUsage *u = a->steps[i]->usage;

        if (!u)
            continue;
        e->measured = true;
        e->cpu_used_us += u->user_us + u->sys_us;
        e->mem_used_mib =
            MAX(e->mem_used_mib, (u->max_rss_kib * most_tasks(a->steps[i]) + 1023) / 1024);
    }
}

double efficiency_cpu(const struct efficiency *e)
{
    return e->measured && e->cpu_held_us
               ? MIN(100.0 * (double)e->cpu_used_us / (double)e->cpu_held_us, 100.0)
               : -1;
}

double efficiency_mem(const struct efficiency *e)
{
    return e->measured && e->mem_held_mib
               ? 100.0 * (double)e->mem_used_mib / (double)e->mem_held_mib
               : -1;
}

/* ---- advice ---------------------------------------------------------------------------------- */

/* A quarter more than was used, in a round number. */
static void put_more(struct strbuf *out, uint64_t mib)
{
    uint64_t want = MAX(mib + mib / 4, 16u), step = want > 8192 ? 1024 : want > 512 ? 128 : 16;
    char text[32];

    size_mib_fmt((want + step - 1) / step * step, true, text, sizeof(text));
    strbuf_add(out, text);
}

static void put_size(struct strbuf *out, uint64_t mib)
{
    char text[32];

    size_mib_fmt(mib, false, text, sizeof(text));
    strbuf_add(out, text);
}

static void put_clock(struct strbuf *out, int64_t s)
{
    char text[32];

    time_fmt_hms(s, text, sizeof(text));
    strbuf_add(out, text);
}

/* How it ended says most. */
static bool advise_by_end(const Pst__JobRecord *j, const struct efficiency *e, struct strbuf *out)
{
    if (j->state == PST__JOB_STATE__JOB_OUT_OF_MEMORY) {
        strbuf_add(out, "It ran out of memory: ask for more than the ");
        put_size(out, e->mem_held_mib);
        strbuf_add(out, " it had on a node (--mem, --mem-per-cpu).");
        return true;
    }
    if (j->state == PST__JOB_STATE__JOB_TIMEOUT) {
        strbuf_add(out, "It was ended at its time limit of ");
        put_clock(out, e->limit_s);
        strbuf_add(out, ": ask for more (--time), or let it save what it has done (--signal).");
        return true;
    }
    return false;
}

static bool advise_cpus(const struct efficiency *e, struct strbuf *out)
{
    double busy = e->cpu_held_us ? (double)e->cpu_used_us / (double)e->cpu_held_us * e->cpus : 0;

    if (e->cpus < 2 || efficiency_cpu(e) >= LOW_CPU)
        return false;
    strbuf_addf(
        out,
        "It kept %.1f of its %u CPUs busy: ask for fewer CPUs, or let the program use them all.",
        busy, e->cpus);
    return true;
}

static bool advise_memory(const struct efficiency *e, struct strbuf *out)
{
    if (e->mem_held_mib < MEM_MATTERS_MIB || efficiency_mem(e) < 0 || efficiency_mem(e) >= LOW_MEM)
        return false;
    strbuf_add(out, "It used ");
    put_size(out, e->mem_used_mib);
    strbuf_add(out, " of ");
    put_size(out, e->mem_held_mib);
    strbuf_add(out, " of memory on a node: --mem=");
    put_more(out, e->mem_used_mib);
    strbuf_add(out, " would do.");
    return true;
}

static bool advise_time(const struct efficiency *e, struct strbuf *out)
{
    if (e->limit_s < TIME_MATTERS_S ||
        100.0 * (double)e->elapsed_s / (double)e->limit_s >= LOW_TIME)
        return false;
    strbuf_add(out, "It took ");
    put_clock(out, e->elapsed_s);
    strbuf_add(out, " of a limit of ");
    put_clock(out, e->limit_s);
    strbuf_add(out, ": with a shorter one (--time) it may start sooner.");
    return true;
}

bool efficiency_advice(const Pst__AcctJob *a, const struct efficiency *e, struct strbuf *out)
{
    if (!e->ran) {
        strbuf_add(out, e->ended ? "It never started." : "It has not started yet.");
        return false;
    }
    if (!e->ended) {
        strbuf_add(out, "It has not ended yet.");
        return false;
    }
    if (advise_by_end(a->job, e, out))
        return true;
    if (!e->measured) {
        strbuf_add(out, "Nothing was measured while it ran.");
        return false;
    }
    if (e->elapsed_s < SHORT_S) {
        strbuf_add(out, "It ran too short to tell.");
        return false;
    }
    if (advise_cpus(e, out) || advise_memory(e, out) || advise_time(e, out))
        return true;
    strbuf_add(out, "What it asked for fits what it used.");
    return false;
}

/* ---- output ---------------------------------------------------------------------------------- */

static void put_percent(struct strbuf *out, double v)
{
    if (v >= 0)
        strbuf_addf(out, "%.1f%%", v);
}

enum { COLUMNS = 9 };
static const struct {
    const char *name;
    int width; /* < 0: to the left */
} columns[COLUMNS] = { { "JobID", -12 },  { "State", -10 }, { "Planned", 11 },
                       { "Elapsed", 11 }, { "TimeEff", 8 }, { "AllocCPUS", 9 },
                       { "CPUEff", 8 },   { "MaxMem", 10 }, { "MemEff", 8 } };

static void put_cells(struct strbuf *out, const struct strbuf *cells, bool parsable)
{
    for (int i = 0; i < COLUMNS; i++) {
        const char *text = strbuf_str(&cells[i]);

        if (parsable)
            strbuf_addf(out, "%s%s", text, i + 1 < COLUMNS ? "|" : "\n");
        else
            strbuf_addf(out, "%*s%s", columns[i].width, text, i + 1 < COLUMNS ? " " : "\n");
    }
}

void efficiency_header(struct strbuf *out, bool parsable)
{
    struct strbuf cells[COLUMNS] = { 0 };

    for (int i = 0; i < COLUMNS; i++)
        strbuf_add(&cells[i], columns[i].name);
    put_cells(out, cells, parsable);
    for (int i = 0; i < COLUMNS; i++) {
        strbuf_reset(&cells[i]);
        strbuf_pad(&cells[i], '-',
                   (size_t)(columns[i].width < 0 ? -columns[i].width : columns[i].width));
    }
    if (!parsable)
        put_cells(out, cells, false);
    for (int i = 0; i < COLUMNS; i++)
        strbuf_done(&cells[i]);
}

static void put_id(struct strbuf *out, const Pst__JobRecord *j)
{
    if (j->has_array_task_id)
        strbuf_addf(out, "%u_%u", j->array_job_id, j->array_task_id);
    else if (j->has_het_job_id && j->het_job_id)
        strbuf_addf(out, "%u+%u", j->het_job_id, j->het_offset);
    else
        strbuf_addf(out, "%u", j->job_id);
}

void efficiency_row(const Pst__AcctJob *a, int64_t now_us, bool parsable, struct strbuf *out)
{
    struct strbuf cells[COLUMNS] = { 0 };
    struct efficiency e;

    efficiency_of(a, now_us, &e);
    put_id(&cells[0], a->job);
    strbuf_add(&cells[1], names_job_state(a->job->state));
    put_clock(&cells[2], e.wait_s);
    put_clock(&cells[3], e.elapsed_s);
    if (e.limit_s && e.ran)
        put_percent(&cells[4], 100.0 * (double)e.elapsed_s / (double)e.limit_s);
    strbuf_addf(&cells[5], "%u", e.ran ? e.cpus : 0);
    put_percent(&cells[6], efficiency_cpu(&e));
    if (e.measured)
        put_size(&cells[7], e.mem_used_mib);
    put_percent(&cells[8], efficiency_mem(&e));
    put_cells(out, cells, parsable);
    for (int i = 0; i < COLUMNS; i++)
        strbuf_done(&cells[i]);
}

void efficiency_report(const Pst__AcctJob *a, int64_t now_us, struct strbuf *out)
{
    const Pst__JobRecord *j = a->job;
    struct efficiency e;

    efficiency_of(a, now_us, &e);
    strbuf_add(out, "Job         ");
    put_id(out, j);
    strbuf_addf(out, "  %s  %s\n", j->name ? j->name : "", names_job_state(j->state));
    strbuf_add(out, "Waited      ");
    put_clock(out, e.wait_s);
    strbuf_addc(out, '\n');
    if (e.ran) {
        strbuf_add(out, "Ran         ");
        put_clock(out, e.elapsed_s);
        if (e.limit_s) {
            strbuf_add(out, " of ");
            put_clock(out, e.limit_s);
        }
        strbuf_addf(out, ", on %u node%s\n", e.nodes, e.nodes == 1 ? "" : "s");
    }
    if (e.ran && e.measured) {
        strbuf_add(out, "CPU         ");
        put_percent(out, efficiency_cpu(&e));
        strbuf_addf(out, " of %u: %.1f busy on average\nMemory      ", e.cpus,
                    e.cpu_held_us ? (double)e.cpu_used_us / (double)e.cpu_held_us * e.cpus : 0.0);
        put_size(out, e.mem_used_mib);
        if (e.mem_held_mib) {
            strbuf_add(out, " of ");
            put_size(out, e.mem_held_mib);
            strbuf_addf(out, " on a node (%.1f%%)", efficiency_mem(&e));
        }
        strbuf_addc(out, '\n');
    }
    if (e.gpus)
        strbuf_addf(out, "GPUs        %u held; their use is not measured\n", e.gpus);
    strbuf_add(out, "Advice      ");
    (void)efficiency_advice(a, &e, out);
    strbuf_addc(out, '\n');
}
