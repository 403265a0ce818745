/* nodeconnect.c - reaching a node of a step or job; see nodeconnect.h */
#include "cli/base/nodeconnect.h"

#include "wire/client.h"

int nodeconnect_step(struct cli *cli, const Pst__StepReply *granted, const Pst__NodeAddr *addr,
                     struct client **ret_client, struct err *err)
{
    struct client_target target = {
        .host = addr->addr ? addr->addr : addr->name,
        .port = (uint16_t)addr->port,
        .cluster = cli_cluster_name(cli),
        .timeout_ms = (int)conf_num(cli_conf(cli), CONF_MESSAGE_TIMEOUT) * 1000,
        .program = cli->program,
        .service = "slurmd",
        .name = addr->name,
        .credential = granted->credential,
        .tls = cli_step_tls_or_die(cli),
    };

    client_set_launch(&target, &granted->launch_key, &addr->launch_key);
    return client_connect(&target, conf_slurm_uid(cli_conf(cli)), ret_client, err);
}
