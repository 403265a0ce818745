/* kubeoptions.c - see kubeoptions.h */
#include "kube/api/kubeoptions.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "kube/api/kubejson.h"
#include "version.h"

#define ROWS_MAX 24u
#define NO_LETTER 256 /* + the row: what getopt_long() gives for an option without a letter */

struct table {
    struct kubeoption rows[ROWS_MAX];
    size_t n;
    struct option longs[ROWS_MAX + 4]; /* and verbose, version, help, the end */
    char shorts[2 * ROWS_MAX + 4];
};

static void fill_table(struct table *t, struct kubeprogram *p, const struct kubeoption *own,
                       size_t n)
{
    static const struct option shared[] = { { "verbose", no_argument, NULL, 'v' },
                                            { "version", no_argument, NULL, 'V' },
                                            { "help", no_argument, NULL, 'h' } };
    size_t len = 3;

    *t = (struct table){ .rows = { { "kubeconfig", 'k', &p->kubeconfig, NULL },
                                   { "context", '\0', &p->context, NULL } },
                         .n = 2,
                         .shorts = "vVh" };
    for (size_t i = 0; i < n && t->n < ROWS_MAX; i++)
        t->rows[t->n++] = own[i];
    for (size_t i = 0; i < t->n; i++) {
        const struct kubeoption *o = &t->rows[i];

        t->longs[i] = (struct option){ o->name, o->word ? required_argument : no_argument, NULL,
                                       o->letter ? o->letter : NO_LETTER + (int)i };
        if (o->letter)
            t->shorts[len++] = o->letter;
        if (o->letter && o->word)
            t->shorts[len++] = ':';
    }
    memcpy(&t->longs[t->n], shared, sizeof(shared));
}

/* NULL: the option is a shared one, or none. */
static const struct kubeoption *find_row(const struct table *t, int c)
{
    for (size_t i = 0; i < t->n; i++)
        if (c == NO_LETTER + (int)i || (t->rows[i].letter && c == t->rows[i].letter))
            return &t->rows[i];
    return NULL;
}

/* -1: go on. */
static int take_option(const struct kubeprogram *p, const char *usage, const struct kubeoption *row,
                       int c, enum log_level *level)
{
    if (row && row->word) {
        *row->word = optarg;
    } else if (row) {
        *row->flag = true;
    } else if (c == 'v') {
        *level = *level < LOG_DEBUG ? *level + 1 : *level;
    } else if (c == 'V') {
        (void)printf("%s %s\n", p->name, PENSTOCK_VERSION);
        return 0;
    } else {
        (void)fputs(usage, c == 'h' ? stdout : stderr);
        return c == 'h' ? 0 : KUBEOPTIONS_WRONG;
    }
    return -1;
}

int kubeoptions_read(struct kubeprogram *p, const char *usage, const struct kubeoption *own,
                     size_t n, bool takes_arguments, enum log_level level, int argc, char **argv)
{
    struct table t;
    int c, r;

    fill_table(&t, p, own, n);
    while ((c = getopt_long(argc, argv, t.shorts, t.longs, NULL)) >= 0) {
        r = take_option(p, usage, find_row(&t, c), c, &level);
        if (r >= 0)
            return r;
    }
    if (optind < argc && !takes_arguments) {
        (void)fprintf(stderr, "%s: unexpected argument: %s\n%s", p->name, argv[optind], usage);
        return KUBEOPTIONS_WRONG;
    }
    (void)log_open(p->name, NULL, level, false); /* standard error is always there */
    return -1;
}

bool kubeoptions_check_name(const struct kubeprogram *p, const char *option, const char *name)
{
    if (kubejson_name_is_good(name))
        return true;
    (void)fprintf(stderr, "%s: --%s: '%.60s' is no name of Kubernetes: a-z, 0-9, '-', '.'\n",
                  p->name, option, name);
    return false;
}
