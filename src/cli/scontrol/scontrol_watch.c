/* scontrol_watch.c - scontrol watch: changes of jobs, nodes and partitions as they happen */
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "cli/scontrol/scontrol.h"
#include "cli/query/watchfollow.h"

/* A word cut to its first letters, singular or plural. */
static bool is_word(const char *given, const char *plural)
{
    size_t len = strlen(given);

    return len >= 1 && len <= strlen(plural) && strncasecmp(given, plural, len) == 0;
}

static void watch_one(struct watch_options *o, Pst__JobFilter *jobs, struct filter_ids *ids,
                      const char *name)
{
    struct err err = { .text = "" };

    if (o->entities == 1u << PST__WATCH_ENTITY__WATCH_JOB) {
        if (filter_parse_ids(name, ids, &err) < 0)
            cli_die(CLI_EXIT_FAILED, "%s", err.text);
        filter_ids_numbers(ids, &jobs->job_ids, &jobs->n_job_ids);
        o->ids = ids;
    } else if (o->entities == 1u << PST__WATCH_ENTITY__WATCH_NODE) {
        o->nodes = name;
    } else {
        argwords_add(&o->partitions, &o->n_partitions, name);
    }
}

void scontrol_watch(struct scontrol *s, int argc, char **argv)
{
    Pst__JobFilter jobs = PST__JOB_FILTER__INIT;
    struct filter_ids ids = { 0 };
    struct watch_options o = { .cli = &s->cli,
                               .entities = 1u << PST__WATCH_ENTITY__WATCH_JOB |
                                           1u << PST__WATCH_ENTITY__WATCH_NODE |
                                           1u << PST__WATCH_ENTITY__WATCH_PARTITION,
                               .jobs = &jobs,
                               .all_states = true,
                               .json = s->json.wanted,
                               .changes_only = s->changes_only,
                               .since = s->since };

    if (argc > 0 && is_word(argv[0], "jobs"))
        o.entities = 1u << PST__WATCH_ENTITY__WATCH_JOB;
    else if (argc > 0 && is_word(argv[0], "nodes"))
        o.entities = 1u << PST__WATCH_ENTITY__WATCH_NODE;
    else if (argc > 0 && is_word(argv[0], "partitions"))
        o.entities = 1u << PST__WATCH_ENTITY__WATCH_PARTITION;
    else if (argc > 0) {
        scontrol_fail(s, "invalid entity:%s for keyword:watch \njobs, nodes or partitions",
                      argv[0]);
        return;
    }
    if (argc > 2) {
        scontrol_missing(s, stderr, "too many arguments for keyword:watch");
        return;
    }
    if (argc == 2)
        watch_one(&o, &jobs, &ids, argv[1]);
    s->status = watch_follow(&o);
    filter_ids_done(&ids);
    filter_done(&jobs);
    argwords_free(o.partitions, o.n_partitions);
}
