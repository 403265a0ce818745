/* jobenvlist.c - environments of jobs and tasks; see jobenvlist.h.
 *
 * Linear look-up: an environment has some hundred entries and a submission sets some dozen. */
#include "cli/job/jobenvlist.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/readfile.h"
#include "base/timefmt.h"
#include "base/wordlist.h"
#include "cli/base/cli.h"
#include "cli/job/gresopts.h"
#include "cli/job/jobopts.h"
#include "cli/job/jobtext.h"

#define EXPORT_FILE_MAX (4u << 20)

void envlist_done(struct envlist *env)
{
    for (size_t i = 0; i < env->n; i++)
        free(env->items[i]);
    free(env->items);
    *env = (struct envlist){ 0 };
}

static size_t find_entry(const struct envlist *env, const char *name, size_t len)
{
    size_t i;

    for (i = 0; i < env->n; i++) {
        if (strncmp(env->items[i], name, len) == 0 && env->items[i][len] == '=')
            break;
    }
    return i;
}

/* Take "NAME=value" without looking for an earlier one. */
static void push_take(struct envlist *env, char *item)
{
    if (env->n + 1 >= env->cap) {
        env->cap = env->cap ? env->cap * 2 : 128;
        env->items = xrealloc_or_die(env->items, env->cap, sizeof(char *));
    }
    env->items[env->n++] = item;
    env->items[env->n] = NULL;
}

static void put_take(struct envlist *env, char *item)
{
    size_t i = find_entry(env, item, strcspn(item, "="));

    if (i == env->n) {
        push_take(env, item);
        return;
    }
    free(env->items[i]);
    env->items[i] = item;
}

void envlist_set(struct envlist *env, const char *name, const char *value)
{
    put_take(env, xasprintf_or_die("%s=%s", name, value));
}

void envlist_setf(struct envlist *env, const char *name, const char *fmt, ...)
{
    char value[1024];
    va_list ap;

    va_start(ap, fmt);
    (void)vsnprintf(value, sizeof(value), fmt, ap); /* numbers and short words */
    va_end(ap);
    envlist_set(env, name, value);
}

void envlist_unset(struct envlist *env, const char *name)
{
    size_t i = find_entry(env, name, strlen(name));

    if (i == env->n)
        return;
    free(env->items[i]);
    env->items[i] = env->items[--env->n];
    env->items[env->n] = NULL;
}

const char *envlist_get(const struct envlist *env, const char *name)
{
    size_t len = strlen(name), i = find_entry(env, name, len);

    return i == env->n ? NULL : env->items[i] + len + 1;
}

/* ---- --export -------------------------------------------------------------------------------- */

static bool always_goes(const char *item)
{
    return strncmp(item, "SLURM_", 6) == 0 || strncmp(item, "SPANK_", 6) == 0;
}

static bool is_word(const char *spec, const char *word)
{
    return spec && strcasecmp(spec, word) == 0;
}

/* Length of the next element: up to a comma outside quotes. */
static size_t element_len(const char *p)
{
    char quote = '\0';
    size_t n;

    for (n = 0; p[n] && (quote || p[n] != ','); n++) {
        if (quote == p[n])
            quote = '\0';
        else if (!quote && (p[n] == '\'' || p[n] == '"'))
            quote = p[n];
    }
    return n;
}

static bool list_has_all(const char *spec)
{
    while (*spec) {
        size_t n = element_len(spec);

        if (n == 3 && strncasecmp(spec, "ALL", 3) == 0)
            return true;
        spec += n;
        spec += *spec == ',';
    }
    return false;
}

bool envlist_exports_all(const char *spec)
{
    return !spec || (!is_word(spec, "NONE") && !is_word(spec, "NIL") && list_has_all(spec));
}

bool envlist_wants_login(const char *spec)
{
    if (!spec || is_word(spec, "NIL"))
        return false;
    return is_word(spec, "NONE") || !list_has_all(spec);
}

/* NAME=value as it stands, quotes too, or NAME copied from envp. */
static void export_element(struct envlist *env, char *const *envp, const char *p, size_t len)
{
    const char *eq = memchr(p, '=', len);

    if (len == 0 || eq == p)
        return;
    if (eq) {
        put_take(env, xasprintf_or_die("%.*s", (int)len, p));
        return;
    }
    for (; *envp; envp++) {
        if (strncmp(*envp, p, len) == 0 && (*envp)[len] == '=')
            put_take(env, xstrdup_or_die(*envp));
    }
}

void envlist_export(struct envlist *env, char *const *envp, const char *spec)
{
    bool none = is_word(spec, "NONE") || is_word(spec, "NIL");
    bool all = envlist_exports_all(spec); /* "" names none */

    for (char *const *e = envp; *e; e++) {
        if ((all || always_goes(*e)) && strchr(*e, '='))
            push_take(env, xstrdup_or_die(*e));
    }
    while (spec && !none && *spec) {
        size_t n = element_len(spec);

        if (n != 3 || strncasecmp(spec, "ALL", 3) != 0)
            export_element(env, envp, spec, n);
        spec += n;
        spec += *spec == ',';
    }
}

int envlist_read_file(struct envlist *env, const char *file, struct err *err)
{
    _cleanup_close_ int opened = -1;
    _cleanup_free_ char *buf = NULL;
    size_t len = 0;
    uint64_t number;
    int fd, r;

    if (parse_u64(file, 0, INT32_MAX, &number) == 0)
        fd = (int)number;
    else
        fd = opened = open(file, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return err_set(err, CLI_EXIT_FAILED, "Could not open user environment file %.300s", file);
    r = readfile_fd(fd, EXPORT_FILE_MAX - 1, &buf, &len);
    check_mem_or_die(r == -ENOMEM ? r : 0);
    if (r < 0 && r != -EFBIG)
        return err_set(err, CLI_EXIT_FAILED, "Could not open user environment file %.300s", file);
    if (r == -EFBIG)
        return err_set(err, CLI_EXIT_FAILED, "The environment file %.300s is larger than 4 MiB",
                       file);
    for (size_t i = 0; i < len;) {
        size_t n = strlen(buf + i); /* a NUL stands behind the last byte */

        if (strchr(buf + i, '=') && buf[i] != '=')
            put_take(env, xstrdup_or_die(buf + i));
        i += n + 1;
    }
    return 0;
}

/* ---- options as variables -------------------------------------------------------------------- */

enum how { AS_TEXT, AS_ONE, AS_MIB, AS_PROFILE };

static const struct {
    enum jobopt id;
    const char *name;
    enum how how;
} variables[] = {
    { JO_ACCTG_FREQ, "SLURM_ACCTG_FREQ", AS_TEXT },
    { JO_CPU_FREQ, "SLURM_CPU_FREQ_REQ", AS_TEXT },
    { JO_CPUS_PER_GPU, "SLURM_CPUS_PER_GPU", AS_TEXT },
    { JO_EXPORT, "SLURM_EXPORT_ENV", AS_TEXT },
    { JO_GPU_FREQ, "SLURM_GPU_FREQ", AS_TEXT },
    { JO_GPUS, "SLURM_GPUS", AS_TEXT },
    { JO_GPUS_PER_NODE, "SLURM_GPUS_PER_NODE", AS_TEXT },
    { JO_GPUS_PER_SOCKET, "SLURM_GPUS_PER_SOCKET", AS_TEXT },
    { JO_HINT, "SLURM_HINT", AS_TEXT },
    { JO_MEM, "SLURM_MEM_PER_NODE", AS_MIB },
    { JO_MEM_PER_CPU, "SLURM_MEM_PER_CPU", AS_MIB },
    { JO_MEM_PER_GPU, "SLURM_MEM_PER_GPU", AS_MIB },
    { JO_NETWORK, "SLURM_NETWORK", AS_TEXT },
    { JO_NTASKS, "SLURM_NTASKS", AS_TEXT },
    { JO_NTASKS, "SLURM_NPROCS", AS_TEXT },
    { JO_NTASKS_PER_CORE, "SLURM_NTASKS_PER_CORE", AS_TEXT },
    { JO_NTASKS_PER_GPU, "SLURM_NTASKS_PER_GPU", AS_TEXT },
    { JO_NTASKS_PER_NODE, "SLURM_NTASKS_PER_NODE", AS_TEXT },
    { JO_NTASKS_PER_SOCKET, "SLURM_NTASKS_PER_SOCKET", AS_TEXT },
    { JO_OVERCOMMIT, "SLURM_OVERCOMMIT", AS_ONE },
    { JO_PROFILE, "SLURM_PROFILE", AS_PROFILE },
    { JO_SEGMENT, "SLURM_JOB_SEGMENT_SIZE", AS_TEXT },
    { JO_THREADS_PER_CORE, "SLURM_THREADS_PER_CORE", AS_TEXT },
};

static void add_variable(struct envlist *env, const char *name, const char *value, enum how how)
{
    _cleanup_free_ char *profile = NULL;
    uint64_t mib;

    switch (how) {
    case AS_TEXT:
        envlist_set(env, name, value);
        break;
    case AS_ONE:
        envlist_set(env, name, "1");
        break;
    case AS_PROFILE:
        profile = wordlist_profile(value);
        check_mem_or_die(profile ? 0 : -ENOMEM);
        envlist_set(env, name, profile);
        break;
    case AS_MIB:
        if (size_mib_parse(value, &mib, NULL) == 0)
            envlist_setf(env, name, "%llu", (unsigned long long)mib);
        break;
    }
}

static void add_distribution(struct envlist *env, const char *dist)
{
    size_t n = strcspn(dist, ",=");

    if (strncasecmp(dist, "plane=", 6) == 0) {
        envlist_set(env, "SLURM_DISTRIBUTION", "plane");
        envlist_setf(env, "SLURM_DIST_PLANESIZE", "%.*s", (int)strspn(dist + 6, "0123456789"),
                     dist + 6);
        return;
    }
    envlist_setf(env, "SLURM_DISTRIBUTION", "%.*s", (int)n, dist);
}

/* -c and --gpus-per-task are part of what a task gets. */
static void add_per_task(struct envlist *env, const struct jobopts *jo)
{
    _cleanup_free_ char *text = NULL, *bind = NULL;
    uint32_t cpus = 0;

    check_mem_or_die(gresopts_per_task(jo, &text, &cpus));
    if (cpus)
        envlist_setf(env, "SLURM_CPUS_PER_TASK", "%u", cpus);
    if (text && *text)
        envlist_set(env, "SLURM_TRES_PER_TASK", text);
    bind = gresopts_bind(jo);
    if (bind)
        envlist_set(env, "SLURM_TRES_BIND", bind);
}

void envlist_add_options(struct envlist *env, const struct jobopts *jo)
{
    for (size_t i = 0; i < ARRAY_SIZE(variables); i++) {
        const char *value = jobopts_get(jo, variables[i].id);

        /* srun's tasks are placed already: it is told to scripts alone */
        if (value && !(jo->cmd == JOBOPTS_SRUN && variables[i].id == JO_NTASKS_PER_GPU))
            add_variable(env, variables[i].name, value, variables[i].how);
    }
    if (jobopts_has(jo, JO_OOM_KILL_STEP))
        envlist_set(env, "SLURM_OOM_KILL_STEP", jobopts_true(jo, JO_OOM_KILL_STEP) ? "1" : "0");
    if (jobopts_has(jo, JO_RESV_PORTS)) /* for steps within; empty: as many as a node has tasks */
        envlist_set(env, "SLURM_RESV_PORTS",
                    jobopts_get(jo, JO_RESV_PORTS) ? jobopts_get(jo, JO_RESV_PORTS) : "");
    if (jobopts_has(jo, JO_OPEN_MODE))
        envlist_setf(env, "SLURM_OPEN_MODE", "%c", jobopts_get(jo, JO_OPEN_MODE)[0]);
    if (jobopts_has(jo, JO_DISTRIBUTION))
        add_distribution(env, jobopts_get(jo, JO_DISTRIBUTION));
    add_per_task(env, jo);
}

void envlist_pack(const struct envlist *env, ProtobufCBinaryData *ret)
{
    size_t total = 0, at = 0;

    for (size_t i = 0; i < env->n; i++)
        total += strlen(env->items[i]) + 1;
    ret->data = xmalloc_or_die(total);
    ret->len = total;
    for (size_t i = 0; i < env->n; i++) {
        size_t n = strlen(env->items[i]) + 1;

        memcpy(ret->data + at, env->items[i], n);
        at += n;
    }
}
