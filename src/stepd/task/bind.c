/* bind.c - see bind.h
 *
 * The masks are worked out in the numbers of allocations (base/bind/cpubind.h) and turned into
 * those of the kernel, which is all that a child gets: it binds itself before its exec. */
#include "stepd/task/bind.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/logflags.h"
#include "base/bind/cpubind.h"
#include "base/strbuf.h"
#include "stepd/step.h"

struct bind {
    struct cpubind want;
    enum cpubind_kind kind; /* in force */
    struct bitmap **masks;  /* of each task, in the kernel's numbers; empty = not bound */
    size_t n;
    size_t set_size; /* of what sched_setaffinity() takes */
};

/* ---- masks ----------------------------------------------------------------------------------- */

static const char *step_cpus(const struct step *s)
{
    const Pst__AllocGroup *here = env_step_group(s->sf);

    return !s->launch ? s->sf->job->cpu_ids : here ? here->cpu_ids : NULL;
}

static struct bitmap *to_kernel(const Pst__Processors *p, const struct bitmap *mask)
{
    struct bitmap *out = NULL;
    uint32_t most = 0;

    for (size_t i = 0; i < p->n_os_ids; i++)
        most = MAX(most, p->os_ids[i]);
    if (bitmap_new(most + 1, &out) < 0)
        return NULL;
    BITMAP_FOREACH (mask, i)
        bitmap_set(out, p->os_ids[i]);
    return out;
}

static enum cpubind_kind default_kind(const Pst__Processors *p)
{
    struct cpubind b = { 0 };
    enum cpubind_kind kind = CPUBIND_AUTO;

    if (p->dflt && cpubind_parse(p->dflt, &b, NULL) == 0)
        kind = b.kind;
    cpubind_done(&b);
    return kind;
}

static int work_out(struct step *s, struct bind *b, const struct bitmap *cpus, struct err *err)
{
    const Pst__Processors *p = s->sf->processors;
    const Pst__StepRecord *rec = s->sf->step;
    struct cpubind_node node = { p->sockets, p->cores, p->threads, p->ldoms };
    struct cpubind_step step = {
        .cpus = cpus, .n_tasks = (uint32_t)s->n_tasks, .cpus_per_task = 1, .dflt = default_kind(p)
    };
    int r;

    if (s->launch) {
        step.cpus_per_task = rec->has_cpus_per_task && rec->cpus_per_task ? rec->cpus_per_task : 1;
        step.distribution = rec->distribution;
        step.one_thread = s->launch->one_thread;
    } else {
        b->want.kind = CPUBIND_AUTO; /* the script has all the job's CPUs */
        step.cpus_per_task = 0;
        step.dflt = CPUBIND_AUTO;
    }
    r = cpubind_masks(&b->want, &node, &step, b->masks, &b->kind, err);
    for (size_t i = 0; r == 0 && i < b->n; i++) {
        struct bitmap *kernel = to_kernel(p, b->masks[i]);

        bitmap_free(b->masks[i]);
        b->masks[i] = kernel;
        if (!kernel)
            return err_nomem(err);
        b->set_size = CPU_ALLOC_SIZE((int)kernel->nbits);
    }
    return r;
}

/* ---- environment ----------------------------------------------------------------------------- */

static bool one_for_all(const struct bind *b)
{
    return b->kind == CPUBIND_AUTO || b->kind == CPUBIND_NONE;
}

static void list_masks(const struct bind *b, struct strbuf *sb)
{
    for (size_t i = 0; i < b->n && (i == 0 || !one_for_all(b)); i++) {
        _cleanup_free_ char *hex = NULL;

        if (cpubind_hex(b->masks[i], &hex) == 0)
            strbuf_addf(sb, "%s%s", i ? "," : "", hex);
    }
}

static void set_env(struct step *s, const struct bind *b)
{
    const char *how = b->want.verbose ? "verbose" : "quiet", *word;
    _cleanup_val_(strbuf_done) struct strbuf list = STRBUF_INIT;
    bool bound = b->n && !bitmap_empty(b->masks[0]);

    word = b->want.list.n || b->kind == CPUBIND_RANK_LDOM ? cpubind_word(b->kind)
           : bound                                        ? "mask_cpu:"
                                                          : "none";
    for (size_t i = 0; i < b->want.list.n; i++)
        strbuf_addf(&list, "%s%s%s", i ? "," : "", b->want.list.masks ? "0x" : "",
                    b->want.list.items[i]);
    if (!b->want.list.n && bound && b->kind != CPUBIND_RANK_LDOM)
        list_masks(b, &list);
    envlist_setf(&s->env, "SLURM_CPU_BIND", "%s,%s%s", how, word, strbuf_str(&list));
    envlist_set(&s->env, "SLURM_CPU_BIND_VERBOSE", how);
    envlist_set(&s->env, "SLURM_CPU_BIND_TYPE", word);
    envlist_set(&s->env, "SLURM_CPU_BIND_LIST", strbuf_str(&list));
}

/* ---- life ------------------------------------------------------------------------------------ */

static int prepare_cpus(struct step *s, struct bind *b, const char *ids, struct err *err)
{
    const Pst__Processors *p = s->sf->processors;
    _cleanup_(bitmap_free) struct bitmap *cpus = NULL;
    int r;

    b->n = s->n_tasks;
    b->masks = calloc(b->n + 1, sizeof(*b->masks));
    if (!b->masks || bitmap_new((uint32_t)p->n_os_ids, &cpus) < 0)
        return err_nomem(err);
    r = bitmap_parse(cpus, ids, err);
    if (r == 0)
        r = cpubind_parse(s->launch && s->launch->cpu_bind ? s->launch->cpu_bind : "", &b->want,
                          err);
    if (r == 0 && p->verbose && !b->want.quiet)
        b->want.verbose = s->launch != NULL;
    return r < 0 ? r : work_out(s, b, cpus, err);
}

struct bitmap *bind_step_cpus(const struct step *s)
{
    const Pst__Processors *p = s->sf->processors;
    _cleanup_(bitmap_free) struct bitmap *cpus = NULL;
    const char *ids = step_cpus(s);

    if (!p || !ids || bitmap_new((uint32_t)p->n_os_ids, &cpus) < 0 ||
        bitmap_parse(cpus, ids, NULL) < 0)
        return NULL;
    return to_kernel(p, cpus);
}

static void log_masks(const struct step *s)
{
    const struct bind *b = s->bind;

    for (size_t i = 0; log_has_flag(LOG_SUBJECT_CPU_BIND) && i < b->n; i++) {
        _cleanup_free_ char *hex = NULL;

        if (!bitmap_empty(b->masks[i]) && cpubind_hex(b->masks[i], &hex) == 0)
            log_flag(CPU_BIND, "StepId=%u.%s task %u: %s mask %s", s->job_id, s->step_name,
                     s->tasks[i].rank, cpubind_word(b->kind), hex);
        else
            log_flag(CPU_BIND, "StepId=%u.%s task %u: not bound", s->job_id, s->step_name,
                     s->tasks[i].rank);
    }
}

void bind_prepare(struct step *s)
{
    const char *ids = step_cpus(s);
    struct err err = { .text = "" };
    int r;

    if (!s->sf->processors || !ids)
        return;
    s->bind = calloc(1, sizeof(*s->bind));
    r = s->bind ? prepare_cpus(s, s->bind, ids, &err) : -ENOMEM;
    if (r == 0) {
        log_masks(s);
        if (s->launch)
            set_env(s, s->bind);
        return;
    }
    step_notice(s, "%s", err.text);
    step_fail(s, "Unable to satisfy cpu bind request");
}

void bind_task(const struct step *s, size_t index, struct child *c)
{
    const struct bind *b = s->bind;

    if (!b || bitmap_empty(b->masks[index]))
        return;
    c->cpu_set = b->masks[index]->words; /* bit i of the words is CPU i, as the kernel has it */
    c->cpu_set_size = b->masks[index]->nwords * sizeof(uint64_t);
}

const struct bitmap *bind_cpus(const struct step *s, size_t index)
{
    return s->bind && !bitmap_empty(s->bind->masks[index]) ? s->bind->masks[index] : NULL;
}

/* As one hexadecimal number, bit 0 last. */
static void put_mask(struct strbuf *hex, const struct bitmap *mask)
{
    for (uint32_t i = (mask->nbits + 3) / 4; i > 0; i--) {
        unsigned digit = mask->words[(i - 1) / 16] >> ((i - 1) % 16 * 4) & 15;

        if (digit || hex->len || i == 1)
            strbuf_addc(hex, "0123456789abcdef"[digit]);
    }
}

void bind_line(const struct step *s, size_t index, pid_t pid, int fd, const struct bind_words *w)
{
    _cleanup_val_(strbuf_done) struct strbuf hex = STRBUF_INIT, line = STRBUF_INIT;
    bool none = bitmap_empty(w->mask);

    put_mask(&hex, w->mask);
    strbuf_addf(&line, "%s=%s - %s, task %2u %2zu [%d]: mask 0x%s%s\n", w->what,
                none ? "NONE" : w->how, s->sf->job->node_name, s->tasks[index].rank, index,
                (int)pid, strbuf_str(&hex), none ? "" : w->end);
    output_tell(s, fd, strbuf_str(&line), line.len);
}

void bind_tell(const struct step *s, size_t index, pid_t pid, int fd)
{
    static const char *const names[] = {
        [CPUBIND_NONE] = "NONE",        [CPUBIND_MAP_CPU] = "MAP ",
        [CPUBIND_RANK_LDOM] = "LDRANK", [CPUBIND_MAP_LDOM] = "LDMAP",
        [CPUBIND_MASK_LDOM] = "LDMASK",
    };
    const struct bind *b = s->bind;
    bool named = b && b->kind < ARRAY_SIZE(names) && names[b->kind];

    if (b && b->want.verbose)
        bind_line(s, index, pid, fd,
                  &(struct bind_words){ .what = "cpu-bind",
                                        .how = named ? names[b->kind] : "MASK",
                                        .end = " set",
                                        .mask = b->masks[index] });
}

void bind_done(struct step *s)
{
    struct bind *b = s->bind;

    if (!b)
        return;
    for (size_t i = 0; b->masks && i < b->n; i++)
        bitmap_free(b->masks[i]);
    free(b->masks);
    cpubind_done(&b->want);
    free(b);
    s->bind = NULL;
}
