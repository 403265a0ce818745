/* watchloop.h - one thread that sends to all watchers, none of which can make it wait */
#pragma once

#include "rest/watch/restwatch_impl.h"

int watchloop_start(struct watch_hub *hub); /* -EAGAIN, errors of epoll_create1(2) */
/* Everybody is told, and closed; the loop has ended then. */
void watchloop_stop(struct watch_hub *hub);
/* Hand over a watcher, complete and not linked; lock held. */
void watchloop_add(struct watch_hub *hub, struct watcher *w);
void watcher_free(struct watcher *w); /* one that was not handed over; its source is left */
