/* mirror.h - a folder's copy of the log in etcd, kept up by a controller that stands by
 *
 * The copy is an ordinary journal (files.h) that other parts read.  It never has what etcd has not.
 * A copy that is damaged, or too old for what etcd still keeps, is made anew from etcd's snapshot.
 * One thread at a time. */
#pragma once

#include <stdint.h>

#include "etcd/etcdconf.h"

struct mirror;

/* Open <dir>/journal, making it first, and lock it.  -EBUSY: another process has it. */
int mirror_open(const char *dir, const struct etcd_config *config, unsigned try_ms,
                struct mirror **ret, struct err *err);
struct mirror *mirror_close(struct mirror *m); /* gives the lock back; always NULL */
/* Take what is new.  1: there may be more, 0: this was all, read through etcd's leader.  Errors:
 * those of etcdkv.h; -EEXIST the folder has another log than etcd, or more of it: an administrator
 * decides; -EAGAIN try again; -EUCLEAN etcd has a chunk that is damaged. */
int mirror_pull(struct mirror *m, struct err *err);
uint64_t mirror_last(const struct mirror *m); /* the newest record of the copy; 0: none */
