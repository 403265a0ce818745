/* dbd.h - slurmdbd's parts; dbd/ only
 *
 * Threads: the server's I/O threads, those of serve.h, and the main one, which waits for signals.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "acct/archive.h"
#include "base/err.h"
#include "conf/conf_dbd.h"
#include "wire/rpcstat.h"

struct auth_keys;
struct feeds;
struct serve;
struct adminserve;
struct server;
struct conn;
struct frame;

struct dbd {
    char *conf_path;
    struct conf_dbd *conf; /* as read last; under conf_lock, the main thread replaces it */
    pthread_mutex_t conf_lock;
    char *location;        /* of the database */
    uid_t slurm_uid;
    struct auth_keys *keys;
    struct feeds *feeds;
    struct rpc_stat rpcs[OP_MAX_];
    _Atomic int64_t since_us; /* they are counted since */
    struct serve *serve;
    struct adminserve *admin; /* accounts, users, QOS ... */
    struct server *server;
    atomic_bool stopping;
};

/* StorageType, StorageHost ... as a location (acct/sql.h). */
int dbd_location(const struct conf_dbd *conf, const char *host, const char *pass, char **ret_location);
/* What conf says of how questions are answered and when old rows go, as it is now. */
void dbd_configure(struct dbd *d, const struct conf_dbd *conf);
/* The password at the server: StoragePass, or what StoragePassScript prints; NULL: none.  The caller frees.
 * Errors: -EINVAL the program failed or printed nothing. */
int dbd_password(const struct conf_dbd *conf, char **ret_pass, struct err *err);

/* control.c: ping, statistics, configuration, reconfigure and shutdown.  False: it is no such operation. */
bool control_request(struct dbd *d, struct conn *c, const struct frame *frame);

/* Port, database, threads; the door opens with server_start().  keys are loaded already. */
int dbd_start(struct dbd *d, struct err *err);
void dbd_stop(struct dbd *d); /* whatever was started */
