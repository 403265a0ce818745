/* mirrorfiles.h - the copy's object, for its files */
#pragma once

#include <stdbool.h>

#include "etcd/etcdkv.h"
#include "etcd/mirror.h"
#include "journal/segment.h"

struct mirror {
    char *dir;
    int dir_fd, lock_fd;
    struct etcd *etcd;
    struct segment segment; /* fd -1: none yet */
    struct segment_policy policy;
    uint64_t last;         /* record of the copy */
    uint64_t snapshot_lsn; /* its newest snapshot; 0: none */
    bool begun;            /* the copy is known to be one of etcd's log */
    uint64_t from;         /* first record of the chunk to read next */
    unsigned turns;
};

/* What etcd has beside the log. */
struct mirror_far {
    uint64_t snapshot_lsn; /* 0: none */
    uint32_t parts;
    uint64_t bytes;
    uint64_t first; /* record of the oldest chunk; 0: no chunk */
};
int mirror_look(struct mirror *m, struct mirror_far *ret, struct err *err);
/* Remove the copy's log and snapshots. */
int mirror_wipe(struct mirror *m, struct err *err);
/* Fetch etcd's snapshot into the folder.  -EAGAIN: a newer one replaced it meanwhile. */
int mirror_fetch_snapshot(struct mirror *m, const struct mirror_far *far, struct err *err);
/* Remove what etcd has let go too. */
void mirror_let_go(struct mirror *m, const struct mirror_far *far);
/* Go on in a new file. */
int mirror_roll(struct mirror *m, struct err *err);
