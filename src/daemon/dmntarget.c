/* dmntarget.c - see dmntarget.h */
#include "daemon/dmntarget.h"

struct client_target dmntarget_controller(const struct conf *conf, const char *program)
{
    struct client_target target = {
        .port = conf_ctld_port(conf),
        .cluster = conf_str(conf, CONF_CLUSTER_NAME),
        .key_file = conf_key_file(conf),
        .use_munge = conf_use_munge(conf),
        .munge_socket = conf_munge_socket(conf),
        .munge_ttl_s = conf_munge_ttl_s(conf),
        .timeout_ms = (int)conf_num(conf, CONF_MESSAGE_TIMEOUT) * 1000,
        .program = program,
    };

    conf_keepalive(conf, target.keepalive);
    return target;
}
