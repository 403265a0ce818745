/* tlsbio.h - how the library reads and writes a socket (private to wire/tls/)
 *
 * Through functions of ours, so that no write raises SIGPIPE and nothing blocks, whatever the
 * descriptor's flags are. */
#pragma once

#include <stdbool.h>

#include "wire/tls/ssllib.h"

/* A BIO's data; its connection's thread alone. */
struct tlsbio {
    int fd;
    int failed; /* errno of the socket; 0: nothing failed */
    bool more;  /* what is written is not the last */
    bool held;  /* it is not read: as if nothing came */
};

/* The method of such BIOs; the caller's to free.  NULL: out of memory. */
BIO_METHOD *tlsbio_method(const struct ssllib *lib);
