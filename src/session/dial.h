/* dial.h - reach the daemons of a cluster as its slurm.conf says
 *
 * What commands and libpenstock do alike.  Nothing here prints or exits.  Any thread; a connection
 * that was made belongs to one thread at a time. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "wire/client.h"

struct conf;
struct tls_ctx;

/* Another cluster than that of slurm.conf, as slurmdbd knows it. */
struct dial_cluster {
    char *name;
    char *addrs; /* of its controllers, with commas between */
    uint16_t port;
};

/* Who connects; everything is borrowed for the call. */
struct dial {
    const struct conf *conf;
    const char *program;                /* told to the daemon */
    const struct dial_cluster *cluster; /* whose controller is meant; NULL: slurm.conf's */
    const char *token;  /* SLURM_JWT; NULL or empty: none, the local socket is tried first */
    const char *act_as; /* the user to act for; NULL or empty: oneself */
    int timeout_ms;     /* of a connection and of each call */
    bool keeps_text;    /* see client_keeps_text() */
    int patience_ms;    /* how long dial_ctld() tries; 0: timeout_ms */
    /* Of the caller, who gives it back: made when TLSType asks for it and TCP is first needed. */
    struct tls_ctx **tls;
};

/* MessageTimeout in milliseconds. */
int dial_conf_timeout_ms(const struct conf *conf);

/* One try at each address of the controller: the local socket, then each SlurmctldHost in order,
 * until the active one is found.  Errors: as client_connect(). */
int dial_ctld_once(const struct dial *d, struct client **ret_client, struct err *err);
/* The controller of that line of SlurmctldHost of slurm.conf, active or not.  -ENOENT: there is
 * none. */
int dial_ctld_host(const struct dial *d, size_t index, struct client **ret_client, struct err *err);
/* Can a later try succeed after this error of a connection (the daemon is being restarted)? */
bool dial_may_come_back(int r);
/* A try failed because of `why`, and there will be another. */
typedef void dial_waiting_fn(void *ctx, const char *why);
/* The same, repeated until timeout_ms has passed since the first try.  fn may be NULL. */
int dial_ctld(const struct dial *d, dial_waiting_fn *fn, void *ctx, struct client **ret_client,
              struct err *err);

/* A controller that stands by and answers queries from what it knows. */
struct dial_standby {
    char host[64];
    int64_t age_us; /* so old is what it knows, at most */
};
/* Where several controllers are configured and none leads: the first that answers queries all the
 * same, with ret_standby->host set; or one that has come to lead meanwhile, with host "".
 * -ECONNREFUSED: there is none. */
int dial_standby(const struct dial *d, struct client **ret_client, struct dial_standby *ret_standby,
                 struct err *err);

/* slurmdbd: the local socket, then both AccountingStorageHosts. */
int dial_dbd_once(const struct dial *d, struct client **ret_client, struct err *err);
/* slurmdbd on AccountingStorageHost (0) or AccountingStorageBackupHost (1) alone.  -ENOENT: there
 * is none. */
int dial_dbd_host(const struct dial *d, unsigned which, struct client **ret_client,
                  struct err *err);
