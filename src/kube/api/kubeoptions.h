/* kubeoptions.h - the command line of a program of this folder
 *
 * Every program has --kubeconfig (-k), --context, --verbose (-v), --version (-V), --help (-h); its
 * own options are rows.  One thread, at the start. */
#pragma once

#include "base/log.h"
#include "kube/api/kubeprogram.h"

#define KUBEOPTIONS_WRONG 2 /* exit status of a wrong command line */

struct kubeoption {
    const char *name;  /* "image" */
    char letter;       /* its short form; '\0': none */
    const char **word; /* where its word goes, of argv; NULL: the option has none */
    bool *flag;        /* where true goes; NULL with a word */
};

/* Read the options into p and the rows' places, and open the log on standard error: at `level`, and
 * one more for each -v.  Arguments behind the options are left to the caller (optind) where
 * takes_arguments, else refused.  -1: go on; else the exit status, and everything has been said. */
int kubeoptions_read(struct kubeprogram *p, const char *usage, const struct kubeoption *own,
                     size_t n, bool takes_arguments, enum log_level level, int argc, char **argv);
/* Is the word of an option a name of Kubernetes?  If not, a sentence says so.  option: without
 * dashes. */
bool kubeoptions_check_name(const struct kubeprogram *p, const char *option, const char *name);
