/* reply.h - answers to requests; they leave when what they tell of is on the disk.  Core thread. */
#pragma once

#include <stdint.h>

#include "ctld/core/cmd.h"

/* Answer a request once lsn is durable (0 = now). */
void core_reply(struct ctld *ctld, const struct cmd *cmd, uint64_t lsn, uint32_t flags,
                const ProtobufCMessage *msg);
void core_ok(struct ctld *ctld, const struct cmd *cmd, uint64_t lsn); /* Empty */
/* text NULL: the words of the code. */
void core_error(struct ctld *ctld, const struct cmd *cmd, int code, const char *text);
/* The same for a submission that has used up a job's number; 0: it has not. */
void core_error_job(struct ctld *ctld, const struct cmd *cmd, int code, const char *text,
                    uint32_t job_id);
void core_disk_full(struct ctld *ctld, const struct cmd *cmd);
