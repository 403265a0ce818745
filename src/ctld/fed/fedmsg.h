/* fedmsg.h - what another cluster must be told about a job, as the record says
 *
 * Core thread. */
#pragma once

#include "ctld/fed/fedbook.h"

/* False: nothing; else the caller owns *ret_msg, the request of the operation *ret_op. */
bool fedmsg_next(struct fed *f, const struct job *j, uint32_t peer, unsigned *ret_op,
                 ProtobufCMessage **ret_msg);
