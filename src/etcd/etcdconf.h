/* etcdconf.h - where etcd is: what JournalParameters says
 *
 * A comma list of name=value:
 *   endpoints=URL;URL...  http:// or https://, of the members, 8 at most; required
 *   prefix=TEXT           of all keys, "penstock/CLUSTER" if not given
 *   cacert=PATH           of the authority of the members' certificates
 *   cert=PATH, key=PATH   of this client
 *   user=NAME, passwordfile=PATH   of an etcd that has users; the file has the password alone
 *   identity=PATH         of the controllers' pair of keys, which is there on each of them; without
 *                         it the pair is slurmctld.key in StateSaveLocation
 *   nocompact             leave compaction to etcd's administrator
 * Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

#define ETCD_ENDPOINTS_MAX 8u
#define ETCD_TEXT_MAX 256u

struct etcd_config {
    char endpoints[ETCD_ENDPOINTS_MAX][ETCD_TEXT_MAX]; /* without a '/' at the end */
    size_t n_endpoints;
    char prefix[ETCD_TEXT_MAX]; /* without a '/' at the end */
    char cacert[ETCD_TEXT_MAX], cert[ETCD_TEXT_MAX], key[ETCD_TEXT_MAX]; /* "": none */
    char user[ETCD_TEXT_MAX], password_file[ETCD_TEXT_MAX];              /* "": none */
    char identity[ETCD_TEXT_MAX];                                        /* "": our own */
    bool no_compact;
};

/* text may be NULL, which names no endpoint and is refused.  -EINVAL, with a sentence. */
int etcd_config_parse(const char *text, const char *cluster, struct etcd_config *ret,
                      struct err *err);
