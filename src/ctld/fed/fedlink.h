/* fedlink.h - the way to the controller of another cluster of the federation
 *
 * A thread a cluster keeps a connection, asks one request after the other, and hands each answer
 * to the core.  Everything is called on the core thread. */
#pragma once

#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "ctld/ctld.h"

#define FEDLINK_QUEUE 64u /* requests that wait for one cluster, at most */

struct fedlink;

/* What became of a request.  The core frees it with fedlink_result_free(). */
struct fedlink_result {
    struct ctld *ctld;
    uint32_t cluster; /* its number */
    uint32_t job_id;
    unsigned op;
    int r; /* 0; -EREMOTEIO: `code`; else the cluster was not reached, or did not answer */
    int code;
    ProtobufCMessage *request, *reply; /* reply: of r 0 */
};
void fedlink_result_free(struct fedlink_result *res);

struct fedlink_config {
    struct ctld *ctld;
    uint32_t cluster;
    const char *name, *addrs; /* copied; addresses with commas between */
    uint16_t port;
    /* On the core thread: an answer, which is taken; the cluster is reached, or not any more. */
    void (*answered)(struct fedlink_result *res);
    void (*changed)(struct ctld *ctld, uint32_t cluster);
};

/* Errors: -ENOMEM, those of pthread_create(). */
int fedlink_start(const struct fedlink_config *config, struct fedlink **ret);
struct fedlink *
fedlink_stop(struct fedlink *l); /* joins; always NULL.  Open requests are dropped */
/* The thread is to end; what is asked no answer comes for.  fedlink_stop() waits for it. */
void fedlink_end(struct fedlink *l);
/* Does it lead there: same cluster, addresses and port? */
bool fedlink_leads(const struct fedlink *l, const char *name, const char *addrs, uint16_t port);
bool fedlink_is_up(const struct fedlink *l); /* the last call or ping was answered */
size_t fedlink_room(struct fedlink *l);      /* so many requests may be asked now */
/* Ask; takes msg.  The link has room. */
void fedlink_ask(struct fedlink *l, uint32_t job_id, unsigned op, ProtobufCMessage *msg);
