/* conf_util.h - configurations of few lines; needs conf_dep */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "conf/conf.h"

#ifndef UTIL
#define UTIL __attribute__((unused)) static
#endif

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
