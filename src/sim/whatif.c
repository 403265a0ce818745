/* whatif.c - see whatif.h
 *
 * Both worlds list their jobs by id and task, so that a walk over the two side by side pairs them.
 */
#include "sim/whatif.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hostlist.h"
#include "base/timefmt.h"
#include "sim/report.h"

enum fate { F_SAME, F_EARLIER, F_LATER, F_NOW_STARTS, F_NEVER_NOW, F_NEW, F_GONE, FATES };

static const char *const fates[] = {
    [F_SAME] = "same",         [F_EARLIER] = "earlier", [F_LATER] = "later",
    [F_NOW_STARTS] = "starts", [F_NEVER_NOW] = "never", [F_NEW] = "new",
    [F_GONE] = "gone"
};

struct side { /* one job in one world */
    const struct world *w;
    const struct sim_result *r;
    size_t i;
    const struct sim_outcome *o; /* NULL: it is not there */
};

struct pair {
    struct side b, a; /* without a change both are the same */
    enum fate fate;
    double delta_s;
};

struct walk {
    const struct whatif *wi;
    size_t ib, ia;
};

static bool side_waits(const struct side *s)
{
    return s->o && !s->o->there;
}

static bool side_starts(const struct side *s)
{
    return s->o && s->o->start_us;
}

/* What runs has its start behind it: a change can only make it wait from now on. */
static int64_t start_of(const struct whatif *wi, const struct side *s)
{
    return MAX(s->o->start_us, wi->now_us);
}

static enum fate fate_of(const struct whatif *wi, struct pair *p)
{
    if (!p->b.o || !p->a.o)
        return p->b.o ? F_GONE : F_NEW;
    if (side_starts(&p->b) != side_starts(&p->a))
        return side_starts(&p->a) ? F_NOW_STARTS : F_NEVER_NOW;
    p->delta_s = (double)(start_of(wi, &p->a) - start_of(wi, &p->b)) / USEC_PER_SEC;
    if (start_of(wi, &p->a) == start_of(wi, &p->b))
        return F_SAME;
    return p->delta_s < 0 ? F_EARLIER : F_LATER;
}

/* <0: the job at ib comes first. */
static int order_jobs(const struct world *b, size_t ib, const struct world *a, size_t ia)
{
    const struct world_job *x, *y;

    if (ib >= b->w->n || ia >= a->w->n)
        return ib < b->w->n ? -1 : 1;
    x = &b->jobs[ib];
    y = &a->jobs[ia];
    if (x->rec->job_id != y->rec->job_id)
        return x->rec->job_id < y->rec->job_id ? -1 : 1;
    return (x->task_id > y->task_id) - (x->task_id < y->task_id);
}

static void put_side(struct side *s, const struct world *w, const struct sim_result *r, size_t i)
{
    *s = (struct side){ .w = w, .r = r, .i = i, .o = &r->jobs[i] };
}

/* Jobs that wait in either world, one after the other. */
static bool next_pair(struct walk *k, struct pair *p)
{
    const struct whatif *wi = k->wi;
    const struct world *b = wi->before, *a = wi->after ? wi->after : b;
    const struct sim_result *ra = wi->after ? wi->ra : wi->rb;

    while (k->ib < b->w->n || k->ia < a->w->n) {
        int c = order_jobs(b, k->ib, a, k->ia);

        *p = (struct pair){ .fate = F_SAME };
        if (c <= 0)
            put_side(&p->b, b, wi->rb, k->ib++);
        if (c >= 0)
            put_side(&p->a, a, ra, k->ia++);
        p->fate = fate_of(wi, p);
        if (side_waits(&p->b) || side_waits(&p->a))
            return true;
    }
    return false;
}

static const struct side *either_side(const struct pair *p)
{
    return p->a.o ? &p->a : &p->b;
}

static bool is_named(const struct side *s, const char *name)
{
    const Pst__JobRecord *r = s->w->jobs[s->i].rec;
    char text[32];

    if (strcmp(world_name(s->w, s->i, text, sizeof(text)), name) == 0)
        return true;
    (void)snprintf(text, sizeof(text), "%u", r->has_array_job_id ? r->array_job_id : r->job_id);
    return strcmp(text, name) == 0;
}

static bool is_chosen(const struct whatif *wi, const struct side *s)
{
    for (size_t i = 0; i < wi->njobs; i++)
        if (is_named(s, wi->jobs[i]))
            return true;
    return wi->njobs == 0;
}

bool whatif_knows(const struct whatif *wi, const char *name)
{
    struct side s;

    for (size_t i = 0; i < wi->before->w->n; i++) {
        put_side(&s, wi->before, wi->rb, i);
        if (is_named(&s, name))
            return true;
    }
    return false;
}

/* "n[1-3]"; the caller frees, NULL without memory or nodes. */
static char *nodes_of(const struct side *s)
{
    const char **names = NULL;
    char *text = NULL;
    size_t n = 0;

    if (!side_starts(s) || !(names = calloc(s->o->nnodes + 1, sizeof(*names))))
        return NULL;
    for (uint32_t k = 0; k < s->o->nspans; k++) {
        const struct sim_span *span = &s->r->spans[s->o->span + k];

        for (uint32_t i = span->first; i <= span->last && n < s->o->nnodes; i++)
            names[n++] = s->w->machine.nodes[i].name;
    }
    if (n == 0 || hostlist_fold_names(names, n, &text) < 0)
        text = NULL;
    free(names);
    return text;
}

/* Why there is no start. */
static const char *no_start(const struct side *s)
{
    if (!s->o)
        return "-";
    switch (s->w->jobs[s->i].state) {
    case WORLD_HELD:
        return "held";
    case WORLD_BLOCKED:
        return "dependency";
    default:
        return s->w->w->jobs[s->i].held ? "held" : "never";
    }
}

/* ---- sums ------------------------------------------------------------------------------------ */

struct sums {
    size_t n[FATES];
    double gain_s, loss_s; /* of those that start in both worlds */
};

static void sum_fates(const struct whatif *wi, struct sums *ret)
{
    struct walk k = { .wi = wi };
    struct pair p;

    *ret = (struct sums){ 0 };
    while (next_pair(&k, &p)) {
        ret->n[p.fate]++;
        if (p.fate == F_EARLIER)
            ret->gain_s -= p.delta_s;
        if (p.fate == F_LATER)
            ret->loss_s += p.delta_s;
    }
}

struct user_row {
    const char *name;
    size_t earlier, later, lost;
    double delta_s;
};

static int by_delta(const void *a, const void *b)
{
    const struct user_row *x = a, *y = b;

    if (x->delta_s != y->delta_s)
        return x->delta_s < y->delta_s ? -1 : 1;
    return strcmp(x->name, y->name);
}

/* Row of a user, made when new; NULL without memory. */
static struct user_row *user_row(struct strtab *names, struct user_row **rows, size_t *cap,
                                 const char *user)
{
    uint32_t before = names->n, i;

    if (name_index(names, user, strlen(user), &i) < 0)
        return NULL;
    if (names->n > before) {
        if (names->n > *cap) {
            struct user_row *grown = realloc(*rows, (size_t)names->n * 2 * sizeof(*grown));

            if (!grown)
                return NULL;
            *rows = grown;
            *cap = (size_t)names->n * 2;
        }
        (*rows)[i] = (struct user_row){ .name = user };
    }
    return &(*rows)[i];
}

/* Who gains and who loses; the caller frees.  Nobody without memory. */
static struct user_row *users_of(const struct whatif *wi, size_t *ret_n)
{
    struct strtab names = { 0 };
    struct user_row *rows = NULL;
    struct walk k = { .wi = wi };
    struct pair p;
    size_t cap = 0;

    while (next_pair(&k, &p)) {
        const struct side *s = either_side(&p);
        const char *user = s->w->jobs[s->i].rec->user_name;
        struct user_row *u;

        if (p.fate == F_SAME || p.fate == F_NEW)
            continue;
        u = user_row(&names, &rows, &cap, user ? user : "?");
        if (!u)
            break;
        u->earlier += p.fate == F_EARLIER || p.fate == F_NOW_STARTS;
        u->later += p.fate == F_LATER;
        u->lost += p.fate == F_NEVER_NOW;
        u->delta_s += p.delta_s;
    }
    *ret_n = rows ? names.n : 0;
    strtab_done(&names);
    if (*ret_n > 1)
        qsort(rows, *ret_n, sizeof(*rows), by_delta);
    return rows;
}

/* ---- text ------------------------------------------------------------------------------------ */

static void format_start(const struct whatif *wi, const struct side *s, char *buf, size_t size)
{
    if (!side_starts(s))
        (void)snprintf(buf, size, "%s", no_start(s));
    else if (s->o->there)
        (void)snprintf(buf, size, "running");
    else if (s->o->start_us <= wi->now_us)
        (void)snprintf(buf, size, "now");
    else
        time_fmt_stamp(s->o->start_us, "-", wi->now_us, buf, size);
}

static void delta_text(const struct pair *p, char *buf, size_t size)
{
    char span[32];

    if (p->fate != F_EARLIER && p->fate != F_LATER) {
        (void)snprintf(buf, size, "%s", fates[p->fate]);
        return;
    }
    report_time(p->delta_s < 0 ? -p->delta_s : p->delta_s, span, sizeof(span));
    (void)snprintf(buf, size, "%c%s", p->delta_s < 0 ? '-' : '+', span);
}

static void text_row(const struct whatif *wi, const struct pair *p, struct strbuf *out)
{
    const struct side *s = either_side(p);
    const Pst__JobRecord *r = s->w->jobs[s->i].rec;
    char name[32], before[32], after[32], delta[40];
    _cleanup_free_ char *nodes = nodes_of(s);

    (void)world_name(s->w, s->i, name, sizeof(name));
    format_start(wi, &p->b, before, sizeof(before));
    format_start(wi, &p->a, after, sizeof(after));
    delta_text(p, delta, sizeof(delta));
    strbuf_addf(out, "%14s %-10.10s %-10.10s %-10.10s %19s", name,
                r->partition ? r->partition : "-", r->user_name ? r->user_name : "-",
                r->name ? r->name : "-", wi->after ? before : after);
    if (wi->after)
        strbuf_addf(out, " %19s %13s", after, delta);
    strbuf_addf(out, " %s\n", nodes ? nodes : "-");
}

static void text_sums(const struct whatif *wi, struct strbuf *out)
{
    char gain[32], loss[32];
    struct sums s;

    sum_fates(wi, &s);
    report_time(s.gain_s, gain, sizeof(gain));
    report_time(s.loss_s, loss, sizeof(loss));
    strbuf_addf(out,
                "\n%zu start earlier (%s in all), %zu later (%s in all), %zu as before; %zu start "
                "that would not, "
                "%zu do not start that would\n",
                s.n[F_EARLIER], gain, s.n[F_LATER], loss, s.n[F_SAME], s.n[F_NOW_STARTS],
                s.n[F_NEVER_NOW]);
}

static void text_users(const struct whatif *wi, struct strbuf *out)
{
    size_t n = 0;
    _cleanup_free_ struct user_row *rows = users_of(wi, &n);

    if (n)
        strbuf_addf(out, "\n%-16s %8s %8s %8s %14s\n", "USER", "EARLIER", "LATER", "NEVER", "WAIT");
    for (size_t i = 0; i < n; i++) {
        char span[32];

        report_time(rows[i].delta_s < 0 ? -rows[i].delta_s : rows[i].delta_s, span, sizeof(span));
        strbuf_addf(out, "%-16s %8zu %8zu %8zu %c%13s\n", rows[i].name, rows[i].earlier,
                    rows[i].later, rows[i].lost, rows[i].delta_s < 0 ? '-' : '+', span);
    }
}

void whatif_text(const struct whatif *wi, struct strbuf *out)
{
    struct walk k = { .wi = wi };
    struct pair p;
    size_t shown = 0;

    for (size_t i = 0; i < wi->nchanges; i++)
        strbuf_addf(out, "%s%s", i ? ", " : "with ", wi->changes[i]);
    if (wi->nchanges)
        strbuf_add(out, ":\n");
    strbuf_addf(out, "%14s %-10s %-10s %-10s %19s", "JOBID", "PARTITION", "USER", "NAME",
                wi->after ? "BEFORE" : "START");
    if (wi->after)
        strbuf_addf(out, " %19s %13s", "AFTER", "CHANGE");
    strbuf_add(out, " NODES\n");
    while (next_pair(&k, &p)) {
        if (!is_chosen(wi, either_side(&p)) ||
            (wi->after && p.fate == F_SAME && !wi->all && !wi->njobs))
            continue;
        text_row(wi, &p, out);
        shown++;
    }
    if (!shown)
        strbuf_add(out,
                   wi->after ? "(no waiting job starts at another time)\n" : "(no job waits)\n");
    if (wi->after && !wi->njobs) {
        text_sums(wi, out);
        text_users(wi, out);
    }
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void json_side(const struct side *s, const char *name, struct strbuf *out)
{
    _cleanup_free_ char *nodes = nodes_of(s);

    strbuf_addf(out, ",\"%s\":", name);
    if (!s->o) {
        strbuf_add(out, "null");
        return;
    }
    strbuf_addf(out, "{\"state\":\"%s\",\"start\":",
                !side_starts(s) ? no_start(s)
                : s->o->there   ? "running"
                                : "starts");
    if (side_starts(s))
        strbuf_addf(out, "%lld", (long long)(s->o->start_us / USEC_PER_SEC));
    else
        strbuf_add(out, "null");
    strbuf_addf(out, ",\"cpus\":%u,\"nodes\":", s->o->cpus);
    report_json_string(out, nodes ? nodes : "");
    strbuf_addc(out, '}');
}

static void json_job(const struct whatif *wi, const struct pair *p, struct strbuf *out)
{
    const struct side *s = either_side(p);
    const Pst__JobRecord *r = s->w->jobs[s->i].rec;
    char name[32];

    strbuf_add(out, "{\"job\":");
    report_json_string(out, world_name(s->w, s->i, name, sizeof(name)));
    strbuf_add(out, ",\"user\":");
    report_json_string(out, r->user_name ? r->user_name : "");
    strbuf_add(out, ",\"partition\":");
    report_json_string(out, r->partition ? r->partition : "");
    strbuf_add(out, ",\"name\":");
    report_json_string(out, r->name ? r->name : "");
    if (wi->after) {
        json_side(&p->b, "before", out);
        json_side(&p->a, "after", out);
        strbuf_addf(out, ",\"fate\":\"%s\",\"change_s\":%.0f", fates[p->fate], p->delta_s);
    } else {
        json_side(&p->a, "start", out);
    }
    strbuf_addc(out, '}');
}

static void json_sums(const struct whatif *wi, struct strbuf *out)
{
    size_t n = 0;
    _cleanup_free_ struct user_row *rows = users_of(wi, &n);
    struct sums s;

    sum_fates(wi, &s);
    strbuf_add(out, ",\"summary\":{");
    for (size_t i = 0; i < FATES; i++)
        strbuf_addf(out, "%s\"%s\":%zu", i ? "," : "", fates[i], s.n[i]);
    strbuf_addf(out, ",\"gained_s\":%.0f,\"lost_s\":%.0f},\"users\":[", s.gain_s, s.loss_s);
    for (size_t i = 0; i < n; i++) {
        strbuf_add(out, i ? ",{\"user\":" : "{\"user\":");
        report_json_string(out, rows[i].name);
        strbuf_addf(out, ",\"earlier\":%zu,\"later\":%zu,\"never\":%zu,\"change_s\":%.0f}",
                    rows[i].earlier, rows[i].later, rows[i].lost, rows[i].delta_s);
    }
    strbuf_addc(out, ']');
}

void whatif_json(const struct whatif *wi, struct strbuf *out)
{
    struct walk k = { .wi = wi };
    struct pair p;
    size_t n = 0;

    strbuf_add(out, "{\"cluster\":");
    report_json_string(out, wi->cluster);
    strbuf_addf(out, ",\"now\":%lld,\"run_percent\":%u,\"changes\":[",
                (long long)(wi->now_us / USEC_PER_SEC), wi->run_percent);
    for (size_t i = 0; i < wi->nchanges; i++) {
        if (i)
            strbuf_addc(out, ',');
        report_json_string(out, wi->changes[i]);
    }
    strbuf_add(out, "],\"jobs\":[");
    while (next_pair(&k, &p)) {
        if (!is_chosen(wi, either_side(&p)))
            continue;
        if (n++)
            strbuf_addc(out, ',');
        json_job(wi, &p, out);
    }
    strbuf_addc(out, ']');
    if (wi->after)
        json_sums(wi, out);
    strbuf_add(out, "}\n");
}
