/* emnode.h - an emulated node: its connection to the controller, its orders and its reports
 *
 * All on the loop's thread. */
#pragma once

#include "base/cleanup.h" /* before uv.h, which brings in another MIN */
#include <uv.h>

#include "conf/conf.h"

/* What all nodes of the process share. */
struct emhost {
    uv_loop_t *loop;
    const struct conf *conf;
    char name[256]; /* of the machine */
    char arch[65], os[260], boot_id[40];
    int64_t boot_us;
    size_t n_registered, n_left; /* nodes that are not closed */
    /* Nodes dial in turns: a controller gives one address only so many places for peers that have
     * not said who they are, and these nodes all have the same. */
    size_t n_dialing;
    struct emnode *next_to_dial, **last_to_dial;
    void (*changed)(struct emhost *host); /* one of these numbers is another */
};

struct emnode;

/* After the host was set to zero. */
void emhost_init(struct emhost *host);
/* described: stays as long as the node.  -ENOMEM, those of dialer_new(). */
int emnode_new(struct emhost *host, const struct conf_node *described, struct emnode **ret);
void emnode_start(struct emnode *n);
void emnode_close(struct emnode *n); /* leave the controller; n_left falls */
/* The node is closed, and the loop has ended.  Always NULL. */
struct emnode *emnode_free(struct emnode *n);
