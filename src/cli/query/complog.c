/* complog.c - see complog.h */
#include "cli/query/complog.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/pb/pbutil.h"
#include "base/timefmt.h"
#include "model/words/names.h"

/* In the order of the line.  Versions of the log that lack some of them are read too. */
static const char *const keys[] = {
    "JobId",        "UserId",          "GroupId",      "Name",       "JobState",    "Partition",
    "TimeLimit",    "StartTime",       "EndTime",      "NodeList",   "NodeCnt",     "ProcCnt",
    "WorkDir",      "ReservationName", "Tres",         "Account",    "QOS",         "WcKey",
    "Cluster",      "SubmitTime",      "EligibleTime", "ArrayJobId", "ArrayTaskId", "HetJobId",
    "HetJobOffset", "DerivedExitCode", "ExitCode",
};

enum { N_KEYS = sizeof(keys) / sizeof(keys[0]) };

/* Where "KEY=" begins a word of text, or NULL. */
static char *find_key(char *text, const char *key)
{
    size_t len = strlen(key);

    for (char *p = text; (p = strstr(p, key)); p += len)
        if ((p == text || p[-1] == ' ') && p[len] == '=')
            return p;
    return NULL;
}

/* Cut the line into values; NULL for keys that it lacks. */
static void cut_line(char *line, char *values[N_KEYS])
{
    char *at = line;

    line[strcspn(line, "\r\n")] = '\0';
    for (size_t i = 0; i < N_KEYS; i++) {
        char *found = find_key(at, keys[i]);

        values[i] = NULL;
        if (!found)
            continue;
        if (found > line)
            found[-1] = '\0'; /* the end of the value before */
        values[i] = at = found + strlen(keys[i]) + 1;
    }
    for (size_t i = 0; i < N_KEYS; i++)
        if (values[i])
            for (size_t len = strlen(values[i]); len > 0 && values[i][len - 1] == ' '; len--)
                values[i][len - 1] = '\0';
}

static char *value_of(char *const values[N_KEYS], const char *key)
{
    for (size_t i = 0; i < N_KEYS; i++)
        if (strcmp(keys[i], key) == 0)
            return values[i];
    return NULL;
}

static bool read_number(const char *text, uint32_t *ret)
{
    char *end;
    unsigned long n;

    if (!text || !*text || strspn(text, "0123456789") == 0)
        return false;
    errno = 0;
    n = strtoul(text, &end, 10);
    if (errno || n > UINT32_MAX)
        return false;
    *ret = (uint32_t)n;
    return true;
}

/* "alice(1000)" or a number. */
static void read_owner(char *text, char **name, protobuf_c_boolean *has, uint32_t *id)
{
    char *open = text ? strrchr(text, '(') : NULL;

    *has = read_number(open ? open + 1 : text, id);
    if (open && *has) {
        *open = '\0';
        *name = strdup(text);
    }
}

static void read_time(const char *text, protobuf_c_boolean *has, int64_t *us)
{
    *has = text && time_when_parse(text, 0, false, us, NULL) == 0;
}

/* "1:0" as wait(2) says it. */
static void read_exit(const char *text, protobuf_c_boolean *has, uint32_t *status)
{
    const char *colon = text ? strchr(text, ':') : NULL;
    uint32_t code, sig;

    *has = colon && read_number(text, &code) && read_number(colon + 1, &sig);
    if (*has)
        *status = (code & 0xff) << 8 | (sig & 0x7f);
}

static void read_texts(char *const values[N_KEYS], Pst__JobRecord *j)
{
    struct {
        const char *key;
        char **to;
    } texts[] = { { "Name", &j->name },        { "Partition", &j->partition },
                  { "WorkDir", &j->work_dir }, { "ReservationName", &j->reservation },
                  { "Account", &j->account },  { "QOS", &j->qos },
                  { "WcKey", &j->wckey },      { "Tres", &j->alloc_tres } };

    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        const char *value = value_of(values, texts[i].key);

        if (value && *value)
            *texts[i].to = strdup(value);
    }
}

static void read_numbers(char *const values[N_KEYS], Pst__JobRecord *j)
{
    const char *limit = value_of(values, "TimeLimit");

    j->has_time_unlimited = limit && strcmp(limit, "UNLIMITED") == 0;
    j->time_unlimited = j->has_time_unlimited;
    j->has_time_limit_min = read_number(limit, &j->time_limit_min);
    read_owner(value_of(values, "UserId"), &j->user_name, &j->has_uid, &j->uid);
    read_owner(value_of(values, "GroupId"), &j->group_name, &j->has_gid, &j->gid);
    read_time(value_of(values, "StartTime"), &j->has_start_us, &j->start_us);
    read_time(value_of(values, "EndTime"), &j->has_end_us, &j->end_us);
    read_time(value_of(values, "SubmitTime"), &j->has_submit_us, &j->submit_us);
    read_time(value_of(values, "EligibleTime"), &j->has_eligible_us, &j->eligible_us);
    j->has_array_job_id = read_number(value_of(values, "ArrayJobId"), &j->array_job_id);
    j->has_array_task_id = read_number(value_of(values, "ArrayTaskId"), &j->array_task_id);
    j->has_het_job_id = read_number(value_of(values, "HetJobId"), &j->het_job_id);
    j->has_het_offset = read_number(value_of(values, "HetJobOffset"), &j->het_offset);
    read_exit(value_of(values, "DerivedExitCode"), &j->has_derived_exit_status,
              &j->derived_exit_status);
    read_exit(value_of(values, "ExitCode"), &j->has_exit_status, &j->exit_status);
}

/* The log counts nodes and does not number them; job_nodes() takes min_nodes then.  -ENOMEM. */
static int read_nodes(char *const values[N_KEYS], Pst__JobRecord *j)
{
    const char *nodes = value_of(values, "NodeList");

    j->has_min_nodes = read_number(value_of(values, "NodeCnt"), &j->min_nodes);
    if (!nodes || !*nodes || strcmp(nodes, "(null)") == 0)
        return 0;
    j->alloc = malloc(sizeof(*j->alloc));
    if (!j->alloc)
        return -ENOMEM;
    pst__alloc__init(j->alloc);
    j->alloc->has_total_cpus = read_number(value_of(values, "ProcCnt"), &j->alloc->total_cpus);
    return pb_set_str(&j->alloc->nodes, nodes);
}

static bool read_state(const char *word, Pst__JobRecord *j)
{
    struct names_job_match state;

    if (!word || names_job_state_parse(word, &state) < 0 || state.is_flag)
        return false;
    j->has_state = true;
    j->state = (Pst__JobState)state.number;
    return true;
}

int complog_parse(char *line, Pst__AcctJob **ret)
{
    Pst__AcctJob *a = malloc(sizeof(*a));
    Pst__JobRecord *j = malloc(sizeof(*j));
    char *values[N_KEYS];
    int r = -ENOMEM;

    if (!a || !j) {
        free(a);
        free(j);
        return -ENOMEM;
    }
    pst__acct_job__init(a);
    pst__job_record__init(j);
    a->job = j;
    cut_line(line, values);
    j->has_job_id = read_number(value_of(values, "JobId"), &j->job_id);
    r = j->has_job_id && read_state(value_of(values, "JobState"), j) ? read_nodes(values, j)
                                                                     : -EBADMSG;
    if (r == 0) {
        read_texts(values, j);
        read_numbers(values, j);
        r = pb_set_str(&a->cluster, value_of(values, "Cluster"));
    }
    if (r < 0) {
        pst__acct_job__free_unpacked(a, NULL);
        return r;
    }
    *ret = a;
    return 0;
}

int complog_read(const char *path, complog_fn *fn, void *ctx, size_t *ret_bad)
{
    _cleanup_fclose_ FILE *f = fopen(path, "re");
    _cleanup_free_ char *line = malloc(COMPLOG_LINE_MAX);
    bool rest = false; /* of a line that is too long */
    size_t bad = 0;
    int r = 0;

    if (!f)
        return -errno;
    if (!line)
        return -ENOMEM;
    while (r >= 0 && fgets(line, COMPLOG_LINE_MAX, f)) {
        bool whole = strchr(line, '\n') || feof(f);
        Pst__AcctJob *a;

        r = whole && !rest ? complog_parse(line, &a) : -EBADMSG;
        if (r == 0) {
            r = fn(ctx, a);
            pst__acct_job__free_unpacked(a, NULL);
        } else if (r == -EBADMSG) {
            bad += !rest;
            r = 0;
        }
        rest = !whole;
    }
    if (r >= 0 && ferror(f))
        r = -EIO;
    *ret_bad = bad;
    return r < 0 ? r : 0;
}
