/* restconf.c - the configuration; see restconf.h */
#include "rest/slurm/restconf.h"

#include "api.pb-c.h"
#include "conf/json/json_conf.h"
#include "rest/rest_impl.h"
#include "wire/ops.h"

static void get_conf(struct rest_call *call)
{
    static const char source[] = "slurm_load_ctl_conf()";
    Pst__Empty request = PST__EMPTY__INIT;
    Pst__ConfigReply *reply = NULL;
    struct client *c = rest_ctld(call, source);
    int r;

    if (!c)
        return;
    r = client_call(c, OP_QUERY_CONFIG, &request.base, (ProtobufCMessage **)&reply);
    if (r < 0) {
        rest_failed(call, c, r, source, "Unable to query the configuration");
        return;
    }
    json_conf(&call->js, reply);
    pst__config_reply__free_unpacked(reply, NULL);
}

const struct rest_row rest_conf_rows[] = {
    { "GET", REST_SLURM, "conf", 45, get_conf, false },
    { 0 },
};
