/* nodeusers.h - for which users a node may vouch: those who have a job on it, and no rights over others
 *
 * A node without the cluster's key vouches for commands that run there (wire/auth/vouch.h).  It is
 * believed for users who have a job on it that holds resources, and for nobody who could do more
 * than an ordinary user: not for root, SlurmUser and SlurmdUser, not for users with an AdminLevel or
 * who coordinate an account.  So root on a node gains what he has already: the processes of its
 * users.  Design: docs/design/0024-vouching.md.
 *
 * The service keeps a table of node and user for I/O threads.  A job costs an entry a node. */
#pragma once

struct nodeusers;
