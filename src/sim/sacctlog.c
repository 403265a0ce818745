/* sacctlog.c - see sacctlog.h */
#include "sim/sacctlog.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/timefmt.h"

enum column {
    C_JOBID,
    C_JOBID_RAW,
    C_USER,
    C_UID,
    C_PARTITION,
    C_SUBMIT,
    C_START,
    C_END,
    C_ELAPSED,
    C_ELAPSED_RAW,
    C_LIMIT,
    C_LIMIT_RAW,
    C_REQ_CPUS,
    C_ALLOC_CPUS,
    C_NCPUS,
    C_NNODES,
    C_ALLOC_NODES,
    C_REQ_MEM,
    C_REQ_TRES,
    C_ALLOC_TRES,
    C_STATE,
    C_ACCOUNT,
    C_QOS,
    C_MAX_,
    C_OTHER
};

static const struct {
    const char *name;
    enum column column;
} known[] = {
    { "JobID", C_JOBID },
    { "JobIDRaw", C_JOBID_RAW },
    { "User", C_USER },
    { "UID", C_UID },
    { "Partition", C_PARTITION },
    { "Submit", C_SUBMIT },
    { "Start", C_START },
    { "End", C_END },
    { "Elapsed", C_ELAPSED },
    { "ElapsedRaw", C_ELAPSED_RAW },
    { "Timelimit", C_LIMIT },
    { "TimelimitRaw", C_LIMIT_RAW },
    { "ReqCPUS", C_REQ_CPUS },
    { "AllocCPUS", C_ALLOC_CPUS },
    { "NCPUS", C_NCPUS },
    { "NNodes", C_NNODES },
    { "AllocNodes", C_ALLOC_NODES },
    { "ReqMem", C_REQ_MEM },
    { "ReqTRES", C_REQ_TRES },
    { "AllocTRES", C_ALLOC_TRES },
    { "State", C_STATE },
    { "Account", C_ACCOUNT },
    { "QOS", C_QOS },
};

struct reader {
    unsigned char columns[SACCT_MAX_COLUMNS]; /* enum column of each */
    size_t ncolumns;
    bool has[C_MAX_];
    const char *cell[C_MAX_]; /* of the present line; NULL = none or empty */
    size_t line;
};

static char *next_cell(char **rest)
{
    char *cell = *rest, *bar;

    if (!cell)
        return NULL;
    bar = strchr(cell, '|');
    if (bar)
        *bar++ = '\0';
    *rest = bar;
    return cell;
}

static int read_header(struct reader *rd, char *line, struct err *err)
{
    for (char *rest = line, *cell; (cell = next_cell(&rest));) {
        enum column c = C_OTHER;

        if (rd->ncolumns == SACCT_MAX_COLUMNS)
            return err_set(err, -EINVAL, "line %zu: more than %u columns", rd->line,
                           SACCT_MAX_COLUMNS);
        cell[strcspn(cell, "%\r")] = '\0'; /* a width that was asked for */
        for (size_t i = 0; i < ARRAY_SIZE(known); i++)
            if (strcasecmp(known[i].name, cell) == 0)
                c = known[i].column;
        if (c != C_OTHER)
            rd->has[c] = true;
        rd->columns[rd->ncolumns++] = (unsigned char)c;
    }
    if (!rd->has[C_SUBMIT])
        return err_set(err, -EINVAL, "line %zu: no column Submit in the header", rd->line);
    if (!rd->has[C_ELAPSED_RAW] && !rd->has[C_ELAPSED] && !(rd->has[C_START] && rd->has[C_END]))
        return err_set(err, -EINVAL, "line %zu: neither Elapsed nor Start and End in the header",
                       rd->line);
    if (!rd->has[C_REQ_CPUS] && !rd->has[C_ALLOC_CPUS] && !rd->has[C_NCPUS] && !rd->has[C_NNODES] &&
        !rd->has[C_ALLOC_NODES])
        return err_set(err, -EINVAL,
                       "line %zu: no column ReqCPUS, AllocCPUS, NCPUS or NNodes in the header",
                       rd->line);
    return 0;
}

static int read_cells(struct reader *rd, char *line, struct err *err)
{
    size_t i = 0;

    memset(rd->cell, 0, sizeof(rd->cell));
    line[strcspn(line, "\r")] = '\0';
    for (char *rest = line, *cell; (cell = next_cell(&rest)); i++) {
        if (i == rd->ncolumns)
            return err_set(err, -EINVAL, "line %zu: more cells than the header has", rd->line);
        if (rd->columns[i] != C_OTHER && *cell)
            rd->cell[rd->columns[i]] = cell;
    }
    return i == rd->ncolumns ? 0
                             : err_set(err, -EINVAL, "line %zu: %zu cells, the header has %zu",
                                       rd->line, i, rd->ncolumns);
}

static bool read_number(const struct reader *rd, enum column c, uint64_t max, uint64_t *ret)
{
    return rd->cell[c] && parse_u64(rd->cell[c], 0, max, ret) == 0;
}

static bool read_date(const struct reader *rd, enum column c, int64_t *ret)
{
    return rd->cell[c] && rd->cell[c][0] >= '0' && rd->cell[c][0] <= '9' &&
           time_when_parse(rd->cell[c], 0, false, ret, NULL) == 0;
}

/* Seconds it ran; false when it did not. */
static bool run_time(const struct reader *rd, int64_t *ret_us)
{
    int64_t start, end;
    uint64_t raw;
    uint32_t secs;

    if (read_number(rd, C_ELAPSED_RAW, UINT32_MAX, &raw))
        *ret_us = (int64_t)raw * USEC_PER_SEC;
    else if (rd->cell[C_ELAPSED] && time_secs_parse(rd->cell[C_ELAPSED], &secs, NULL) == 0)
        *ret_us = (int64_t)secs * USEC_PER_SEC;
    else if (read_date(rd, C_START, &start) && read_date(rd, C_END, &end) && end >= start)
        *ret_us = end - start;
    else
        return false;
    return true;
}

static uint32_t read_limit(const struct reader *rd, int64_t run_us)
{
    uint64_t raw;
    uint32_t min;

    if (read_number(rd, C_LIMIT_RAW, UINT32_MAX - 1, &raw) && raw)
        return (uint32_t)raw;
    if (rd->cell[C_LIMIT] && rd->cell[C_LIMIT][0] >= '0' && rd->cell[C_LIMIT][0] <= '9' &&
        time_limit_parse(rd->cell[C_LIMIT], &min, NULL) == 0 && min)
        return min;
    if (rd->cell[C_LIMIT] || rd->cell[C_LIMIT_RAW])
        return SCHED_UNLIMITED; /* UNLIMITED, Partition_Limit */
    return (uint32_t)MIN(run_us / (60 * USEC_PER_SEC) + 1, (int64_t)UINT32_MAX - 1);
}

/* "cpu=4,gres/gpu=2,mem=1G": the number behind key; where only types of it are given, of all
 * types. */
static uint32_t tres_count(const char *text, const char *key)
{
    size_t len = strlen(key);
    uint64_t typed = 0;

    for (const char *p = text; p && *p; p = strchr(p, ',') ? strchr(p, ',') + 1 : NULL) {
        const char *eq = p + strcspn(p, "=,");
        char *end;
        unsigned long v;

        if (strncmp(p, key, len) != 0 || *eq != '=' || (p[len] != '=' && p[len] != ':'))
            continue;
        v = strtoul(eq + 1, &end, 10);
        v = end != eq + 1 && v <= WORKLOAD_MAX_TASKS ? v : 0;
        if (p[len] == '=')
            return (uint32_t)v;
        typed += v;
    }
    return (uint32_t)MIN(typed, (uint64_t)WORKLOAD_MAX_TASKS);
}

/* "4G", "4000M"; with the c or n that older versions add: per CPU, per node. */
static void read_memory(const struct reader *rd, struct sim_job *j)
{
    char text[32];
    size_t len;
    uint64_t mib;
    bool per_cpu, old;

    if (!rd->cell[C_REQ_MEM] || strlen(rd->cell[C_REQ_MEM]) >= sizeof(text))
        return;
    len = strlen(rd->cell[C_REQ_MEM]);
    memcpy(text, rd->cell[C_REQ_MEM], len + 1);
    per_cpu = len && text[len - 1] == 'c';
    old = per_cpu || (len && text[len - 1] == 'n');
    if (old)
        text[--len] = '\0';
    if (!len || size_mib_parse(text, &mib, NULL) < 0)
        return;
    if (per_cpu)
        j->mem_per_cpu_mib = mib;
    else if (old || !sim_job_cpus(j)) /* else it is that of the whole job */
        j->mem_per_node_mib = mib;
    else
        j->mem_per_cpu_mib = mib / sim_job_cpus(j);
}

static void read_sizes(const struct reader *rd, struct sim_job *j)
{
    uint64_t cpus = 0, nodes = 0;
    const char *tres = rd->cell[C_REQ_TRES] ? rd->cell[C_REQ_TRES] : rd->cell[C_ALLOC_TRES];

    if (!(read_number(rd, C_REQ_CPUS, WORKLOAD_MAX_TASKS, &cpus) && cpus) &&
        !(read_number(rd, C_ALLOC_CPUS, WORKLOAD_MAX_TASKS, &cpus) && cpus))
        (void)read_number(rd, C_NCPUS, WORKLOAD_MAX_TASKS, &cpus); /* 0 when there is none */
    if (!(read_number(rd, C_NNODES, WORKLOAD_MAX_TASKS, &nodes) && nodes))
        (void)read_number(rd, C_ALLOC_NODES, WORKLOAD_MAX_TASKS, &nodes);
    j->nodes = (uint32_t)nodes;
    j->tasks = (uint32_t)(cpus ? cpus : nodes);
    j->cpus_per_task = 1;
    j->gpus = tres_count(tres, "gres/gpu");
    read_memory(rd, j);
}

/* Has its end come, so that its run is all there is?  Not known where the state is not told. */
static bool is_over(const struct reader *rd)
{
    static const char *const open[] = { "PENDING", "RUNNING", "SUSPENDED", "RESIZING", "REQUEUED" };

    for (size_t i = 0; rd->cell[C_STATE] && i < ARRAY_SIZE(open); i++)
        if (strncasecmp(rd->cell[C_STATE], open[i], strlen(open[i])) == 0)
            return false;
    return true;
}

static bool is_word(const char *cell, const char *const *words, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strcasecmp(cell, words[i]) == 0)
            return true;
    return false;
}

/* What stands in a column must be what the column is for. */
static int check_cells(const struct reader *rd, struct err *err)
{
    static const enum column counts[] = { C_ELAPSED_RAW, C_REQ_CPUS, C_ALLOC_CPUS,
                                          C_NCPUS,       C_NNODES,   C_ALLOC_NODES };
    static const char *const no_time[] = { "INVALID", "Unknown" };
    static const char *const no_limit[] = { "UNLIMITED", "Partition_Limit", "INVALID" };
    uint64_t n;
    uint32_t t;

    for (size_t i = 0; i < ARRAY_SIZE(counts); i++)
        if (rd->cell[counts[i]] && !read_number(rd, counts[i], UINT32_MAX, &n))
            return err_set(err, -EINVAL, "line %zu: no number in the column %s: %s", rd->line,
                           known[counts[i]].name, rd->cell[counts[i]]);
    if (rd->cell[C_ELAPSED] && time_secs_parse(rd->cell[C_ELAPSED], &t, NULL) < 0 &&
        !is_word(rd->cell[C_ELAPSED], no_time, ARRAY_SIZE(no_time)))
        return err_set(err, -EINVAL, "line %zu: no time in the column Elapsed: %s", rd->line,
                       rd->cell[C_ELAPSED]);
    if (rd->cell[C_LIMIT] && time_limit_parse(rd->cell[C_LIMIT], &t, NULL) < 0 &&
        !is_word(rd->cell[C_LIMIT], no_limit, ARRAY_SIZE(no_limit)))
        return err_set(err, -EINVAL, "line %zu: no time limit in the column Timelimit: %s",
                       rd->line, rd->cell[C_LIMIT]);
    return 0;
}

/* From 1; 0 where none is named. */
static int place_of(struct strtab *t, const char *name, uint32_t *ret)
{
    int r = name ? name_index(t, name, strlen(name), ret) : 0;

    *ret += name && r == 0;
    return r;
}

static int read_record(struct reader *rd, struct workload *w, struct err *err)
{
    struct sim_job j = { .part = WORKLOAD_NO_PART };
    const char *id = rd->cell[C_JOBID_RAW] ? rd->cell[C_JOBID_RAW] : rd->cell[C_JOBID];
    const char *user = rd->cell[C_USER]  ? rd->cell[C_USER]
                       : rd->cell[C_UID] ? rd->cell[C_UID]
                                         : "user";
    const char *part = rd->cell[C_PARTITION];
    int r;

    if (id && strchr(id, '.')) {
        w->skipped++;
        return 0;
    }
    r = check_cells(rd, err);
    if (r < 0)
        return r;
    if (!read_date(rd, C_SUBMIT, &j.submit_us))
        return err_set(err, -EINVAL, "line %zu: no date in the column Submit", rd->line);
    read_sizes(rd, &j);
    if (!j.tasks || !is_over(rd) || !run_time(rd, &j.run_us) ||
        (!j.run_us && rd->cell[C_STATE] && strncasecmp(rd->cell[C_STATE], "CANCELLED", 9) == 0) ||
        (rd->has[C_START] && !read_date(rd, C_START, &j.recorded_start_us))) {
        w->skipped++;
        return 0;
    }
    j.id = id ? (uint32_t)strtoul(id, NULL, 10) : 0;
    j.limit_min = read_limit(rd, j.run_us);
    r = name_index(&w->users, user, strlen(user), &j.user);
    if (r == 0 && part)
        r = name_index(&w->parts, part, strcspn(part, ","), &j.part);
    if (r == 0)
        r = place_of(&w->accounts, rd->cell[C_ACCOUNT], &j.account);
    if (r == 0 && !(rd->cell[C_QOS] && strcmp(rd->cell[C_QOS], "normal") == 0))
        r = place_of(&w->qos, rd->cell[C_QOS], &j.qos);
    if (r == 0)
        r = workload_add(w, &j);
    if (r == -E2BIG)
        return err_set(err, r,
                       "line %zu: more than %u jobs or %u names, or a name of more than %u bytes",
                       rd->line, WORKLOAD_MAX_JOBS, WORKLOAD_MAX_NAMES, WORKLOAD_MAX_NAME);
    return r;
}

int sacct_parse(const char *text, size_t len, struct workload *w, struct err *err)
{
    _cleanup_free_ struct reader *rd = calloc(1, sizeof(*rd));
    _cleanup_free_ char *line = malloc(SACCT_MAX_LINE);
    const char *end = text + len;
    int r = rd && line ? 0 : -ENOMEM;

    while (r == 0 && text < end) {
        const char *eol = memchr(text, '\n', (size_t)(end - text));
        size_t n = (size_t)((eol ? eol : end) - text);

        rd->line++;
        if (n >= SACCT_MAX_LINE)
            return err_set(err, -EINVAL, "line %zu: longer than %u bytes", rd->line,
                           SACCT_MAX_LINE - 1);
        memcpy(line, text, n);
        line[n] = '\0';
        text = eol ? eol + 1 : end;
        if (!rd->ncolumns)
            r = read_header(rd, line, err);
        else if (n)
            r = read_cells(rd, line, err);
        if (r == 0 && rd->line > 1 && n)
            r = read_record(rd, w, err);
    }
    if (r == 0 && !rd->ncolumns)
        r = err_set(err, -EINVAL, "no header line with the names of the columns");
    if (r == 0)
        workload_sort(w);
    return r;
}
