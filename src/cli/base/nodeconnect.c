/* nodeconnect.c - reaching a node of a step or job; see nodeconnect.h */
#include "cli/base/nodeconnect.h"

#include "session/nodedial.h"

int nodeconnect_step(struct cli *cli, const Pst__StepReply *granted, const Pst__NodeAddr *addr,
                     struct client **ret_client, struct err *err)
{
    const struct nodedial dial = {
        .conf = cli_conf(cli),
        .program = cli->program,
        .cluster = cli_cluster_name(cli),
        .tls = cli_step_tls_or_die(cli),
    };

    return nodedial_step(&dial, granted, addr, ret_client, err);
}
