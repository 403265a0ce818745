/* nssched.c - see nssched.h */
#include "kube/nodeset/nssched.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/hostlist.h"
#include "base/timefmt.h"
#include "kube/api/kubejson.h"
#include "kube/make/mkworkers.h"
#include "kube/make/opspec.h"

#define UPDATE "spec.updateStrategy.scheduledUpdate"
#define DURATION_S (30 * 60)
#define LOOK_S 10 /* while the nodes are in maintenance */

bool nssched_is_wanted(const json_t *nodeset)
{
    return strcmp(kubejson_text(nodeset, "spec.updateStrategy.type"), "ScheduledUpdate") == 0;
}

void nssched_name(const json_t *nodeset, char ret[static NSSCHED_NAME])
{
    (void)snprintf(ret, NSSCHED_NAME, "SlurmOperatorMaint-%.253s", kubejson_name(nodeset));
}

static int64_t start_of(const json_t *nodeset)
{
    int64_t us;

    return kubejson_read_stamp(kubejson_text(nodeset, UPDATE ".startTime"), &us) == 0
               ? us / USEC_PER_SEC
               : -1;
}

static int64_t duration_of(const json_t *nodeset)
{
    const char *text = kubejson_text(nodeset, UPDATE ".duration");

    return *text ? opspec_seconds(text) : DURATION_S;
}

static bool has_flag(const json_t *nodeset, const char *flag)
{
    size_t i;
    json_t *one;

    json_array_foreach(kubejson_at(nodeset, UPDATE ".flags"), i, one)
    {
        if (json_is_string(one) && strcasecmp(json_string_value(one), flag) == 0)
            return true;
    }
    return false;
}

/* Slurm moves its start from one time to the next. */
static bool is_recurring(const json_t *nodeset)
{
    static const char *const words[] = { "HOURLY", "DAILY", "WEEKLY", "WEEKDAY", "WEEKEND" };

    for (size_t i = 0; i < ARRAY_SIZE(words); i++)
        if (has_flag(nodeset, words[i]))
            return true;
    return false;
}

bool nssched_has_node(const json_t *nodeset, const json_t *node)
{
    char name[NSSCHED_NAME];

    nssched_name(nodeset, name);
    return kubejson_has_text(json_object_get(node, "state"), "MAINTENANCE") &&
           strcmp(kubejson_text(node, "reservation"), name) == 0;
}

int64_t nssched_wake_s(const json_t *nodeset, int64_t now_s)
{
    int64_t start = start_of(nodeset);

    if (start > now_s)
        return start - now_s;
    return is_recurring(nodeset) || now_s < start + duration_of(nodeset) ? LOOK_S : 0;
}

char *nssched_nodes(const struct nsview *v)
{
    _cleanup_(hostlist_free) struct hostlist *names = NULL;
    char *text = NULL;
    bool works = false;
    size_t i;
    json_t *pod;

    if (hostlist_new(&names) < 0)
        return NULL;
    json_array_foreach(v->pods, i, pod)
    {
        const char *name = mkworkers_slurm_name(pod);
        const json_t *node = json_object_get(v->slurm, name);
        const json_t *state = json_object_get(node, "state");

        if (!node || kubejson_is_deleted(pod))
            continue;
        works = works || kubejson_has_text(state, "IDLE") ||
                kubejson_has_text(state, "ALLOCATED") || kubejson_has_text(state, "MIXED");
        if (hostlist_push(names, name) < 0)
            return NULL;
    }
    hostlist_uniq(names);
    if (!works)
        return strdup("");
    return hostlist_fold(names, &text) < 0 ? NULL : text;
}

/* Are both lists the same nodes? */
static bool is_same_list(const char *a, const char *b)
{
    _cleanup_(hostlist_free) struct hostlist *x = NULL, *y = NULL;
    _cleanup_free_ char *one = NULL, *two = NULL;

    if (hostlist_parse(a, &x, NULL) < 0 || hostlist_parse(b, &y, NULL) < 0)
        return false;
    hostlist_uniq(x);
    hostlist_uniq(y);
    return hostlist_fold(x, &one) == 0 && hostlist_fold(y, &two) == 0 && strcmp(one, two) == 0;
}

enum nssched_act nssched_decide(const json_t *raw, bool wanted, const json_t *have,
                                const char *nodes, int64_t now_s)
{
    bool held = kubejson_has_finalizer(raw, NSSCHED_FINALIZER);
    int64_t start = start_of(raw), old = kubejson_int(have, "start_time.number", 0);
    bool ahead =
        start > now_s || (has_flag(raw, "FORCE_START") && now_s < start + duration_of(raw));

    if (!wanted)
        return have && held ? NSSCHED_DROP : held ? NSSCHED_LET_GO : NSSCHED_REST;
    if (!*nodes)
        return NSSCHED_REST;
    if (!have && !ahead)
        return NSSCHED_REST; /* it is over, and was not made in time */
    if (!held)
        return NSSCHED_HOLD;
    if (!have || (old != start && old > now_s && start > now_s && !is_recurring(raw)))
        return NSSCHED_MAKE;
    return is_same_list(kubejson_text(have, "node_list"), nodes) ? NSSCHED_REST : NSSCHED_NODES;
}

static json_t *make_flags(const json_t *nodeset)
{
    json_t *flags = json_pack("[s, s]", "MAINT", "IGNORE_JOBS"), *one;
    size_t i;

    json_array_foreach(kubejson_at(nodeset, UPDATE ".flags"), i, one)
    {
        char word[64];
        size_t n = 0;

        for (const char *p = json_string_value(one); p && *p && n + 1 < sizeof(word); p++)
            word[n++] = (char)toupper((unsigned char)*p);
        word[n] = '\0';
        if (n && !kubejson_has_text(flags, word))
            (void)json_array_append_new(flags, json_string(word)); /* or without it */
    }
    return flags;
}

static json_t *number_of(int64_t n)
{
    return json_pack("{s:b, s:b, s:I}", "set", 1, "infinite", 0, "number", (json_int_t)n);
}

json_t *nssched_body(enum nssched_act act, const json_t *nodeset, const char *nodes,
                     const char *user)
{
    char name[NSSCHED_NAME];

    nssched_name(nodeset, name);
    if (act == NSSCHED_NODES)
        return json_pack("{s:s, s:[s]}", "name", name, "node_list", nodes);
    return json_pack("{s:s, s:o, s:o, s:o, s:[s], s:[s]}", "name", name, "start_time",
                     number_of(start_of(nodeset)), "duration",
                     number_of((duration_of(nodeset) + 59) / 60), "flags", make_flags(nodeset),
                     "users", user, "node_list", nodes);
}
