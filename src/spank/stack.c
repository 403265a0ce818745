/* stack.c - loading plugins and calling them; see stack.h */
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "spank/stack_impl.h"

struct spank_stack *spank_the_stack;

static const char *const call_names[SPANK_CALLS_] = {
    [SPANK_INIT] = "slurm_spank_init",
    [SPANK_INIT_POST_OPT] = "slurm_spank_init_post_opt",
    [SPANK_LOCAL_USER_INIT] = "slurm_spank_local_user_init",
    [SPANK_USER_INIT] = "slurm_spank_user_init",
    [SPANK_TASK_INIT_PRIVILEGED] = "slurm_spank_task_init_privileged",
    [SPANK_TASK_INIT] = "slurm_spank_task_init",
    [SPANK_TASK_POST_FORK] = "slurm_spank_task_post_fork",
    [SPANK_TASK_EXIT] = "slurm_spank_task_exit",
    [SPANK_EXIT] = "slurm_spank_exit",
    [SPANK_JOB_PROLOG] = "slurm_spank_job_prolog",
    [SPANK_JOB_EPILOG] = "slurm_spank_job_epilog",
    [SPANK_SLURMD_EXIT] = "slurm_spank_slurmd_exit",
};

const char *spank_call_name(enum spank_call call)
{
    return call_names[call];
}

__attribute__((format(printf, 3, 4))) static void
spank_say(const struct spank_stack *st, enum log_level level, const char *fmt, ...)
{
    char text[2048];
    va_list ap;

    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    st->host->log(st->host->ctx, level, text);
}

int words_add(struct words *w, char *text)
{
    char **grown = text ? realloc(w->list, (w->n + 2) * sizeof(*grown)) : NULL;

    if (!grown) {
        free(text);
        return -ENOMEM;
    }
    w->list = grown;
    w->list[w->n++] = text;
    w->list[w->n] = NULL;
    return 0;
}

void words_done(struct words *w)
{
    for (size_t i = 0; i < w->n; i++)
        free(w->list[i]);
    free(w->list);
    *w = (struct words){ 0 };
}

bool words_find(const struct words *w, const char *name, size_t *ret)
{
    size_t len = strlen(name);

    for (size_t i = 0; i < w->n; i++) {
        if (strncmp(w->list[i], name, len) != 0 || w->list[i][len] != '=')
            continue;
        *ret = i;
        return true;
    }
    return false;
}

/* ---- loading --------------------------------------------------------------------------------- */

/* The library's path: as it is with a slash, else in the first folder that has it.  The caller
 * frees. */
static char *find_library(const char *name, const char *dirs)
{
    char *path;

    if (strchr(name, '/'))
        return strdup(name);
    while (dirs && *dirs) {
        size_t n = strcspn(dirs, ":");

        if (asprintf(&path, "%.*s/%s", (int)n, dirs, name) < 0)
            return NULL;
        if (access(path, R_OK) == 0)
            return path;
        free(path);
        dirs += n + (dirs[n] == ':');
    }
    return asprintf(&path, "./%s", name) < 0 ? NULL
                                             : path; /* dlopen() would search its own folders */
}

static int open_library(struct plugin *p, const char *dirs, struct err *err)
{
    _cleanup_free_ char *path = find_library(p->entry.path, dirs);
    const char *type;

    if (!path)
        return err_nomem(err);
    p->lib = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
    if (!p->lib)
        return err_set(err, -ENOENT, "plugin %.200s cannot be loaded: %.250s", p->entry.path,
                       dlerror());
    type = dlsym(p->lib, "plugin_type");
    p->name = dlsym(p->lib, "plugin_name");
    if (!type || strcmp(type, "spank") != 0 || !p->name || !dlsym(p->lib, "spank_plugin_version"))
        return err_set(err, -EINVAL, "%.200s does not declare itself as a plugin (SPANK_PLUGIN)",
                       p->entry.path);
    for (size_t i = 0; i < SPANK_CALLS_; i++)
        *(void **)&p->calls[i] = dlsym(p->lib, call_names[i]);
    return 0;
}

static int load_one(struct spank_stack *st, const struct plugstack_entry *e, const char *dirs,
                    struct err *err)
{
    struct plugin p = { .entry = *e };
    struct err why = { .text = "" };
    int r = open_library(&p, dirs, &why);

    if (r == 0) {
        st->plugins[st->n++] = p;
        return 0;
    }
    if (p.lib)
        (void)dlclose(p.lib);
    if (e->required)
        return err_set(err, r, "required %s", why.text);
    spank_say(st, LOG_VERBOSE, "optional %s", why.text);
    return 0;
}

static int load_all(struct spank_stack *st, const char *dirs, struct err *err)
{
    int r = 0;

    st->plugins = calloc(st->file.n, sizeof(*st->plugins));
    if (!st->plugins)
        return err_nomem(err);
    for (size_t i = 0; i < st->file.n && r == 0; i++)
        r = load_one(st, &st->file.list[i], dirs, err);
    for (size_t i = 0; i < st->n && r == 0; i++)
        r = options_add_table(st, &st->plugins[i]);
    return r;
}

int spank_stack_load(const char *plugstack, const char *plugin_dir, struct spank_host *host,
                     struct spank_stack **ret, struct err *err)
{
    struct spank_stack *st;
    struct plugstack file;
    int r = plugstack_read(plugstack, &file, err);

    *ret = NULL;
    if (r < 0 || file.n == 0) {
        plugstack_done(&file);
        return r;
    }
    st = calloc(1, sizeof(*st));
    if (!st) {
        plugstack_done(&file);
        return err_nomem(err);
    }
    st->file = file;
    st->host = host;
    host->facts.task = -1;
    spank_the_stack = st;
    r = load_all(st, plugin_dir, err);
    if (r < 0 || st->n == 0)
        st = spank_stack_free(st);
    *ret = st;
    return r;
}

struct spank_stack *spank_stack_free(struct spank_stack *st)
{
    if (!st)
        return NULL;
    for (size_t i = 0; i < st->n; i++)
        (void)dlclose(st->plugins[i].lib); /* the rest may go all the same */
    options_done(st);
    words_done(&st->control);
    words_done(&st->prepended);
    free(st->plugins);
    plugstack_done(&st->file);
    free(st);
    spank_the_stack = NULL;
    return NULL;
}

/* ---- calling --------------------------------------------------------------------------------- */

bool spank_stack_has(const struct spank_stack *st, enum spank_call call)
{
    for (size_t i = 0; st && i < st->n; i++)
        if (st->plugins[i].calls[call])
            return true;
    return false;
}

int spank_stack_call(struct spank_stack *st, enum spank_call call, struct err *err)
{
    for (size_t i = 0; i < st->n; i++) {
        const struct plugin *p = &st->plugins[i];
        int r;

        if (!p->calls[call])
            continue;
        st->handle = (struct spank_handle){ st, p, call };
        r = p->calls[call](&st->handle, p->entry.argc, p->entry.argv);
        st->handle = (struct spank_handle){ 0 };
        if (r == ESPANK_SUCCESS)
            continue;
        if (p->entry.required && err)
            return err_set(err, r, "required plugin %s: %s() failed with %d", p->name,
                           call_names[call], r);
        spank_say(st, p->entry.required ? LOG_ERROR : LOG_INFO, "%s plugin %s: %s() failed with %d",
                  p->entry.required ? "required" : "optional", p->name, call_names[call], r);
        if (p->entry.required)
            return r;
    }
    return 0;
}
