/* smgr_util.h - sacctmgr with the tables of a store and a peer in place of the store; needs
 * cli_sacctmgr_dep */
#pragma once

#include "cli/sacctmgr/sacctmgr.h"
#include "conf/conf.h"
#include "output_util.h"
#include "peer_util.h"

static struct peer store;
static struct smgr smgr;

UTIL void add_tres(uint32_t id, const char *type, const char *name)
{
    struct store_names *t = &smgr.names;

    t->tres = realloc(t->tres, (t->n_tres + 1) * sizeof(*t->tres));
    t->tres[t->n_tres] = malloc(sizeof(**t->tres));
    pst__tres_record__init(t->tres[t->n_tres]);
    t->tres[t->n_tres]->has_tres_id = 1;
    t->tres[t->n_tres]->tres_id = id;
    t->tres[t->n_tres]->type = strdup(type);
    t->tres[t->n_tres++]->name = name ? strdup(name) : NULL;
}

UTIL void add_qos(uint32_t id, const char *name)
{
    struct store_names *t = &smgr.names;

    t->qos = realloc(t->qos, (t->n_qos + 1) * sizeof(*t->qos));
    t->qos[t->n_qos] = malloc(sizeof(**t->qos));
    pst__qos_record__init(t->qos[t->n_qos]);
    t->qos[t->n_qos]->has_qos_id = 1;
    t->qos[t->n_qos]->qos_id = id;
    t->qos[t->n_qos++]->name = strdup(name);
}

/* The numbers that every cluster has; normal is the QOS of each. */
UTIL void fill_tables(void)
{
    smgr.have_tres = smgr.have_qos = true;
    add_tres(1, "cpu", NULL);
    add_tres(2, "mem", NULL);
    add_tres(3, "energy", NULL);
    add_tres(4, "node", NULL);
    add_tres(5, "billing", NULL);
    add_tres(1001, "gres", "gpu");
    add_qos(1, "normal");
    add_qos(2, "high");
    add_qos(3, "low");
}

UTIL int smgr_begin(void **state)
{
    static const char text[] = "ClusterName=demo\nSlurmctldHost=h(127.0.0.1)\nSlurmctldPort=1\n"
                               "SlurmUser=root\nNodeName=n\n"
                               "PartitionName=p Nodes=n\n";
    struct conf_text file = { .name = "/etc/slurm/slurm.conf", .text = text };

    (void)state;
    file.len = strlen(text);
    smgr = (struct smgr){ .immediate = true };
    cli_init(&smgr.cli, "sacctmgr");
    assert_int_equal(conf_load_text(&file, 1, CONF_FULL, &smgr.cli.conf, NULL, NULL), 0);
    peer_begin(&store);
    smgr.client = store.client;
    fill_tables();
    return 0;
}

UTIL int smgr_end(void **state)
{
    (void)state;
    smgr_forget_tables(&smgr);
    store.client = smgr.client; /* freed where it broke */
    peer_end(&store);
    cli_done(&smgr.cli);
    return 0;
}

/* A line of words between blanks, as smgr_parse() gives it. */
UTIL bool parse_line(struct smgr_line *l, enum smgr_entity entity, enum smgr_mode mode,
                     const char *line)
{
    char *copy = strdup(line), *words[32], *save = NULL;
    int n = 0;
    bool good;

    for (char *w = strtok_r(copy, " ", &save); w; w = strtok_r(NULL, " ", &save))
        words[n++] = w;
    smgr.status = 0;
    good = smgr_parse(&smgr, entity, mode, n, words, l);
    l->word = NULL;
    free(copy);
    return good;
}

/* Run a command of words between blanks; what it prints is in o. */
UTIL void run_line(struct output *o, void (*command)(struct smgr *s, int n, char **words),
                   const char *line, const char *input)
{
    char *copy = strdup(line), *words[32], *save = NULL;
    int n = 0;

    for (char *w = strtok_r(copy, " ", &save); w; w = strtok_r(NULL, " ", &save))
        words[n++] = w;
    smgr.status = 0;
    if (!smgr.have_qos) /* a change has let go of them */
        fill_tables();
    output_begin(o, input);
    command(&smgr, n, words);
    output_end(o);
    free(copy);
}
