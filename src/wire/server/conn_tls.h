/* conn_tls.h - a fresh connection that begins with TLS (private to wire/)
 *
 * On the worker's thread. */
#pragma once

#include <stdbool.h>

#include "wire/knock.h"

struct conn;

/* Is encryption a must for callers from the network here? */
bool conn_wants_tls(const struct conn *c);
/* Its first bytes are a handshake's: begin.  False: closed. */
bool conn_begin_tls(struct conn *c);
/* More has come.  False: closed, or more must come; else *ret_caller tells who calls by *ret_head,
 * the first bytes inside, which are not read yet. */
bool conn_go_on_tls(struct conn *c, enum knock_caller *ret_caller, struct knock_head *ret_head);
/* Somebody who speaks HTTP inside: the other end of a pair of sockets that is plain; negative
 * errno.  The connection closes here. */
int conn_split_tls(struct conn *c);
/* Without TLS where it is a must: told, and closed. */
void conn_refuse_plain(struct conn *c, enum knock_caller caller);
