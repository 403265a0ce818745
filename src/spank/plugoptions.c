/* plugoptions.c - options that plugins add to the commands; see stack.h */
#include <ctype.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "spank/stack_impl.h"

#define OPTIONS_MAX 1024u /* of all plugins */
#define NAME_MAX_LEN 75u  /* of an option */

static bool good_name(const char *name)
{
    size_t n = name ? strlen(name) : 0;

    if (n == 0 || n > NAME_MAX_LEN || !isalnum((unsigned char)name[0]))
        return false;
    for (size_t i = 0; i < n; i++)
        if (!isalnum((unsigned char)name[i]) && !strchr("-_.", name[i]))
            return false;
    return true;
}

static void option_done(struct option *o)
{
    free(o->opt.name);
    free(o->opt.arginfo);
    free(o->opt.usage);
    free(o->arg);
}

void options_done(struct spank_stack *st)
{
    for (size_t i = 0; i < st->n_options; i++)
        option_done(&st->options[i]);
    free(st->options);
}

static bool name_is_taken(const struct spank_stack *st, const char *name)
{
    for (size_t i = 0; i < st->n_options; i++)
        if (strcmp(st->options[i].opt.name, name) == 0)
            return true;
    return st->host->option_free && !st->host->option_free(st->host->ctx, name);
}

static int tell_refused(const struct spank_stack *st, const struct err *why, int code)
{
    st->host->log(st->host->ctx, LOG_ERROR, why->text);
    return code;
}

int options_add(struct spank_stack *st, const struct plugin *p, const struct spank_option *opt)
{
    struct option o = { .opt = *opt, .plugin = p }, *grown;
    struct err why;

    if (!good_name(opt->name) || opt->has_arg < 0 || opt->has_arg > 2 ||
        st->n_options >= OPTIONS_MAX) {
        int r = err_set(&why, -EINVAL, "plugin %s: option \"%.80s\" cannot be registered", p->name,
                        opt->name ? opt->name : "");

        return tell_refused(st, &why, r);
    }
    if (name_is_taken(st, opt->name)) {
        int r = err_set(&why, -EEXIST, "plugin %s: there is an option --%s already", p->name,
                        opt->name);

        return tell_refused(st, &why, r);
    }
    o.opt.name = strdup(opt->name);
    o.opt.arginfo = opt->arginfo ? strdup(opt->arginfo) : NULL;
    o.opt.usage = strdup(opt->usage ? opt->usage : "");
    grown = realloc(st->options, (st->n_options + 1) * sizeof(*grown));
    if (grown)
        st->options = grown;
    if (!grown || !o.opt.name || !o.opt.usage || (opt->arginfo && !o.opt.arginfo)) {
        option_done(&o);
        return -ENOMEM;
    }
    st->options[st->n_options++] = o;
    return 0;
}

int options_add_table(struct spank_stack *st, const struct plugin *p)
{
    const struct spank_option *o = dlsym(p->lib, "spank_options");

    for (; o && o->name; o++)
        if (options_add(st, p, o) == -ENOMEM)
            return -ENOMEM; /* others were told of, and are left out */
    return 0;
}

const struct option *options_find(const struct spank_stack *st, const struct plugin *p,
                                  const char *name)
{
    for (size_t i = 0; i < st->n_options; i++)
        if (st->options[i].plugin == p && strcmp(st->options[i].opt.name, name) == 0)
            return &st->options[i];
    return NULL;
}

size_t spank_option_count(const struct spank_stack *st)
{
    return st ? st->n_options : 0;
}

const struct spank_option *spank_option_at(const struct spank_stack *st, size_t i)
{
    return &st->options[i].opt;
}

int spank_option_given(struct spank_stack *st, size_t i, const char *arg, struct err *err)
{
    struct option *o = &st->options[i];
    char *copy = arg ? strdup(arg) : NULL;

    if (arg && !copy)
        return err_nomem(err);
    free(o->arg);
    o->arg = copy;
    o->given = true;
    if (o->opt.cb && o->opt.cb(o->opt.val, o->arg, st->host->context == S_CTX_REMOTE) != 0) {
        if (arg)
            return err_set(err, -EINVAL, "Invalid --%s argument: %.200s", o->opt.name, arg);
        return err_set(err, -EINVAL, "--%s was refused by plugin %s", o->opt.name, o->plugin->name);
    }
    return 0;
}

void spank_options_forget(struct spank_stack *st)
{
    for (size_t i = 0; i < st->n_options; i++) {
        free(st->options[i].arg);
        st->options[i].arg = NULL;
        st->options[i].given = false;
    }
}

char *options_variable(const struct plugin *p, const char *option)
{
    char *name;

    if (asprintf(&name, SPANK_OPTION_PREFIX "%s_%s", p->name, option) < 0)
        return NULL;
    for (char *at = name; *at; at++)
        if (!isalnum((unsigned char)*at))
            *at = '_';
    return name;
}

char *spank_option_variable(const struct spank_stack *st, size_t i)
{
    return options_variable(st->options[i].plugin, st->options[i].opt.name);
}

void spank_option_variables(const struct spank_stack *st, spank_env_fn *fn, void *ctx)
{
    for (size_t i = 0; i < spank_option_count(st); i++) {
        _cleanup_free_ char *name = st->options[i].given ? spank_option_variable(st, i) : NULL;

        if (name)
            fn(ctx, name, st->options[i].arg ? st->options[i].arg : "");
    }
}

int spank_options_from(struct spank_stack *st, spank_get_fn *get, void *ctx, struct err *err)
{
    for (size_t i = 0; i < spank_option_count(st); i++) {
        _cleanup_free_ char *name = spank_option_variable(st, i);
        const char *value = name ? get(ctx, name) : NULL;
        int has_arg = st->options[i].opt.has_arg, r;

        if (!name)
            return err_nomem(err);
        if (!value)
            continue;
        r = spank_option_given(st, i, has_arg == 0 || (has_arg == 2 && !*value) ? NULL : value,
                               err);
        if (r < 0)
            return r;
    }
    return 0;
}
