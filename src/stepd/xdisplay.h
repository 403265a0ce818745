/* xdisplay.h - in the extern step, a display for X programs of the job (srun and salloc --x11) */
#pragma once

#include "stepd/step.h"

/* Ready to take a request; -ENOMEM. */
int xdisplay_begin(struct step *s);
/* The connection of srun or salloc; fd is taken.  It is answered by xdisplay_advance(). */
void xdisplay_take(struct step *s, int fd, const Pst__StepOrder *order);
/* Deal with a request that came.  Calls the loop: not to be called from it. */
void xdisplay_advance(struct step *s);
size_t xdisplay_poll_room(const struct step *s);
size_t xdisplay_poll_fill(const struct step *s, struct pollfd *fds); /* returns how many */
void xdisplay_poll_done(struct step *s, const struct pollfd *fds, size_t n);
/* The child pid was collected: is it the one that took the cookie out of the user's file?  While it
 * runs, some seconds at most, the step waits with its sweep. */
bool xdisplay_reaped(struct step *s, pid_t pid);
bool xdisplay_busy(const struct step *s);
/* No display any more: programs are cut off, the cookie is removed. */
void xdisplay_end(struct step *s);
void xdisplay_done(struct step *s);
