/* taskfreq.c - see taskfreq.h
 *
 * The kernel has a folder cpufreq for each CPU.  A frequency alone is set by the governor userspace
 * where the CPU has that and users may choose it, else as the least and the most frequency at
 * once. */
#include "stepd/task/taskfreq.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bind/cpufreq.h"
#include "base/cleanup.h"
#include "base/logflags.h"
#include "base/wordlist.h"
#include "stepd/step.h"
#include "stepd/task/bind.h"

#define GOVERNOR_MAX 32

struct freq_state { /* of a CPU */
    char governor[GOVERNOR_MAX];
    uint32_t min_khz, max_khz;
};

struct freq_cpu {
    uint32_t cpu;
    struct freq_state before, set;
};

struct taskfreq {
    struct freq_cpu *cpus;
    size_t n;
};

/* ---- files of the kernel --------------------------------------------------------------------- */

static void file_path(const struct step *s, uint32_t cpu, const char *name, char path[512])
{
    (void)snprintf(path, 512, "%s/sys/devices/system/cpu/cpu%u/cpufreq/%s", s->sf->machine_root,
                   cpu, name);
}

static int read_text(const struct step *s, uint32_t cpu, const char *name, char *buf, size_t size)
{
    char path[512];
    _cleanup_close_ int fd = -1;
    ssize_t n;

    file_path(s, cpu, name, path);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    n = fd < 0 ? -1 : read(fd, buf, size - 1);
    buf[MAX(n, 0)] = '\0';
    buf[strcspn(buf, "\n")] = '\0';
    return n < 0 ? -errno : 0;
}

static uint32_t read_khz(const struct step *s, uint32_t cpu, const char *name)
{
    char buf[32];

    return read_text(s, cpu, name, buf, sizeof(buf)) < 0 ? 0 : (uint32_t)strtoul(buf, NULL, 10);
}

static int write_text(const struct step *s, uint32_t cpu, const char *name, const char *text)
{
    char path[512];
    _cleanup_close_ int fd = -1;
    size_t len = strlen(text);

    file_path(s, cpu, name, path);
    fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
    return fd < 0 || write(fd, text, len) != (ssize_t)len ? -errno : 0;
}

static int write_khz(const struct step *s, uint32_t cpu, const char *name, uint32_t khz)
{
    char text[16];

    (void)snprintf(text, sizeof(text), "%u", khz);
    return write_text(s, cpu, name, text);
}

static int read_state(const struct step *s, uint32_t cpu, struct freq_state *ret)
{
    ret->min_khz = read_khz(s, cpu, "scaling_min_freq");
    ret->max_khz = read_khz(s, cpu, "scaling_max_freq");
    return read_text(s, cpu, "scaling_governor", ret->governor, sizeof(ret->governor));
}

static void read_range(const struct step *s, uint32_t cpu, struct cpufreq_range *ret)
{
    char list[1500];

    *ret = (struct cpufreq_range){ .min_khz = read_khz(s, cpu, "cpuinfo_min_freq"),
                                   .max_khz = read_khz(s, cpu, "cpuinfo_max_freq") };
    if (read_text(s, cpu, "scaling_available_frequencies", list, sizeof(list)) == 0)
        cpufreq_list(list, ret);
}

/* Set both bounds.  The kernel refuses a least frequency above the most, so the most is written
 * once more: the first time it may lie below the old least. */
static int write_bounds(const struct step *s, uint32_t cpu, uint32_t min_khz, uint32_t max_khz)
{
    int r;

    (void)write_khz(s, cpu, "scaling_max_freq", max_khz); /* the last write tells the error */
    r = write_khz(s, cpu, "scaling_min_freq", min_khz);
    return r < 0 ? r : write_khz(s, cpu, "scaling_max_freq", max_khz);
}

/* ---- what is asked for ----------------------------------------------------------------------- */

/* May this step have the governor?  CpuFreqDef may name any. */
static bool governor_allowed(const struct step *s, const char *governor)
{
    return s->sf->cpu_freq_default || !s->sf->cpu_governors ||
           wordlist_has_nocase(s->sf->cpu_governors, governor);
}

static bool governor_there(const struct step *s, uint32_t cpu, const char *governor)
{
    char list[512];

    if (read_text(s, cpu, "scaling_available_governors", list, sizeof(list)) < 0)
        return false;
    for (char *p = list; *p; p++)
        *p = *p == ' ' ? ',' : *p;
    return wordlist_has_nocase(list, governor);
}

static int check_governor(const struct step *s, uint32_t cpu, const char *governor, struct err *err)
{
    if (!governor_allowed(s, governor))
        return err_set(err, -EPERM, "--cpu-freq: CpuFreqGovernors does not have the governor %s",
                       governor);
    if (!governor_there(s, cpu, governor))
        return err_set(err, -ENOENT, "--cpu-freq: CPU %u of node %s has no governor %s", cpu,
                       s->host, governor);
    return 0;
}

static int set_cpu(const struct step *s, const struct cpufreq *want, struct freq_cpu *c,
                   struct err *err)
{
    struct cpufreq_range range;
    const char *governor = want->governor;
    uint32_t low, high;
    bool fixed = want->low != CPUFREQ_NONE && want->high == CPUFREQ_NONE;
    int r = governor ? check_governor(s, c->cpu, governor, err) : 0;

    if (r < 0)
        return r;
    read_range(s, c->cpu, &range);
    low = cpufreq_khz(&range, want->low, want->low_khz);
    high = fixed ? low : cpufreq_khz(&range, want->high, want->high_khz);
    if (want->low != CPUFREQ_NONE && (!low || low > high))
        return err_set(err, -ERANGE,
                       "--cpu-freq: CPU %u of node %s has no frequency from %u to %u kHz", c->cpu,
                       s->host, low, high);
    if (fixed && !governor && governor_allowed(s, "userspace") &&
        governor_there(s, c->cpu, "userspace"))
        governor = "userspace";
    if (governor)
        r = write_text(s, c->cpu, "scaling_governor", governor);
    if (r == 0 && low && governor && fixed && strcmp(governor, "userspace") == 0)
        r = write_khz(s, c->cpu, "scaling_setspeed", low);
    else if (r == 0 && low)
        r = write_bounds(s, c->cpu, low, high);
    if (r < 0)
        return err_set(err, r, "--cpu-freq: cannot set CPU %u of node %s: %s", c->cpu, s->host,
                       strerror(-r));
    return 0;
}

/* ---- life ------------------------------------------------------------------------------------ */

static int set_all(struct step *s, const struct cpufreq *want, const struct bitmap *cpus,
                   struct err *err)
{
    struct taskfreq *t = s->freq = calloc(1, sizeof(*t));
    int r = 0;

    if (t)
        t->cpus = calloc(bitmap_count(cpus) + 1, sizeof(*t->cpus));
    if (!t || !t->cpus)
        return err_nomem(err);
    BITMAP_FOREACH (cpus, i) {
        struct freq_cpu *c = &t->cpus[t->n];

        c->cpu = (uint32_t)i;
        if (r == 0 && read_state(s, c->cpu, &c->before) < 0)
            r = err_set(err, -ENODEV, "--cpu-freq: node %s cannot set the frequency of CPU %u",
                        s->host, c->cpu);
        if (r < 0)
            break;
        t->n++; /* what is set in part is given back too */
        r = set_cpu(s, want, c, err);
        (void)read_state(s, c->cpu, &c->set); /* it was read a moment ago */
        log_flag(CPU_FREQUENCY, "StepId=%u.%s CPU %u: governor %s, %u to %u kHz", s->job_id,
                 s->step_name, c->cpu, c->set.governor, c->set.min_khz, c->set.max_khz);
    }
    return r;
}

void taskfreq_set(struct step *s)
{
    _cleanup_(bitmap_free) struct bitmap *cpus = NULL;
    struct err err = { .text = "" };
    struct cpufreq want;
    int r;

    if (s->error || !s->sf->cpu_freq || !s->sf->machine_root)
        return;
    r = cpufreq_parse(s->sf->cpu_freq, &want, &err);
    if (r == 0 && !(cpus = bind_step_cpus(s)))
        r = err_set(&err, -ENODEV,
                    "--cpu-freq: TaskPlugin of node %s binds no step to CPUs; their frequency is "
                    "left alone",
                    s->host);
    if (r == 0)
        r = set_all(s, &want, cpus, &err);
    if (r == -ENODEV)
        log_info("%s",
                 err.text); /* of the machine, not of the request: the user did nothing wrong */
    else if (r < 0 && !s->sf->cpu_freq_default)
        step_notice(s, "%s", err.text);
}

void taskfreq_done(struct step *s)
{
    struct taskfreq *t = s->freq;

    for (size_t i = 0; t && i < t->n; i++) {
        struct freq_cpu *c = &t->cpus[i];
        struct freq_state now;

        if (read_state(s, c->cpu, &now) < 0 || strcmp(now.governor, c->set.governor) != 0 ||
            now.min_khz != c->set.min_khz || now.max_khz != c->set.max_khz)
            continue; /* a later step of the CPU has set it */
        /* The end of a step has nobody to tell an error. */
        if (strcmp(c->before.governor, c->set.governor) != 0)
            (void)write_text(s, c->cpu, "scaling_governor", c->before.governor);
        if (c->before.min_khz != c->set.min_khz || c->before.max_khz != c->set.max_khz)
            (void)write_bounds(s, c->cpu, c->before.min_khz, c->before.max_khz);
    }
    if (t)
        free(t->cpus);
    free(t);
    s->freq = NULL;
}
