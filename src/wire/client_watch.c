/* client_watch.c - ending a connection from another thread; see client_watch.h
 *
 * Owns nothing: the descriptor is shut down, its owner closes it. */
#include "wire/client_watch.h"

#include <sys/socket.h>

void client_watch_init(struct client_watch *w)
{
    *w = (struct client_watch){ .fd = -1 };
    (void)pthread_mutex_init(&w->lock, NULL); /* cannot fail with default attributes */
}

void client_watch_done(struct client_watch *w)
{
    (void)pthread_mutex_destroy(&w->lock); /* nobody holds it */
}

/* Under the lock, so that its owner does not close it meanwhile. */
static void shut_down(const struct client_watch *w)
{
    if (w->fd >= 0)
        (void)shutdown(w->fd, SHUT_RDWR); /* not connected: it was not waited for */
}

void client_watch_note(struct client_watch *w, int fd)
{
    if (!w)
        return;
    (void)pthread_mutex_lock(&w->lock);
    w->fd = fd;
    if (w->ended)
        shut_down(w);
    (void)pthread_mutex_unlock(&w->lock);
}

void client_watch_end(struct client_watch *w)
{
    (void)pthread_mutex_lock(&w->lock);
    w->ended = true;
    shut_down(w);
    (void)pthread_mutex_unlock(&w->lock);
}

void client_watch_wake(struct client_watch *w)
{
    (void)pthread_mutex_lock(&w->lock);
    shut_down(w);
    (void)pthread_mutex_unlock(&w->lock);
}

bool client_watch_ended(struct client_watch *w)
{
    bool ended;

    if (!w)
        return false;
    (void)pthread_mutex_lock(&w->lock);
    ended = w->ended;
    (void)pthread_mutex_unlock(&w->lock);
    return ended;
}
