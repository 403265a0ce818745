/* listen.h - srun's requests */
#pragma once

#include "noded/noded.h"

int listen_new(struct noded *d, struct listener **ret_listener, struct err *err);
int listen_start(struct listener *l);
void listen_set_keys(struct listener *l, struct auth_keys *keys); /* takes a reference */
void listen_set_controller(struct listener *l, const uint8_t key[IDKEY_SIZE]);
/* What the clock of the controller shows now, by which it signs. */
void listen_set_clock(struct listener *l, int64_t controller_us);
void listen_set_tls(struct listener *l, struct tls_ctx *tls); /* likewise */
void listen_close(struct listener *l);
struct listener *listen_free(struct listener *l);
/* Launch requests for this run are refused from now on (until their credentials have expired). */
void listen_revoke(struct listener *l, uint32_t job_id, uint64_t run_id);
/* Answer a launch request that was refused after its connection was detached; closes fd. */
void listen_refuse_op(int fd, ProtobufCBinaryData stream_key, unsigned op, uint32_t request_id,
                      int code, const char *text);
void listen_refuse_fd(int fd, ProtobufCBinaryData stream_key, uint32_t request_id, int code,
                      const char *text);
