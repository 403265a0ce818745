/* powersettings.c - see powersettings.h
 *
 * A change is kept in the cluster's record until the configuration is read again, and with
 * ReconfigFlags=KeepPowerSaveSettings beyond that. */
#include "ctld/node/powersettings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/pb/pbutil.h"
#include "ctld/core/service.h"
#include "ctld/node/powerexcept.h"

const char *power_except_text(const struct ctld *ctld, enum conf_key key)
{
    const Pst__ClusterRecord *r = ctld->cluster->rec;

    if (!r->has_suspend_exc_own || !r->suspend_exc_own)
        return conf_str(ctld->conf, key);
    return key == CONF_SUSPEND_EXC_NODES   ? r->suspend_exc_nodes
           : key == CONF_SUSPEND_EXC_PARTS ? r->suspend_exc_parts
                                           : r->suspend_exc_states;
}

/* The list as the request leaves it.  Gives 0 or an ESLURM code. */
static int changed_text(struct ctld *ctld, enum conf_key key, const char *word,
                        Pst__ListEdit change, char **ret, struct err *err)
{
    bool add = change == PST__LIST_EDIT__LIST_ADD, off = change == PST__LIST_EDIT__LIST_REMOVE;
    const char *now = add || off ? power_except_text(ctld, key) : NULL;
    bool nodes = key == CONF_SUSPEND_EXC_NODES;
    int r =
        power_except_check(nodes ? word : NULL, key == CONF_SUSPEND_EXC_STATES ? word : NULL, err);

    if (r == 0)
        r = power_except_change(now, word, off, nodes, ret, err);
    if (r == 0 && !*ret)
        *ret = strdup("");
    if (r == 0)
        return *ret ? 0 : SLURM_ERROR;
    if (r == -ENOMEM)
        return SLURM_ERROR;
    return nodes ? ESLURM_INVALID_NODE_NAME : ESLURM_INVALID_NODE_STATE;
}

static void op_power_except(struct ctld *ctld, struct cmd *cmd)
{
    const Pst__PowerExceptRequest *req = PB_AS(power_except_request, cmd->msg);
    const struct {
        enum conf_key key;
        const char *word;
        size_t offset;
    } lists[] = {
        { CONF_SUSPEND_EXC_NODES, req->nodes, offsetof(Pst__ClusterRecord, suspend_exc_nodes) },
        { CONF_SUSPEND_EXC_PARTS, req->parts, offsetof(Pst__ClusterRecord, suspend_exc_parts) },
        { CONF_SUSPEND_EXC_STATES, req->states, offsetof(Pst__ClusterRecord, suspend_exc_states) },
    };
    Pst__Transaction *tx = tx_new(core_now());
    Pst__ClusterRecord *set = tx_cluster(tx);
    struct err err = { .text = "" };
    int code = 0;

    SET(set, suspend_exc_own, true);
    for (size_t i = 0; code == 0 && i < ARRAY_SIZE(lists); i++) {
        char **text = (char **)((char *)set + lists[i].offset);
        const char *now = power_except_text(ctld, lists[i].key);

        if (lists[i].word)
            code = changed_text(ctld, lists[i].key, lists[i].word, req->change, text, &err);
        else
            *text = tx_strdup(now ? now : "");
    }
    if (code != 0) {
        tx_free(tx);
        core_error(ctld, cmd, code, err.text[0] ? err.text : NULL);
    } else if (core_commit(ctld, tx)) {
        core_ok(ctld, cmd, ctld->applied_lsn);
    } else {
        core_disk_full(ctld, cmd);
    }
}

/* What operators set goes when the file is read again. */
static void forget_settings(struct ctld *ctld)
{
    const Pst__ClusterRecord *r = ctld->cluster->rec;
    Pst__Transaction *tx;

    if (conf_option(ctld->conf, CONF_RECONFIG_FLAGS, "KeepPowerSaveSettings", NULL, NULL) ||
        !r->has_suspend_exc_own || !r->suspend_exc_own)
        return;
    tx = tx_new(core_now());
    SET(tx_cluster(tx), suspend_exc_own, false);
    (void)core_commit(ctld, tx); /* disk full: they stay */
}

static const struct ctld_op power_ops[] = {
    { OP_POWER_EXCEPT, .fn = op_power_except, .flags = OPF_WRITES }, { 0 }
};

const struct ctld_service powersettings_service = {
    .name = "powersettings",
    .ops = power_ops,
    .reconfigured = forget_settings,
};
