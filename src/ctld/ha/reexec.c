/* reexec.c - becoming a process that stands by; see reexec.h */
#include "ctld/ha/reexec.h"

#include <unistd.h>

#include "base/log.h"
#include "base/process/inherit.h"

void reexec_as(char *const *argv)
{
    inherit_close_at_exec(3); /* libuv ends the process when its descriptors are gone */
    (void)execv(argv[0], argv);
    log_error("cannot execute %s: %m", argv[0]);
}
