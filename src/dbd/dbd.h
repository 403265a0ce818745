/* dbd.h - slurmdbd's parts; dbd/ only
 *
 * Threads: the server's I/O threads, the threads of serve.h, that of patience.h, and the main
 * thread.  The main thread waits for signals and, where there are two daemons or two database
 * servers, looks every second which daemon works, and on which server (standby.c). */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "acct/archive.h"
#include "acct/sql/sql.h"
#include "base/err.h"
#include "conf/conf_dbd.h"
#include "wire/server/rpcstat.h"

struct auth_keys;
struct auth_tokens;
struct httphealth;
struct patience;
struct turn;
struct feeds;
struct serve;
struct adminserve;
struct server;
struct conn;
struct peer;
struct frame;

struct dbd {
    char *conf_path;
    struct conf_dbd *conf; /* as read last; under conf_lock, the main thread replaces it */
    pthread_mutex_t conf_lock;
    char *location; /* of the database */
    uid_t slurm_uid;
    struct tls_ctx *tls; /* NULL: no TLSType */
    struct auth_keys *keys;
    struct auth_tokens *tokens; /* NULL: AuthAltTypes lets none in */
    struct feeds *feeds;
    atomic_bool track_keys; /* TrackWCKey */
    struct rpc_stat rpcs[OP_MAX_];
    _Atomic int64_t since_us; /* when the counting of rpcs began */
    struct serve *serve;
    pthread_mutex_t serve_lock; /* of its end, see note_brought() */
    struct adminserve *admin;   /* accounts, users, QOS ... */
    atomic_bool can_ask;        /* it */
    atomic_bool gathers;        /* CommitDelay: records come when they come */
    struct server *server;
    struct kiosk *kiosk;       /* NULL: this server vouches for nobody */
    struct httphealth *health; /* while it works */
    atomic_bool stopping;
    /* the main thread's */
    struct patience *patience; /* NULL: the database is a file */
    struct turn *turn;         /* NULL: there is no other slurmdbd */
    bool second;               /* DbdBackupHost */
    bool working, failing;     /* failing: the database does not answer; the log has said so */
    unsigned asked;            /* how many times the database said that it is our turn */
};

bool dbd_has_server(const struct conf_dbd *conf); /* StorageType is a server's */
/* StorageType, StorageHost ... as a location (acct/sql/sql.h). */
int dbd_location(const struct conf_dbd *conf, const char *host, const char *pass,
                 char **ret_location);
/* Apply the settings of conf on answers to queries and on the purge of old rows. */
void dbd_configure(struct dbd *d, const struct conf_dbd *conf);
/* Tell the service of health over HTTP what d->conf and d->keys are now. */
void dbd_tell_health(struct dbd *d);
/* The password at the server: StoragePass, or what StoragePassScript prints; NULL: none.  The
 * caller frees. Errors: -EINVAL the program failed or printed nothing. */
int dbd_password(const struct conf_dbd *conf, char **ret_pass, struct err *err);

/* control.c: ping, statistics, configuration, reconfigure and shutdown.  False: it is no such
 * operation. */
bool control_request(struct dbd *d, struct conn *c, const struct frame *frame);

/* Find the database's server: the location of the first server that answers, or else StorageHost.
 * *ret_reached: a server answers. */
int dbd_locate(struct dbd *d, bool *ret_reached, struct err *err);
/* Begin to work: make the tables, start the threads, accept connections on the port.  The keys are
 * loaded and the location is known already. */
int dbd_work(struct dbd *d, struct err *err);
void dbd_rest(struct dbd *d); /* ends what dbd_work() began */
void dbd_stop(struct dbd *d); /* ends everything that was started */

/* ---- standby.c: the main thread's ------------------------------------------------------------ */

/* Work, or stand by while another daemon works on the database. */
int standby_begin(struct dbd *d, struct err *err);
/* Every STANDBY_MS where there is a turn: take over, give back, change to the other database
 * server. */
void standby_tick(struct dbd *d);
#define STANDBY_MS 1000
