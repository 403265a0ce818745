/* ha_impl.h - the object of the room, for its files */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "ctld/ctld.h"
#include "ctld/ha/follow.h"
#include "ctld/ha/ha.h"
#include "ctld/ha/haturns.h"
#include "journal/reign.h"

struct backups;
struct etcd_config;
struct etcdterm;
struct hastream;
struct mirror;

struct ha {
    struct ctld *ctld;
    struct ha_options options;
    size_t count;             /* of controllers */
    int dir_fd;               /* of the journal */
    struct term_store store;  /* where the terms' records are */
    struct etcd_config *etcd; /* NULL: in the folder, as is the log; the next three too */
    struct etcdterm *terms;
    struct mirror *mirror;   /* our folder's copy of the log, while standing by */
    struct hastream *stream; /* NULL: no controller sends its log to others */
    bool restart_follow;     /* the log was replaced: it is applied from its snapshot on */
    struct err why;          /* what was last told of it */
    int lock_fd;             /* of the journal while it is looked whether it is free, else -1 */
    struct turn_view view;   /* while standing by; the main thread's */
    char host[TERM_HOST_BYTES], addr[TERM_ADDR_BYTES];
    struct follow *follow;
    struct conf *old_conf;     /* until the services have heard of the new one */
    struct term_record before; /* the term before ours */
    uint32_t claimed;          /* the term that was claimed last */
    int64_t turn_us;           /* when ours came: term_clock_us() */
    int64_t asked_us;          /* when the active controller was last asked for control */
    int64_t newer_us; /* since when the log is known to be that of a newer release; 0: it is not */
    bool complained;  /* of a log that cannot be applied */
    struct backups *backups;
    /* any thread */
    atomic_bool standby, give_up;
    atomic_bool unknown; /* etcd, or the witness, does not say who leads */
    atomic_bool in_sync; /* by the witness, with a log that is sent */
    atomic_uint term;
    atomic_uint_fast64_t durable, applied;
    /* When the record was seen that called durable what is applied: term_clock_us(); 0: never. */
    _Atomic int64_t current_us;
    /* under lock */
    pthread_mutex_t lock;
    struct conn *asker; /* scontrol takeover waits; held */
    uint32_t asker_id;
    char successor[TERM_HOST_BYTES];
};

/* On the standby's door: ping and takeover are answered, everything else is refused. */
void ha_answer(struct ctld *ctld, struct conn *c, const struct frame *frame);
/* Answer who asked for the takeover, if anybody did: 0 well. */
void ha_tell_asker(struct ha *ha, int code, const char *text);
/* The whole answer to a ping, but for what the core alone knows. */
void ha_fill_ping(const struct ctld *ctld, Pst__PingReply *r);
/* Ask the active controller for control; it answers before it ends. */
int ha_ask_for_control(struct ha *ha, const struct term_record *active, struct err *err);
/* Run a program of the site, and do not wait for it. */
void ha_run_program(const struct ctld *ctld, enum conf_key key);
