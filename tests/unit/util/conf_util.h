/* conf_util.h - configurations of few lines; needs conf_dep */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf/conf.h"

#ifndef UTIL
#define UTIL __attribute__((unused)) static
#endif

/* All that was told, as daemons print it.  free() */
UTIL char *conf_told(const struct conf_problems *problems)
{
    char *text = NULL;
    size_t len = 0;
    FILE *f = open_memstream(&text, &len);

    assert_non_null(f);
    conf_report(f, problems);
    (void)fclose(f);
    return text;
}

/* The least configuration that loads, with these lines added: /etc/slurm/slurm.conf. conf_free() */
UTIL struct conf *conf_with_lines(const char *lines)
{
    char text[1024];
    struct conf_text file = { .name = "/etc/slurm/slurm.conf" };
    struct err err = { .text = "" };
    struct conf *c = NULL;

    file.len = (size_t)snprintf(text, sizeof(text),
                                "ClusterName=c\nSlurmctldHost=h\nSlurmUser=root\nNodeName=n\n"
                                "PartitionName=p Nodes=n\n%s\n",
                                lines);
    assert_true(file.len < sizeof(text));
    file.text = text;
    if (conf_load_text(&file, 1, CONF_FULL, &c, NULL, &err) < 0)
        fail_msg("%s", err.text);
    return c;
}

/* slurm.conf (the least that loads, and these lines) with another file beside it; what is wrong
 * must be just this report.  NULL: it does not load. */
UTIL struct conf *conf_of_two(const char *lines, const char *name, const char *other,
                              const char *want_report)
{
    char text[1024], *told;
    struct conf_text files[] = { { .name = "slurm.conf" }, { name, other, strlen(other) } };
    struct conf_problems problems;
    struct err err = { .text = "" };
    struct conf *c = NULL;

    files[0].len = (size_t)snprintf(text, sizeof(text),
                                    "ClusterName=c\nSlurmctldHost=h\nSlurmUser=root\n"
                                    "NodeName=n[1-4]\nPartitionName=p Nodes=ALL\n%s\n",
                                    lines);
    assert_true(files[0].len < sizeof(text));
    files[0].text = text;
    (void)conf_load_text(files, 2, CONF_FULL, &c, &problems, &err);
    told = conf_told(&problems);
    assert_string_equal(told, want_report);
    free(told);
    conf_problems_done(&problems);
    return c;
}

/* A whole slurm.conf, and other files beside it: what is wrong must be just this report.  NULL: it
 * does not load.  conf_free() */
UTIL struct conf *conf_reports(const struct conf_text *files, size_t n, const char *want_report)
{
    struct conf_text texts[8];
    struct conf_problems problems;
    struct err err = { .text = "" };
    struct conf *c = NULL;
    char *report = NULL;
    size_t len = 0;
    FILE *f = open_memstream(&report, &len);

    assert_non_null(f);
    assert_true(n <= 8);
    for (size_t i = 0; i < n; i++) {
        texts[i] = files[i];
        texts[i].len = files[i].len ? files[i].len : strlen(files[i].text);
    }
    (void)conf_load_text(texts, n, CONF_FULL, &c, &problems, &err);
    conf_report(f, &problems);
    assert_int_equal(fclose(f), 0);
    assert_string_equal(report, want_report);
    free(report);
    conf_problems_done(&problems);
    return c;
}

#define CONF_HEAD "ClusterName=c\nSlurmctldHost=h\nSlurmUser=root\n"

/* CONF_HEAD and these lines, from line 4 on. */
UTIL struct conf *conf_says(const char *lines, const char *want_report)
{
    char text[2048];
    const struct conf_text file = { .name = "slurm.conf", .text = text };

    assert_true((size_t)snprintf(text, sizeof(text), CONF_HEAD "%s", lines) < sizeof(text));
    return conf_reports(&file, 1, want_report);
}
