/* etcdhttp.h - requests to the members of etcd over kept connections
 *
 * The member that answered last is asked first.  One thread at a time per object. */
#pragma once

#include <stddef.h>

#include "base/err.h"
#include "etcd/etcdconf.h"

struct etcd_http;

/* config is borrowed.  try_ms: how long each member may take to answer.  -ENOENT, -ENOSYS: there
 * is no libcurl that does. */
int etcd_http_new(const struct etcd_config *config, unsigned try_ms, struct etcd_http **ret,
                  struct err *err);
struct etcd_http *etcd_http_free(struct etcd_http *h); /* always NULL */
/* POST a body; *ret_text is the answer, borrowed until the next call.  Errors: see etcdkv.h. */
int etcd_http_post(struct etcd_http *h, const char *path, const char *body, size_t len,
                   const char **ret_text, size_t *ret_len, struct err *err);
const char *etcd_http_member(const struct etcd_http *h);
