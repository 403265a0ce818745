/* hetopts.c - options of several components; see hetopts.h. */
#include "cli/job/gresopts.h"
#include "cli/job/hetopts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/timefmt.h"
#include "cli/base/cli.h"

extern char **environ;

static const enum jobopt carried[] = {
    JO_ACCOUNT,
    JO_ACCTG_FREQ,
    JO_BEGIN,
    JO_CHDIR,
    JO_CLUSTERS,
    JO_COMMENT,
    JO_DEADLINE,
    JO_DEPENDENCY,
    JO_DISTRIBUTION,
    JO_ERROR,
    JO_EXPORT,
    JO_EXPORT_FILE,
    JO_EXCLUDE,
    JO_GET_USER_ENV,
    JO_GID,
    JO_HOLD,
    JO_IGNORE_PBS,
    JO_IMMEDIATE,
    JO_INPUT,
    JO_JOB_NAME,
    JO_MCS_LABEL,
    JO_NICE,
    JO_NO_KILL,
    JO_OUTPUT,
    JO_PARSABLE,
    JO_PRIORITY,
    JO_PROFILE,
    JO_PROPAGATE,
    JO_QOS,
    JO_QUIET,
    JO_REBOOT,
    JO_RESERVATION,
    JO_SIGNAL,
    JO_TIME,
    JO_TIME_MIN,
    JO_UID,
    JO_WAIT_JOB,
    JO_WAIT_TASKS,
    JO_WAIT_ALL_NODES,
    JO_WCKEY,
    JO_TEST_ONLY,
    JO_LABEL,
    JO_PTY,
    JO_PROLOG,
    JO_EPILOG,
    JO_UNBUFFERED,
    JO_TASK_PROLOG,
    JO_TASK_EPILOG,
    JO_OPEN_MODE,
    JO_KILL_ON_BAD_EXIT,
    JO_JOBID,
    JO_MSG_TIMEOUT,
    JO_DISABLE_STATUS,
    JO_VERBOSE,
};

void hetopts_init(struct hetopts *h, enum jobopts_cmd cmd)
{
    *h = (struct hetopts){ .cmd = cmd };
    (void)hetopts_at(h, 0); /* made */
}

/* One set of options on the command line counts for every component that a script names. */
static void spread_options(struct hetopts *h)
{
    const struct jobopts *from = &h->list[0];

    for (size_t k = 1; h->alone && k < h->n; k++) {
        struct jobopts *to = &h->list[k];

        for (enum jobopt id = 0; id < JO_MAX_; id++) {
            if (from->from[id] != 1 + OPT_FROM_ARGV)
                continue;
            jobopts_clear(to, id);
            to->value[id] = xstrdup_or_die(from->value[id]);
            to->from[id] = from->from[id];
        }
        to->verbose = to->verbose ? to->verbose : from->verbose;
    }
}

struct jobopts *hetopts_at(struct hetopts *h, size_t k)
{
    if (k >= HETOPTS_MAX)
        cli_die(CLI_EXIT_FAILED, "A heterogeneous job has at most %u components", HETOPTS_MAX);
    while (h->n <= k) {
        h->list = xrealloc_or_die(h->list, h->n + 1, sizeof(*h->list));
        jobopts_init(&h->list[h->n++], h->cmd);
    }
    return &h->list[k];
}

int hetopts_parse(struct hetopts *h, int argc, char **argv)
{
    struct opt_command cmd = jobopts_command_with(h->cmd, h->more);
    int base = 0;

    for (size_t k = 0;; k++) {
        base += opts_parse(&cmd, argc - base, argv + base, hetopts_at(h, k));
        h->alone = k == 0;
        if (base >= argc || strcmp(argv[base], ":") != 0)
            return base;
    }
}

static void carry_option(struct jobopts *to, const struct jobopts *from, enum jobopt id)
{
    if (jobopts_has(to, id) || !jobopts_has(from, id))
        return;
    to->value[id] = xstrdup_or_die(from->value[id]);
    to->from[id] = from->from[id];
}

void hetopts_dup(const struct jobopts *from, struct jobopts *ret)
{
    *ret = *from;
    for (size_t i = 0; i < JO_MAX_; i++)
        ret->value[i] = from->value[i] ? xstrdup_or_die(from->value[i]) : NULL;
}

void hetopts_carry(struct hetopts *h)
{
    for (size_t k = 1; k < h->n; k++) {
        struct jobopts *to = &h->list[k], *from = &h->list[k - 1];

        for (size_t i = 0; i < ARRAY_SIZE(carried); i++)
            carry_option(to, from, carried[i]);
        if (!jobopts_has(to, JO_REQUEUE) && !jobopts_has(to, JO_NO_REQUEUE)) {
            carry_option(to, from, JO_REQUEUE);
            carry_option(to, from, JO_NO_REQUEUE);
        }
        if (!jobopts_has(to, JO_MEM_PER_CPU) && !jobopts_has(to, JO_MEM_PER_GPU))
            carry_option(to, from, JO_MEM);
        to->verbose = to->verbose ? to->verbose : from->verbose;
    }
}

int hetopts_finish(struct hetopts *h)
{
    int status = 0;

    spread_options(h);
    for (size_t k = 0; k < h->n; k++)
        opts_env(jobopts_command(h->cmd), &h->list[k]);
    hetopts_carry(h);
    for (size_t k = 0; k < h->n && status == 0; k++)
        status = gresopts_check(&h->list[k]);
    return status;
}

/* ---- inside an allocation -------------------------------------------------------------------- */

uint32_t hetopts_env_size(void)
{
    const char *text = getenv("SLURM_HET_SIZE");
    uint64_t n;

    return text && parse_u64(text, 1, HETOPTS_MAX, &n) == 0 ? (uint32_t)n : 0;
}

/* Length of NAME in "NAME_HET_GROUP_3=value" with the number; 0 = another form. */
static size_t group_variable(const char *entry, uint32_t *ret_k)
{
    static const char mark[] = "_HET_GROUP_";
    size_t len = strcspn(entry, "=");
    const char *at = memmem(entry, len, mark, sizeof(mark) - 1);
    char number[16];
    uint64_t k;
    size_t digits = at ? len - (size_t)(at - entry) - (sizeof(mark) - 1) : 0;

    if (!at || at == entry || entry[len] != '=' || !digits || digits >= sizeof(number))
        return 0;
    memcpy(number, at + sizeof(mark) - 1, digits);
    number[digits] = '\0';
    if (parse_u64(number, 0, HETOPTS_MAX, &k) < 0)
        return 0;
    *ret_k = (uint32_t)k;
    return (size_t)(at - entry);
}

void hetopts_env_take(uint32_t k)
{
    size_t n = 0, count = 0;
    _cleanup_free_ char **copy = NULL;

    while (environ && environ[count])
        count++;
    copy = xmalloc_or_die((count + 1) * sizeof(*copy)); /* unsetenv() moves the pointers */
    for (uint32_t k2; n < count; n++) {
        size_t len = group_variable(environ[n], &k2);

        copy[n] = len ? environ[n] : NULL;
    }
    for (int set = 0; set < 2; set++) {
        for (size_t i = 0; i < count; i++) {
            uint32_t of;
            size_t len = copy[i] ? group_variable(copy[i], &of) : 0;
            _cleanup_free_ char *name = len ? xasprintf_or_die("%.*s", (int)len, copy[i]) : NULL;

            if (name && !set)
                (void)unsetenv(name); /* cannot fail: it has no "=" */
            else if (name && of == k && setenv(name, strchr(copy[i], '=') + 1, 1) < 0)
                cli_fatal(ERR_NOMEM);
        }
    }
}

int hetopts_group_each(const char *text, uint32_t max, void (*fn)(void *ctx, uint32_t k), void *ctx)
{
    const char *p = text;

    do {
        char *end;
        unsigned long first, last;

        if (*p < '0' || *p > '9')
            return -EINVAL;
        first = last = strtoul(p, &end, 10);
        if (*end == '-') {
            if (end[1] < '0' || end[1] > '9')
                return -EINVAL;
            last = strtoul(end + 1, &end, 10);
        }
        if (last >= max || first > last || (*end && *end != ','))
            return -EINVAL;
        for (; first <= last; first++)
            fn(ctx, (uint32_t)first);
        p = end;
    } while (*p++ == ',');
    return 0;
}
