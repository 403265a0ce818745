/* srun_bcast.c - srun --bcast: the program goes to the nodes before the tasks start; see srun.h
 *
 * Without a path each node gets a file of its own name, slurm_bcast_JOB.STEP_NODE in the working
 * directory, so that nodes which share a file system do not write over each other. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cli/bcast.h"
#include "cli/srun.h"
#include "cli/submit.h"

/* The file a command name means; NULL when there is none.  The caller frees. */
static char *find_program(const char *name)
{
    const char *path = getenv("PATH");

    if (strchr(name, '/'))
        return xstrdup_or_die(name);
    while (path && *path) {
        size_t len = strcspn(path, ":");
        char *file = xasprintf_or_die("%.*s/%s", len ? (int)len : 1, len ? path : ".", name);

        if (access(file, X_OK) == 0)
            return file;
        free(file);
        path += len + (path[len] == ':');
    }
    return NULL;
}

static void choose_target(struct srun *s)
{
    const char *arg = jobopts_get(&s->opts, JO_BCAST);
    _cleanup_free_ char *dir = submit_work_dir(&s->opts);
    size_t n = arg ? strlen(arg) : 0;
    bool folder = n == 0 || arg[n - 1] == '/';
    const char *slash = n > 0 && arg[0] == '/' ? "" : "/";

    if (folder)
        s->bcast_target = xasprintf_or_die("%s%s%sslurm_bcast_%u.%u", *slash ? dir : "", slash,
                                           n ? arg : "", s->job_id, s->step_id);
    else
        s->bcast_target = xasprintf_or_die("%s%s%s", *slash ? dir : "", slash, arg);
    s->bcast_suffix = folder;
}

int srun_bcast(struct srun *s)
{
    _cleanup_free_ char *source = find_program(s->argv[s->first]);
    const char *word = jobopts_get(&s->opts, JO_COMPRESS);
    char id[32];
    struct bcast b = { .cli = &s->cli, .source = source, .force = true };
    Pst__StepReply *granted;
    int status;

    if (!source) {
        cli_error("Can't open `%s`: %s", s->argv[s->first], strerror(ENOENT));
        return CLI_EXIT_FAILED;
    }
    bcast_defaults(&b);
    if (jobopts_has(&s->opts, JO_COMPRESS) &&
        bcast_compression(word && *word ? word : NULL, &b.lz4) < 0) {
        cli_error("--compress takes lz4 or none, not %s", word);
        return CLI_EXIT_FAILED;
    }
    choose_target(s);
    (void)snprintf(id, sizeof(id), "%u.%u", s->job_id, s->step_id); /* fits */
    granted = bcast_access(&s->cli, id);
    b.target = s->bcast_target;
    b.node_suffix = s->bcast_suffix;
    b.access = granted;
    status = bcast_send(&b);
    protobuf_c_message_free_unpacked(&granted->base, NULL);
    return status;
}

char *srun_bcast_path(const struct srun *s, const char *node)
{
    return s->bcast_suffix ? xasprintf_or_die("%s_%s", s->bcast_target, node)
                           : xstrdup_or_die(s->bcast_target);
}
