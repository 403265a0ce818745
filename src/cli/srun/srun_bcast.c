/* srun_bcast.c - srun --bcast: the program, and its libraries, go to the nodes before the tasks
 * start; see srun.h
 *
 * Without a path each node gets a file of its own name, slurm_bcast_JOB.STEP_NODE in the working
 * directory, so that nodes which share a file system do not write over each other. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/process/findprog.h"
#include "cli/job/bcastsend.h"
#include "cli/srun/srun.h"
#include "cli/job/submit.h"

static void choose_target(struct srun *s)
{
    const char *arg = jobopts_get(&s->opts, JO_BCAST);
    _cleanup_free_ char *dir = submit_work_dir(&s->opts);
    size_t n = arg ? strlen(arg) : 0;
    bool folder = n == 0 || arg[n - 1] == '/';
    _cleanup_free_ char *file =
        folder ? xasprintf_or_die("%sslurm_bcast_%u.%u", n ? arg : "", s->job_id, s->step_id)
               : xstrdup_or_die(arg);

    s->bcast_target = bcast_target(&s->cli, dir, file);
    s->bcast_suffix = folder;
}

int srun_bcast_words(const struct jobopts *jo)
{
    const char *word = jobopts_get(jo, JO_COMPRESS), *libs = jobopts_get(jo, JO_SEND_LIBS);
    bool flag;

    if (word && *word && bcast_compression(word, &flag) < 0)
        cli_error("Compression type '%.200s' unknown, disabling compression support.", word);
    if (libs && *libs && bcast_libs_word(libs, &flag) < 0) {
        cli_error("Invalid --send-libs specification");
        return CLI_EXIT_USAGE;
    }
    return 0;
}

/* The options, over the configuration. */
static void choose_ways(struct srun *s, struct bcast *b)
{
    const char *word = jobopts_get(&s->opts, JO_COMPRESS),
               *libs = jobopts_get(&s->opts, JO_SEND_LIBS);

    bcast_defaults(b);
    b->exclude = jobopts_get(&s->opts, JO_BCAST_EXCLUDE);
    if (jobopts_has(&s->opts, JO_COMPRESS) &&
        bcast_compression(word && *word ? word : NULL, &b->lz4) < 0)
        b->lz4 = false; /* was told */
    if (jobopts_has(&s->opts, JO_SEND_LIBS))
        (void)bcast_libs_word(libs && *libs ? libs : NULL, &b->send_libs); /* was checked */
}

int srun_bcast(struct srun *s)
{
    const char *name = s->argv[s->first];
    _cleanup_free_ char *source = strchr(name, '/') ? xstrdup_or_die(name) : findprog(name);
    char id[32];
    struct bcast b = { .cli = &s->cli, .source = source, .force = true };
    Pst__StepReply *granted;
    int status;

    if (!source) {
        cli_error("Can't open `%s`: %s", name, strerror(ENOENT));
        return CLI_EXIT_FAILED;
    }
    choose_ways(s, &b);
    choose_target(s);
    (void)snprintf(id, sizeof(id), "%u.%u", s->job_id, s->step_id); /* fits */
    granted = bcast_access(&s->cli, id, NULL);
    b.target = s->bcast_target;
    b.node_suffix = s->bcast_suffix;
    b.access = granted;
    status = bcast_send(&b);
    s->bcast_libs = b.n_libs > 0;
    protobuf_c_message_free_unpacked(&granted->base, NULL);
    if (status != 0) {
        cli_print_fatal("Failed to broadcast '%.300s'. Step launch aborted.", source);
        return CLI_EXIT_FAILED;
    }
    return 0;
}

char *srun_bcast_path(const struct srun *s, const char *node)
{
    return s->bcast_suffix ? xasprintf_or_die("%s_%s", s->bcast_target, node)
                           : xstrdup_or_die(s->bcast_target);
}
