/* attachaccess.h - sattach, sstat, sbcast, relays and tails of output, their credential verified
 *
 * fd stays the caller's. */
#pragma once

#include "noded/noded.h"

void access_stat(struct noded *d, const Pst__StepCredential *cred, int fd, uint32_t request_id,
                 ProtobufCBinaryData stream_key);
void access_attach(struct noded *d, const Pst__StepCredential *cred, int fd, uint32_t request_id,
                   ProtobufCBinaryData stream_key);
void access_bcast(struct noded *d, Pst__BcastOpen *open, const Pst__StepCredential *cred, int fd,
                  uint32_t request_id);
void access_tail(struct noded *d, Pst__TailOutput *tail, const Pst__StepCredential *cred, int fd,
                 uint32_t request_id);
void access_relay(struct noded *d, Pst__RelayOpen *open, const Pst__StepCredential *cred, int fd,
                  uint32_t request_id);
