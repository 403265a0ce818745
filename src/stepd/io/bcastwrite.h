/* bcastwrite.h - the receiving end of sbcast: a process of its own, as the user */
#pragma once

#include "stepfile.pb-c.h"

/* In the process of bcast_spawn(): write one file after the other until the sender closes the
 * connection.  Exit status. */
int bcast_serve(const Pst__BcastFile *file, int fd);
