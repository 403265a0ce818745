/* nssserve.h - tell programs of this host who the job's user is: the step daemon's end of
 * libnss_slurm.so.2 (LaunchParameters=enable_nss_slurm) */
#pragma once

struct step;

/* Listen on ../nss/STEP, which the user and root can connect to, if the step has a text to tell.
 * Without the socket the step goes on; the daemon's log says so. */
void nssserve_start(struct step *s);
/* A connection is there: send the text to the job's user or root, and close. */
void nssserve_tell(struct step *s);
/* Remove the socket. */
void nssserve_done(struct step *s);
