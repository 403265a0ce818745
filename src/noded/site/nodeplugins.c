/* nodeplugins.c - plugins of the site in slurmd, and what the others need to find theirs; see
 * noded.h
 *
 * Those that slurmd loads at its start stay until it ends or is reconfigured.  Steps and scripts
 * load their own (slurmstepd-plug), by plugstack.conf as it is then. */
#include "noded/site/nodeplugins.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/process/spawnprog.h"
#include "spank/plugstack.h"
#include "spank/stack.h"

struct plugins {
    struct spank_host host;
    struct spank_stack *stack; /* NULL: there are none */
};

static void say_line(void *ctx, enum log_level level, const char *text)
{
    (void)ctx;
    log_write(level == LOG_QUIET ? LOG_INFO : level, "%s", text);
}

char *plugins_file(const struct noded *d)
{
    return plugstack_path(conf_str(d->conf, CONF_PLUG_STACK_CONFIG), conf_path(d->conf));
}

bool plugins_any(const struct noded *d)
{
    _cleanup_free_ char *path = plugins_file(d);
    struct plugstack file = { 0 };
    bool any;

    if (!path || access(path, F_OK) < 0)
        return false;
    any = plugstack_read(path, &file, NULL) < 0 ||
          file.n > 0; /* a mistake in it is the step's to tell */
    plugstack_done(&file);
    return any;
}

bool plugins_have(const struct noded *d, bool epilog)
{
    return d->plugins &&
           spank_stack_has(d->plugins->stack, epilog ? SPANK_JOB_EPILOG : SPANK_JOB_PROLOG);
}

int plugins_spawn(const struct noded *d, bool epilog, char *const *envp, pid_t *ret_pid)
{
    _cleanup_free_ char *path = plugins_file(d), *exe = NULL;
    const char *dirs = conf_str(d->conf, CONF_PLUGIN_DIR);
    char *argv[] = { (char *)"slurmstepd",
                     (char *)"spank",
                     (char *)(epilog ? "epilog" : "prolog"),
                     path,
                     (char *)(dirs ? dirs : ""),
                     d->log_path,
                     NULL };

    if (!path || asprintf(&exe, "%s-plug", d->stepd_exe) < 0)
        return -ENOMEM;
    return spawn_program(&(struct spawn){ .path = exe, .argv = argv, .envp = envp }, ret_pid);
}

static int load_stack(struct noded *d, struct plugins **ret, struct err *err)
{
    struct plugins *p = calloc(1, sizeof(*p));
    _cleanup_free_ char *path = plugins_file(d);
    int r;

    if (!p || !path) {
        free(p);
        return err_nomem(err);
    }
    p->host = (struct spank_host){ .context = S_CTX_SLURMD, .log = say_line };
    r = spank_stack_load(path, conf_str(d->conf, CONF_PLUGIN_DIR), &p->host, &p->stack, err);
    if (r == 0 && p->stack && spank_stack_call(p->stack, SPANK_INIT, err) != 0)
        r = -ECANCELED;
    if (r < 0) {
        (void)spank_stack_free(p->stack);
        free(p);
        return r;
    }
    *ret = p;
    return 0;
}

int plugins_begin(struct noded *d, struct err *err)
{
    return load_stack(d, &d->plugins, err);
}

void plugins_end(struct noded *d)
{
    struct plugins *p = TAKE_PTR(d->plugins);

    if (!p)
        return;
    if (p->stack)
        (void)spank_stack_call(p->stack, SPANK_SLURMD_EXIT,
                               NULL); /* the stack logs failures; slurmd ends anyway */
    (void)spank_stack_free(p->stack);
    free(p);
}

void plugins_again(struct noded *d)
{
    struct err err = { .text = "" };

    plugins_end(d); /* a process has one stack */
    if (plugins_begin(d, &err) < 0)
        log_error("no plugins are loaded: %s", err.text);
}
