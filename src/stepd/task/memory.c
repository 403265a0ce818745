/* memory.c - see memory.h
 *
 * Domains are those that slurmd found, by the kernel's numbers; which of them a task gets is
 * base/bind/membind.h's.  The child sets its policy itself, before its exec. */
#include "stepd/task/memory.h"

#include <errno.h>
#include <linux/mempolicy.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/bind/membind.h"
#include "stepd/task/bind.h"
#include "stepd/step.h"

struct memory {
    struct membind want;
    /* of each domain, in the kernel's numbers; NULL: there is none of that number */
    struct bitmap **cpus;
    uint32_t n_domains;
    struct bitmap **masks; /* of each task; empty = not bound */
    size_t n;
};

/* ---- domains --------------------------------------------------------------------------------- */

static int read_domain(struct memory *m, const Pst__NumaDomain *d, uint32_t n_cpus)
{
    struct bitmap **cpus = &m->cpus[d->number];

    if (bitmap_new(n_cpus, cpus) < 0)
        return -ENOMEM;
    /* memory without CPUs of its own */
    return d->cpus && *d->cpus ? bitmap_parse(*cpus, d->cpus, NULL) : 0;
}

static int read_domains(struct memory *m, const Pst__Processors *p)
{
    uint32_t n_cpus = 0;
    int r = 0;

    for (size_t i = 0; i < p->n_os_ids; i++)
        n_cpus = MAX(n_cpus, p->os_ids[i] + 1);
    for (size_t i = 0; i < p->n_numa; i++)
        m->n_domains = MAX(m->n_domains, p->numa[i]->number + 1);
    m->cpus = calloc(m->n_domains + 1, sizeof(*m->cpus));
    if (!m->cpus)
        return -ENOMEM;
    for (size_t i = 0; r == 0 && i < p->n_numa; i++)
        r = read_domain(m, p->numa[i], n_cpus);
    return r;
}

/* ---- environment ----------------------------------------------------------------------------- */

static void set_var(void *ctx, const char *suffix, const char *value)
{
    char name[64];

    (void)snprintf(name, sizeof(name), "SLURM_MEM_BIND%s", suffix);
    envlist_set(ctx, name, value);
}

/* ---- life ------------------------------------------------------------------------------------ */

static int prepare_domains(struct step *s, struct memory *m, struct err *err)
{
    struct membind_node node;
    int r = membind_parse(s->launch->mem_bind, &m->want, err);

    if (r < 0)
        return r;
    r = read_domains(m, s->sf->processors);
    node = (struct membind_node){ m->cpus, m->n_domains };
    m->n = s->n_tasks;
    m->masks = calloc(m->n + 1, sizeof(*m->masks));
    if (r < 0 || !m->masks)
        return err_nomem(err);
    for (uint32_t i = 0; r == 0 && i < m->n; i++) {
        r = bitmap_new(MAX(m->n_domains, 1u), &m->masks[i]);
        if (r == 0)
            r = membind_mask(&m->want, &node, i, bind_cpus(s, i), m->masks[i], err);
    }
    return r;
}

/* Where tasks are not bound, their variables say what was asked for. */
static int tell_wish(struct step *s, struct err *err)
{
    struct membind want = { 0 };
    int r = membind_parse(s->launch->mem_bind, &want, err);

    if (r < 0)
        return r;
    r = membind_vars(&want, set_var, &s->env);
    membind_done(&want);
    return r;
}

static int bind_memory(struct step *s, struct err *err)
{
    int r;

    s->memory = calloc(1, sizeof(*s->memory));
    r = s->memory ? prepare_domains(s, s->memory, err) : -ENOMEM;
    return r == 0 ? membind_vars(&s->memory->want, set_var, &s->env) : r;
}

void memory_prepare(struct step *s)
{
    struct err err = { .text = "" };
    int r;

    if (s->error || !s->launch || !s->launch->mem_bind)
        return;
    r = s->sf->processors ? bind_memory(s, &err) : tell_wish(s, &err);
    if (r == 0)
        return;
    step_notice(s, "%s", err.text[0] ? err.text : strerror(-r));
    step_fail(s, "Unable to satisfy mem bind request");
}

void memory_task(const struct step *s, size_t index, struct child *c)
{
    const struct memory *m = s->memory;
    struct bitmap *mask = m ? m->masks[index] : NULL;

    if (!mask || bitmap_empty(mask))
        return;
    c->mem_domains = mask->words;
    c->n_mem_domains = mask->nbits + 1;                          /* the kernel takes one off */
    c->mem_policy = m->want.prefer ? MPOL_PREFERRED : MPOL_BIND; /* preferred: the first of them */
}

void memory_tell(const struct step *s, size_t index, pid_t pid, int r, int fd)
{
    static const char *const names[] = {
        [MEMBIND_UNSET] = "NONE", [MEMBIND_NONE] = "NONE", [MEMBIND_RANK] = "RANK",
        [MEMBIND_LOCAL] = "LOC",  [MEMBIND_MAP] = "MAP",   [MEMBIND_MASK] = "MASK",
    };
    const struct memory *m = s->memory;

    if (m && m->want.verbose)
        bind_line(s, index, pid, fd,
                  &(struct bind_words){ .what = "mem-bind",
                                        .how = names[m->want.kind],
                                        .end = r < 0 ? " FAILED" : " set",
                                        .mask = m->masks[index] });
}

void memory_done(struct step *s)
{
    struct memory *m = s->memory;

    if (!m)
        return;
    for (size_t i = 0; m->masks && i < m->n; i++)
        bitmap_free(m->masks[i]);
    for (size_t i = 0; m->cpus && i < m->n_domains; i++)
        bitmap_free(m->cpus[i]);
    free(m->masks);
    free(m->cpus);
    membind_done(&m->want);
    free(m);
    s->memory = NULL;
}
