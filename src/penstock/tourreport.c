/* tourreport.c - `penstock report JOB`: what a job used of what it held, and what to ask for
 * next time
 *
 * The figures and the page are sacct's; this is the short way to them. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/strbuf.h"
#include "penstock/penstock.h"

int cmd_report(int argc, char **argv)
{
    static const struct option longs[] = { { "json", no_argument, NULL, 'j' },
                                           { NULL, 0, NULL, 0 } };
    _cleanup_val_(strbuf_done) struct strbuf jobs = STRBUF_INIT;
    const char *args[5] = { "sacct", "--efficiency=report" };
    int c, n = 2;

    while ((c = getopt_long(argc, argv, "", longs, NULL)) != -1) {
        if (c != 'j')
            return bad_option();
        args[2] = "--json";
        n = 3;
    }
    if (optind == argc)
        return usage_error("report: which job?");
    for (int i = optind; i < argc; i++) {
        if (!*argv[i] || strspn(argv[i], "0123456789_+,") != strlen(argv[i]))
            return usage_error("report: %s is not the number of a job", argv[i]);
        strbuf_addf(&jobs, "%s%s", i > optind ? "," : "--jobs=", argv[i]);
    }
    args[n] = strbuf_str(&jobs);
    (void)execvp("sacct", (char *const *)args); /* returns only when it failed */
    return say_error("cannot run sacct: %s", strerror(errno));
}
