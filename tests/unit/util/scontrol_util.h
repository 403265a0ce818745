/* scontrol_util.h - scontrol with a peer in place of the controller; needs cli_scontrol_dep and
 * base_json_dep */
#pragma once

#include "cli/scontrol/scontrol.h"
#include "conf/conf.h"
#include "output_util.h"
#include "peer_json.h"

static struct peer ctld;
static struct scontrol scontrol;
static struct output said;

UTIL void print_no_help(FILE *f)
{
    (void)fputs("(the help text)\n", f);
}

UTIL int scontrol_begin(void **state)
{
    static const char text[] = "ClusterName=demo\nSlurmctldHost=h(127.0.0.1)\nSlurmctldPort=1\n"
                               "SlurmUser=root\nNodeName=n\nPartitionName=p Nodes=n\n";
    struct conf_text file = { .name = "/etc/slurm/slurm.conf", .text = text };

    (void)state;
    file.len = strlen(text);
    scontrol = (struct scontrol){ .print_help = print_no_help };
    cli_init(&scontrol.cli, "scontrol");
    assert_int_equal(conf_load_text(&file, 1, CONF_FULL, &scontrol.cli.conf, NULL, NULL), 0);
    peer_begin(&ctld);
    scontrol.client = ctld.client;
    return 0;
}

UTIL int scontrol_end(void **state)
{
    (void)state;
    ctld.client = scontrol.client; /* freed where it broke */
    peer_end(&ctld);
    cli_done(&scontrol.cli);
    return 0;
}

typedef void command_fn(struct scontrol *s, int argc, char **argv);

/* Run a command of words between blanks; what it prints is in said. */
UTIL void run_command(command_fn *command, const char *line)
{
    char *copy = strdup(line), *words[32], *save = NULL;
    int n = 0;

    for (char *w = strtok_r(copy, " ", &save); w; w = strtok_r(NULL, " ", &save))
        words[n++] = w;
    scontrol.status = 0;
    output_begin(&said, NULL);
    command(&scontrol, n, words);
    output_end(&said);
    free(copy);
}

#define expect_run(command, line, out, err, exit_status)                                           \
    do {                                                                                           \
        run_command((command), (line));                                                            \
        expect_said(&said, (out), (err));                                                          \
        assert_int_equal(scontrol.status, (exit_status));                                          \
    } while (0)

/* The next request, of this op, has this as JSON. */
UTIL void expect_request(unsigned op, const ProtobufCMessageDescriptor *desc, const char *has)
{
    ProtobufCMessage *req = peer_take(&ctld, op, desc);

    if (!json_has(req, has))
        fail_msg("%s is not what was asked", has);
    protobuf_c_message_free_unpacked(req, NULL);
}

#define EXPECT_REQUEST(op, name, has) expect_request((op), &pst__##name##__descriptor, (has))
#define SCONTROL_TEST(fn) cmocka_unit_test_setup_teardown(fn, scontrol_begin, scontrol_end)
