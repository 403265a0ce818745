/* nodedial.c - see nodedial.h */
#include "session/nodedial.h"

#include "conf/conf.h"
#include "session/dial.h"

int nodedial_step(const struct nodedial *d, const Pst__StepReply *granted,
                  const Pst__NodeAddr *addr, struct client **ret_client, struct err *err)
{
    struct client_target target = {
        .host = addr->addr ? addr->addr : addr->name,
        .port = (uint16_t)addr->port,
        .cluster = d->cluster,
        .timeout_ms = d->timeout_ms ? d->timeout_ms : dial_conf_timeout_ms(d->conf),
        .program = d->program,
        .service = "slurmd",
        .name = addr->name,
        .credential = granted->credential,
        .tls = d->tls,
    };

    client_set_launch(&target, &granted->launch_key, &addr->launch_key);
    return client_connect(&target, conf_slurm_uid(d->conf), ret_client, err);
}
