/* sreport_util.h - sreport with a peer in place of the store; needs cli_sreport_dep and
 * base_json_dep */
#pragma once

#include <time.h>

#include "cli/sreport/sreport.h"
#include "conf/conf.h"
#include "output_util.h"
#include "peer_json.h"

static struct peer store;
static struct sreport sreport;
static struct output said;

UTIL int sreport_begin(void **state)
{
    static const char text[] = "ClusterName=demo\nSlurmctldHost=h(127.0.0.1)\nSlurmctldPort=1\n"
                               "SlurmUser=root\nNodeName=n\nPartitionName=p Nodes=n\n"
                               "AccountingStorageType=accounting_storage/slurmdbd\n";
    struct conf_text file = { .name = "/etc/slurm/slurm.conf", .text = text };

    (void)state;
    (void)setenv("TZ", "UTC", 1);
    tzset();
    file.len = strlen(text);
    sreport = (struct sreport){ .form = FORM_MINS };
    cli_init(&sreport.cli, "sreport");
    assert_int_equal(conf_load_text(&file, 1, CONF_FULL, &sreport.cli.conf, NULL, NULL), 0);
    peer_begin(&store);
    sreport.client = store.client;
    return 0;
}

UTIL int sreport_end(void **state)
{
    (void)state;
    store.client = sreport.client;
    peer_end(&store);
    cli_done(&sreport.cli);
    return 0;
}

/* The conditions of a line of words between blanks. */
UTIL bool parse_conditions(struct cond *c, enum cond_of of, const char *line)
{
    char *copy = strdup(line), *words[32], *save = NULL;
    int n = 0;
    bool good;

    for (char *w = strtok_r(copy, " ", &save); w; w = strtok_r(NULL, " ", &save))
        words[n++] = w;
    sreport.status = 0;
    good = cond_parse(&sreport, c, of, n, words);
    free(copy);
    return good;
}

/* Three hours, as in the recordings. */
#define HOURS "start=2026-11-20T07:00:00 end=2026-11-20T10:00:00 "
#define RULE_LINE                                                                                  \
    "--------------------------------------------------------------------------------\n"
#define USAGE(json) PEER_ANSWER(&store, OP_USAGE, usage_reply, (json))
#define SREPORT_TEST(fn) cmocka_unit_test_setup_teardown(fn, sreport_begin, sreport_end)
