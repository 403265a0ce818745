/* swf.c - see swf.h */
#include "sim/swf.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/timefmt.h"

enum field { /* by its place in a line */
             F_JOB,
             F_SUBMIT,
             F_WAIT,
             F_RUN,
             F_PROCS,
             F_CPU_TIME,
             F_MEM_KB, /* a processor */
             F_REQ_PROCS,
             F_REQ_TIME,
             F_REQ_MEM_KB,
             F_STATUS,
             F_USER,
             F_GROUP,
             F_EXE,
             F_QUEUE,
             F_PARTITION,
             F_AFTER,
             F_THINK,
             F_MAX_
};

enum status { /* of field F_STATUS */
              ST_FAILED,
              ST_COMPLETED,
              ST_PART,           /* of a job that was broken off and went on; */
              ST_LAST_COMPLETED, /* such a job has a line of its own for all of it */
              ST_LAST_FAILED,
              ST_CANCELLED
};

struct reader {
    struct workload *w;
    bool overuse; /* jobs may run longer than they asked for */
};

static int line_error(struct err *err, size_t line, const char *what)
{
    return err_set(err, -EINVAL, "line %zu: %s", line, what);
}

/* ";  MaxNodes: 128" */
static void read_header(const char *line, struct reader *rd)
{
    struct workload *w = rd->w;
    unsigned long long v;
    char word[8];

    line += strspn(line, "; \t");
    if (sscanf(line, "MaxNodes: %llu", &v) == 1 && v <= SCHED_UNLIMITED)
        w->max_nodes = (uint32_t)v;
    else if (sscanf(line, "MaxProcs: %llu", &v) == 1 && v <= SCHED_UNLIMITED)
        w->max_cpus = (uint32_t)v;
    else if (sscanf(line, "UnixStartTime: %llu", &v) == 1 && v &&
             v < (unsigned long long)SWF_MAX_TIME_S)
        w->began_us = (int64_t)v * USEC_PER_SEC;
    else if (sscanf(line, "AllowOveruse: %7s", word) == 1)
        rd->overuse = strcasecmp(word, "True") == 0;
}

static int read_fields(const char *line, size_t number, double *ret, struct err *err)
{
    for (unsigned i = 0; i < F_MAX_; i++) {
        char *end;

        ret[i] = strtod(line, &end);
        if (end == line)
            return line_error(err, number,
                              i ? "fewer than 18 numbers" : "neither a job nor a comment");
        if (!(ret[i] >= -1e15 && ret[i] <= 1e15)) /* also what is not a number */
            return line_error(err, number, "a number out of range");
        line = end;
    }
    if (line[strspn(line, " \t\r")])
        return line_error(err, number, "more than 18 numbers");
    return 0;
}

static uint32_t count_of(double a, double b)
{
    double v = a >= 1 ? a : b;

    return v >= 1 && v <= WORKLOAD_MAX_TASKS ? (uint32_t)v : 0;
}

static int add_name(struct strtab *t, const char *prefix, double number, uint32_t *ret)
{
    char name[48];

    if (number < 0)
        (void)snprintf(name, sizeof(name), "%s", prefix);
    else
        (void)snprintf(name, sizeof(name), "%s%.0f", prefix, number);
    return name_index(t, name, strlen(name), ret);
}

/* Does the line tell of a run, and of all of it? */
static bool is_run(const double *f)
{
    if (f[F_STATUS] >= ST_PART && f[F_STATUS] <= ST_LAST_FAILED)
        return false;
    return f[F_RUN] >= 0 && f[F_SUBMIT] >= 0 && !(f[F_STATUS] == ST_CANCELLED && f[F_RUN] == 0);
}

static int read_record_line(const double *f, size_t number, struct reader *rd, struct err *err)
{
    struct workload *w = rd->w;
    struct sim_job j = { .cpus_per_task = 1, .part = WORKLOAD_NO_PART };
    double mem_kb = f[F_REQ_MEM_KB] > 0 ? f[F_REQ_MEM_KB] : 0;
    double limit_s = f[F_REQ_TIME] > 0 ? f[F_REQ_TIME] : f[F_RUN];
    int r;

    if (f[F_STATUS] < -1 || f[F_STATUS] > ST_CANCELLED)
        return line_error(err, number, "field 11, the status, is none of -1 and 0 to 5");
    if (rd->overuse)
        limit_s = limit_s > f[F_RUN] ? limit_s : f[F_RUN];
    j.tasks = count_of(f[F_REQ_PROCS], f[F_PROCS]);
    if (!is_run(f) || !j.tasks) {
        w->skipped++;
        return 0;
    }
    if (f[F_SUBMIT] > (double)SWF_MAX_TIME_S || f[F_RUN] > (double)SWF_MAX_TIME_S)
        return line_error(err, number, "a time out of range");
    j.id = f[F_JOB] >= 0 && f[F_JOB] <= UINT32_MAX ? (uint32_t)f[F_JOB] : 0;
    j.submit_us = w->began_us + (int64_t)(f[F_SUBMIT] * (double)USEC_PER_SEC);
    j.run_us = (int64_t)(f[F_RUN] * (double)USEC_PER_SEC);
    j.limit_min = limit_s / 60 < 5e8 ? (uint32_t)((limit_s + 59) / 60) : SCHED_UNLIMITED;
    j.limit_min = j.limit_min ? j.limit_min : 1;
    if (mem_kb <= 1e12)
        j.mem_per_cpu_mib = (uint64_t)((mem_kb + 1023) / 1024);
    if (f[F_WAIT] >= 0 && f[F_WAIT] <= (double)SWF_MAX_TIME_S)
        j.recorded_start_us = j.submit_us + (int64_t)(f[F_WAIT] * (double)USEC_PER_SEC);
    r = add_name(&w->users, "user", f[F_USER], &j.user);
    if (r == 0 && f[F_GROUP] >= 0) {
        r = add_name(&w->accounts, "group", f[F_GROUP], &j.account);
        j.account++;
    }
    if (r == 0 && f[F_QUEUE] >= 0)
        r = add_name(&w->parts, "queue", f[F_QUEUE], &j.part);
    if (r == 0)
        r = workload_add(w, &j);
    if (r == -E2BIG)
        return err_set(err, r, "line %zu: more than %u jobs or %u names", number, WORKLOAD_MAX_JOBS,
                       WORKLOAD_MAX_NAMES);
    return r;
}

int swf_parse(const char *text, size_t len, struct workload *w, struct err *err)
{
    const char *end = text + len;
    struct reader rd = { .w = w };
    double fields[F_MAX_];
    char line[SWF_MAX_LINE];
    int r = 0;

    for (size_t number = 1; r == 0 && text < end; number++) {
        const char *eol = memchr(text, '\n', (size_t)(end - text));
        size_t n = (size_t)((eol ? eol : end) - text);
        size_t blank = 0;

        while (blank < n && strchr(" \t\r", text[blank]) && text[blank])
            blank++;
        if (n >= sizeof(line) && text[blank] != ';')
            return line_error(err, number, "longer than 4095 bytes");
        n = MIN(n, sizeof(line) - 1);
        memcpy(line, text, n);
        line[n] = '\0';
        text = eol ? eol + 1 : end;
        if (line[blank] == ';') {
            read_header(line + blank, &rd);
        } else if (blank < n) {
            r = read_fields(line, number, fields, err);
            if (r == 0)
                r = read_record_line(fields, number, &rd, err);
        }
    }
    if (r == 0)
        workload_sort(w);
    return r;
}
