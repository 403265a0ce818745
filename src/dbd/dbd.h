/* dbd.h - slurmdbd's parts; dbd/ only
 *
 * Threads: the server's I/O threads, those of serve.h, and the main one, which waits for signals.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>

#include "acct/archive.h"
#include "base/err.h"
#include "conf/conf_dbd.h"

struct auth_keys;
struct feeds;
struct serve;
struct adminserve;
struct server;

struct dbd {
    char *conf_path;
    struct conf_dbd *conf; /* as at the start */
    char *location;        /* of the database */
    uid_t slurm_uid;
    struct auth_keys *keys;
    struct feeds *feeds;
    struct archive_what purge;
    struct serve *serve;
    struct adminserve *admin; /* accounts, users, QOS ... */
    struct server *server;
    atomic_bool stopping;
};

/* StorageType, StorageHost ... as a location (acct/sql.h). */
int dbd_location(const struct conf_dbd *conf, const char *host, char **ret_location);
/* Port, database, threads; the door opens with server_start().  keys are loaded already. */
int dbd_start(struct dbd *d, struct err *err);
void dbd_stop(struct dbd *d); /* whatever was started */
