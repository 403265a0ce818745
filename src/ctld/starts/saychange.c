/* saychange.c - what a job could ask for instead; see saychange.h */
#include "ctld/starts/saychange.h"

#include <string.h>

#include "base/cleanup.h"

/* The n-th word of a list between any of `seps`; NULL when there are fewer (*left: how many
 * fewer). */
static char *nth_word(struct explain_made *m, const char *list, const char *seps, uint32_t n,
                      uint32_t *left)
{
    uint32_t i = 0;

    for (const char *p = list; p && *p; i++) {
        size_t len = strcspn(p, seps);

        if (i == n)
            return made_text(m, "%.*s", (int)len, p);
        p += len + (p[len] != '\0');
    }
    *left = n - i;
    return NULL;
}

/* The request for devices by its number: as fed to the scheduler, scope after scope. */
static char *gres_word(struct explain_made *m, const Pst__JobRecord *r, uint32_t n)
{
    const char *lists[] = { r->tres_per_node, r->tres_per_job, r->tres_per_task };
    char *word = NULL;

    for (size_t i = 0; !word && i < ARRAY_SIZE(lists); i++)
        word = nth_word(m, lists[i], ",", n, &n);
    return word && strncmp(word, "gres/", 5) == 0 ? word + 5 : word;
}

/* The option as it would be written, and what it is. */
static char *option_of(struct explain_made *m, const struct explain_change *c,
                       const char **ret_what)
{
    const Pst__JobRecord *r = m->t->job->rec;
    unsigned long long v = c->value;
    uint32_t left = 0;
    char *word;

    switch (c->kind) {
    case CHANGE_TIME:
        *ret_what = made_text(m, "a time limit of %llu minute%s", v, v == 1 ? "" : "s");
        return made_text(m, "--time=%llu", v);
    case CHANGE_NODES:
        *ret_what = made_text(m, "%llu node%s instead of %u", v, v == 1 ? "" : "s", r->min_nodes);
        return made_text(m, "--nodes=%llu", v);
    case CHANGE_TASKS:
        *ret_what = made_text(m, "%llu task%s instead of %u", v, v == 1 ? "" : "s", r->num_tasks);
        return made_text(m, "--ntasks=%llu", v);
    case CHANGE_CPUS:
        *ret_what = made_text(m, "%llu CPU%s for each task instead of %u", v, v == 1 ? "" : "s",
                              r->cpus_per_task);
        return made_text(m, "--cpus-per-task=%llu", v);
    case CHANGE_MEM_NODE:
        *ret_what = made_text(m, "%lluM of memory on each node", v);
        return made_text(m, "--mem=%lluM", v);
    case CHANGE_MEM_CPU:
        *ret_what = made_text(m, "%lluM of memory for each CPU", v);
        return made_text(m, "--mem-per-cpu=%lluM", v);
    case CHANGE_GRES:
        word = gres_word(m, r, c->index);
        *ret_what = v ? made_text(m, "%llu instead of %s", v, word) : made_text(m, "no %s", word);
        return made_text(m, "%s", v ? "fewer GRES" : "less GRES");
    case CHANGE_FEATURES:
        word = c->index == UINT32_MAX ? NULL : nth_word(m, r->features, "&,", c->index, &left);
        *ret_what =
            word ? made_text(m, "feature %s not asked for", word) : "no constraint on features";
        return made_text(m, word ? "--constraint without it" : "no --constraint");
    case CHANGE_NODELIST:
        *ret_what = "no nodes asked for by name";
        return made_text(m, "no --nodelist");
    case CHANGE_EXCLUDE:
        *ret_what = "no nodes excluded";
        return made_text(m, "no --exclude");
    case CHANGE_EXCLUSIVE:
        *ret_what = "nodes that it shares with others";
        return made_text(m, "no --exclusive");
    case CHANGE_CONTIGUOUS:
        *ret_what = "nodes that need not be adjacent";
        return made_text(m, "no --contiguous");
    case CHANGE_PARTITION:
        *ret_what = made_text(m, "partition %s", c->text);
        return made_text(m, "--partition=%s", c->text);
    }
    return NULL;
}

void say_change(struct explain_made *m, const struct explain_change *c)
{
    Pst__ExplainChange *out = made_piece(m, sizeof(*out));
    const char *what = "";

    if (!out)
        return;
    pst__explain_change__init(out);
    out->option = option_of(m, c, &what);
    out->sentence = made_text(
        m, "With %s it would start now%s%s (%s).", what, c->before_job ? ", before job " : "",
        c->before_job ? made_job_name(m, c->before_job) : "", out->option ? out->option : "");
    made_push(m, (void ***)&m->reply.changes, &m->reply.n_changes, out);
    made_say(m, out->sentence);
}
