/* client_watch.h - ending a connection, or the attempt to make one, from another thread
 *
 * A thread that calls a server is joined when its daemon ends, and a server that does not answer
 * may keep it for a long time.  The watch knows the descriptor that the thread waits for, from the
 * moment it is made until just before it is closed: client_connect() notes it where
 * client_target.watch is set, and whoever has the client afterwards does.  What is not ended by it
 * is the look-up of a host's name. */
#pragma once

#include <pthread.h>
#include <stdbool.h>

struct client_watch {
    pthread_mutex_t lock;
    int fd;     /* -1: none */
    bool ended; /* for good: what is made later is ended at once */
};

void client_watch_init(struct client_watch *w);
void client_watch_done(struct client_watch *w);

/* The thread waits for fd now, -1: for nothing.  NULL is a no-op. */
void client_watch_note(struct client_watch *w, int fd);
/* Any thread: the wait under way ends, and so does each that comes. */
void client_watch_end(struct client_watch *w);
/* Any thread: the wait under way ends, others may follow. */
void client_watch_wake(struct client_watch *w);
bool client_watch_ended(struct client_watch *w); /* NULL: false */
