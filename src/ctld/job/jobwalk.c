/* jobwalk.c - the jobs that id texts name; see jobwalk.h.  Core thread.
 *
 * A text costs what it names: a task is found by its number or, when more are named than there
 * are jobs in the array, among those.  Nothing is as large as the numbers in the text. */
#include "ctld/job/jobwalk.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/compare/order.h"
#include "base/sluid.h"
#include "base/strbuf.h"
#include "ctld/job/hetgroup.h"
#include "model/array.h"
#include "model/words/names.h"

#define ID_TEXT_MAX 256u /* bytes of an id, its end included */
#define TASK_MAX 4000000u

const char jobwalk_refusal[] = "the request names too many jobs: name them in several requests";

void jobwalk_init(struct jobwalk *w, struct cluster *c, char *const *texts, size_t n)
{
    *w = (struct jobwalk){ .cluster = c, .texts = texts, .n = n };
}

/* What the text at hand needed goes. */
static void end_text(struct jobwalk *w)
{
    free(w->ids);
    free(w->ranges);
    free(w->tasks);
    w->ids = NULL;
    w->ranges = NULL;
    w->tasks = NULL;
    w->n_ids = w->at = w->n_ranges = w->range = w->given = 0;
    w->ref = (struct job_ref){ 0 };
    w->phase = WALK_NEW;
}

void jobwalk_done(struct jobwalk *w)
{
    end_text(w);
    *w = (struct jobwalk){ 0 };
}

/* ---- reading a text -------------------------------------------------------------------------- */

static bool take_u32(const char **p, uint32_t *ret)
{
    char *end;
    unsigned long v;

    if (!isdigit((unsigned char)**p))
        return false;
    v = strtoul(*p, &end, 10);
    if (v >= UINT32_MAX)
        return false;
    *p = end;
    *ret = (uint32_t)v;
    return true;
}

/* The step part behind the dot. */
static bool parse_step(const char *text, uint32_t *ret)
{
    const char *p = text;

    if (take_u32(&p, ret) && !*p)
        return true;
    return names_step_special_parse(text, ret) == 0;
}

static int keep_ids(struct jobwalk *w, const uint32_t *ids, size_t n)
{
    uint32_t *copy = malloc((n ? n : 1) * sizeof(*copy));

    if (!copy)
        return SLURM_ERROR;
    if (n)
        memcpy(copy, ids, n * sizeof(*copy));
    free(w->ids);
    w->ids = copy;
    w->n_ids = n;
    w->at = 0;
    budget_spend(&w->budget, n / 64);
    return 0;
}

static int keep_one(struct jobwalk *w, const struct job *j)
{
    if (!j)
        return ESLURM_INVALID_JOB_ID;
    w->phase = WALK_JOBS;
    return keep_ids(w, &j->rec->job_id, 1);
}

static int name_whole(struct jobwalk *w, uint32_t job_id)
{
    const uint32_t *ids;
    size_t n = cluster_array_jobs(w->cluster, job_id, &ids);

    if (!n)
        return keep_one(w, cluster_job(w->cluster, job_id));
    w->phase = WALK_JOBS;
    return keep_ids(w, ids, n);
}

/* "12+1"; "12+" is "12+0" */
static int name_component(struct jobwalk *w, uint32_t leader, const char *offset)
{
    const Pst__JobRecord name = { .has_het_job_id = 1,
                                  .het_job_id = leader,
                                  .het_count = UINT32_MAX };
    const struct job *j;
    uint32_t k = 0;

    if (*offset && (!take_u32(&offset, &k) || *offset))
        return ESLURM_INVALID_JOB_ID;
    j = cluster_job(w->cluster, leader);
    if (j && !het_is(j->rec))
        return k == 0 && w->plain == JOBWALK_PLAIN_REFUSED
                   ? ESLURM_NOT_HET_JOB
                   : keep_one(w, k == 0 && w->plain == JOBWALK_PLAIN_FIRST ? j : NULL);
    w->ref.component = true;
    return keep_one(w, het_component(w->cluster, &name, k));
}

/* One of "4", "1-3", "0-9:2" and what stands between them, at *p. */
static bool take_range(const char **p, struct walk_range *r)
{
    r->step = 1;
    if (!take_u32(p, &r->lo))
        return false;
    r->hi = r->lo;
    if (**p == '-') {
        (*p)++;
        if (!take_u32(p, &r->hi))
            return false;
        if (**p == ':') {
            (*p)++;
            if (!take_u32(p, &r->step))
                return false;
        }
    }
    return r->hi >= r->lo && r->hi <= TASK_MAX && r->step > 0;
}

static uint64_t range_count(const struct walk_range *r)
{
    return (uint64_t)(r->hi - r->lo) / r->step + 1;
}

/* Tasks "1-3,7" of an array. */
static int name_tasks(struct jobwalk *w, uint32_t array, const char *text)
{
    const uint32_t *ids;
    size_t n = cluster_array_jobs(w->cluster, array, &ids);
    uint64_t named = 0;
    const char *p = text;
    uint32_t throttle;

    w->ranges = calloc(strlen(text) / 2 + 1, sizeof(*w->ranges));
    if (!w->ranges)
        return SLURM_ERROR;
    for (;;) {
        if (!take_range(&p, &w->ranges[w->n_ranges]))
            return ESLURM_INVALID_JOB_ID;
        named += range_count(&w->ranges[w->n_ranges++]);
        if (*p != ',')
            break;
        p++;
    }
    if (*p == '%') {
        p++;
        if (!take_u32(&p, &throttle))
            return ESLURM_INVALID_JOB_ID;
    }
    if (*p)
        return ESLURM_INVALID_JOB_ID;
    w->array = array;
    w->task = w->ranges[0].lo;
    w->phase = WALK_TASKS;
    return named <= n ? 0 : keep_ids(w, ids, n);
}

/* What the text names.  0 or an ESLURM code. */
static int read_text(struct jobwalk *w)
{
    char text[ID_TEXT_MAX], *dot, *bracket;
    const char *p = text;
    uint32_t job_id;

    if (strlen(w->id) >= sizeof(text))
        return ESLURM_INVALID_JOB_ID;
    memcpy(text, w->id, strlen(w->id) + 1);
    dot = strchr(text, '.');
    if (dot) {
        *dot = '\0';
        w->ref.has_step = true;
        if (!parse_step(dot + 1, &w->ref.step))
            return ESLURM_INVALID_JOB_ID;
    }
    if (sluid_parse(text))
        return keep_one(w, cluster_job_by_sluid(w->cluster, sluid_parse(text)));
    if (!take_u32(&p, &job_id) || !job_id)
        return ESLURM_INVALID_JOB_ID;
    if (!*p || strcmp(p, "_*") == 0)
        return name_whole(w, job_id);
    if (*p == '+')
        return name_component(w, job_id, p + 1);
    if (*p++ != '_')
        return ESLURM_INVALID_JOB_ID;
    if (*p == '[') {
        p++;
        bracket = strchr(p, ']');
        if (!bracket || bracket[1])
            return ESLURM_INVALID_JOB_ID;
        *bracket = '\0';
    }
    return name_tasks(w, job_id, p);
}

/* ---- walking --------------------------------------------------------------------------------- */

static bool wants_task(const struct jobwalk *w, uint32_t task)
{
    for (size_t i = 0; i < w->n_ranges; i++) {
        const struct walk_range *r = &w->ranges[i];

        if (task >= r->lo && task <= r->hi && (task - r->lo) % r->step == 0)
            return true;
    }
    return false;
}

/* The next id to look at: of the list, or by the number of a task.  False at the end. */
static bool next_id(struct jobwalk *w, uint32_t *ret)
{
    const struct job *j;

    budget_spend(&w->budget, 1);
    if (w->ids) {
        if (w->at >= w->n_ids)
            return false;
        *ret = w->ids[w->at++];
        return true;
    }
    while (w->range < w->n_ranges && w->task > w->ranges[w->range].hi)
        if (++w->range < w->n_ranges)
            w->task = w->ranges[w->range].lo;
    if (w->range >= w->n_ranges)
        return false;
    j = cluster_array_task(w->cluster, w->array, (uint32_t)w->task);
    w->task += w->ranges[w->range].step;
    *ret = j && j->rec->has_array_task_id ? j->rec->job_id : 0;
    return true;
}

/* Those of `held` that are wanted, as array_parse() reads them; NULL: none.  Numbers end where
 * `held` ends. */
static char *wanted_of(struct jobwalk *w, const char *held)
{
    _cleanup_val_(strbuf_done) struct strbuf sb = STRBUF_INIT;
    _cleanup_free_ char *want = NULL;
    uint32_t first, last, step, throttle, count;
    char *both = NULL;

    array_bounds(held, &first, &last, &step);
    for (size_t i = 0; i < w->n_ranges; i++) {
        struct walk_range r = w->ranges[i];

        r.hi = MIN(r.hi, last);
        if (r.lo > r.hi)
            continue;
        budget_spend(&w->budget, range_count(&r) / 8);
        strbuf_addf(&sb, "%s%u-%u:%u", sb.len ? "," : "", r.lo, r.hi, r.step);
    }
    budget_spend(&w->budget, last / 32 + array_count(held) / 8);
    if (!sb.len || array_parse(strbuf_str(&sb), last, &want, &throttle, &count, NULL) < 0 ||
        array_and(held, want, &both) < 0)
        return NULL;
    return both;
}

/* Then the records that still hold tasks: one call for all tasks of a record. */
static void start_parts(struct jobwalk *w)
{
    const uint32_t *ids;
    size_t n = cluster_array_parts(w->cluster, w->array, &ids);

    w->phase = WALK_PARTS;
    if (keep_ids(w, ids, n) != 0)
        w->n_ids = w->at = 0;
    else if (n > 1)
        qsort(w->ids, n, sizeof(*w->ids), order_u32);
}

static bool give_part(struct jobwalk *w, struct job *j, struct job_ref *ret)
{
    free(w->tasks);
    w->tasks = job_is_array(j->rec) ? wanted_of(w, j->rec->array_tasks) : NULL;
    ret->tasks = w->tasks;
    return w->tasks;
}

/* The next job of the text at hand; false: it is at its end, or the turn is spent. */
static bool step_text(struct jobwalk *w, struct job_ref *ret)
{
    while (w->phase != WALK_END && !budget_turn_over(&w->budget)) {
        struct job *j;
        uint32_t id;

        if (!next_id(w, &id)) {
            if (w->phase == WALK_TASKS)
                start_parts(w);
            else
                w->phase = WALK_END;
            continue;
        }
        j = id ? cluster_job(w->cluster, id) : NULL;
        *ret = w->ref;
        ret->job = j;
        if (!j || (w->phase == WALK_PARTS && !give_part(w, j, ret)) ||
            (w->phase == WALK_TASKS &&
             !(j->rec->has_array_task_id && wants_task(w, j->rec->array_task_id))))
            continue;
        w->given++;
        w->jobs++;
        return true;
    }
    return false;
}

/* The text to walk next; false: there is none, or none that can be walked. */
static bool next_text(struct jobwalk *w)
{
    end_text(w);
    while (w->next < w->n) {
        const char *text = w->texts[w->next++];

        budget_spend(&w->budget, 2);
        w->id = text;
        w->code = read_text(w);
        if (w->code != 0)
            w->phase = WALK_END;
        return true;
    }
    w->id = NULL;
    return false;
}

enum jobwalk_event jobwalk_next(struct jobwalk *w, struct job_ref *ret)
{
    for (;;) {
        if (budget_over(&w->budget) || w->jobs > JOBWALK_JOBS_MAX)
            return JOBWALK_REFUSED;
        if (budget_turn_over(&w->budget))
            return JOBWALK_PAUSE;
        if (w->phase == WALK_NEW) {
            if (!next_text(w))
                return JOBWALK_END;
        }
        if (step_text(w, ret))
            return JOBWALK_JOB;
        if (w->phase == WALK_END) {
            bool none = w->given == 0;

            w->phase = WALK_NEW;
            if (!w->code)
                w->code = ESLURM_INVALID_JOB_ID;
            w->jobs += none; /* it is a result, too */
            if (none)
                return JOBWALK_NONE;
        }
    }
}

char *job_ref_tasks(const struct job_ref *ref)
{
    const Pst__JobRecord *r = ref->job->rec;
    char *text = NULL;

    if (!r->has_array_job_id)
        return NULL;
    if (ref->tasks || r->array_tasks)
        return strdup(ref->tasks ? ref->tasks : r->array_tasks);
    return r->has_array_task_id && asprintf(&text, "%u", r->array_task_id) >= 0 ? text : NULL;
}

int jobs_find(struct ctld *ctld, const char *id, struct job_ref *ret)
{
    struct jobwalk w;
    char *text = (char *)id; /* only read */
    enum jobwalk_event e;
    int code;

    jobwalk_init(&w, ctld->cluster, &text, 1);
    while ((e = jobwalk_next(&w, ret)) == JOBWALK_PAUSE) /* one text: no longer than its array */
        budget_next_turn(&w.budget);
    ret->tasks = NULL;
    code = e == JOBWALK_JOB ? 0 : e == JOBWALK_NONE ? w.code : ESLURM_INVALID_JOB_ID;
    jobwalk_done(&w);
    return code;
}
