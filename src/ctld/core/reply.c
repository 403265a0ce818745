/* reply.c - answers to requests; see reply.h */
#include "ctld/core/reply.h"

#include "base/log.h"
#include "ctld/core/effects.h"
#include "ctld/ctld.h"

void core_reply(struct ctld *ctld, const struct cmd *cmd, uint64_t lsn, uint32_t flags,
                const ProtobufCMessage *msg)
{
    uint8_t *buf;
    size_t len;

    if (!cmd->conn || cmd->oneway)
        return;
    if (frame_pack(cmd->op, FRAME_REPLY | flags, cmd->id, 0, msg, &buf, &len) < 0) {
        log_error("an answer to %s could not be encoded", wire_op_info(cmd->op)->name);
        return;
    }
    effects_add(ctld->effects, lsn, cmd->conn, buf, len);
}

void core_ok(struct ctld *ctld, const struct cmd *cmd, uint64_t lsn)
{
    core_reply(ctld, cmd, lsn, 0, NULL);
}

void core_error(struct ctld *ctld, const struct cmd *cmd, int code, const char *text)
{
    core_error_job(ctld, cmd, code, text, 0);
}

void core_error_job(struct ctld *ctld, const struct cmd *cmd, int code, const char *text,
                    uint32_t job_id)
{
    Pst__Error e = PST__ERROR__INIT;

    e.has_code = 1;
    e.code = code;
    e.text = (char *)text; /* not changed by packing */
    e.has_job_id = job_id != 0;
    e.job_id = job_id;
    core_reply(ctld, cmd, 0, FRAME_ERROR, &e.base);
}

void core_disk_full(struct ctld *ctld, const struct cmd *cmd)
{
    if (ctld->etcdlog) {
        core_error(ctld, cmd, EPST_DISK_FULL,
                   "etcd, which has the controller's log, does not take it at present: new work is "
                   "refused until it does, nothing accepted is lost");
        return;
    }
    core_error(ctld, cmd, EPST_DISK_FULL,
               "the controller's disk is full: new work is refused until there is room, "
               "nothing accepted is lost");
}
