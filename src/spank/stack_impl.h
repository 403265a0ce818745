/* stack_impl.h - what stack.c, plugoptions.c and spankapi.c share */
#pragma once

#include "spank/plugstack.h"
#include "spank/stack.h"

struct plugin {
    struct plugstack_entry entry; /* borrowed from the stack's file */
    const char *name;             /* plugin_name of the library */
    void *lib;
    spank_f *calls[SPANK_CALLS_];
};

struct option {
    struct spank_option opt; /* texts owned */
    const struct plugin *plugin;
    bool given;
    char *arg; /* owned; NULL: none */
};

struct spank_handle {          /* spank_t */
    struct spank_stack *stack; /* NULL: the callback is over */
    const struct plugin *plugin;
    enum spank_call call;
};

struct words { /* owned strings */
    char **list;
    size_t n;
};

struct spank_stack {
    struct spank_host *host;
    struct plugstack file;
    struct plugin *plugins;
    size_t n;
    struct option *options;
    size_t n_options;
    struct words control;   /* of Prolog and Epilog */
    struct words prepended; /* to the command of the tasks */
    struct spank_handle handle;
};

extern struct spank_stack *spank_the_stack; /* of this process; NULL: none */

int words_add(struct words *w, char *text); /* text is taken; -ENOMEM */
void words_done(struct words *w);
/* NAME=value in w, its place in *ret; false: none. */
bool words_find(const struct words *w, const char *name, size_t *ret);

/* plugoptions.c */
int options_add(struct spank_stack *st, const struct plugin *p, const struct spank_option *opt);
int options_add_table(struct spank_stack *st,
                      const struct plugin *p); /* spank_options of the library */
const struct option *options_find(const struct spank_stack *st, const struct plugin *p,
                                  const char *name);
char *options_variable(const struct plugin *p, const char *option); /* as spank_option_variable() */
void options_done(struct spank_stack *st);
