/* nodeio.h - what goes in and out of this machine, by counters of the kernel
 *
 * Over network interfaces, or of Lustre file systems.  The counters are those of the whole machine,
 * all its users together; a step counts what they grew by while it ran.  The counters are wide
 * enough that none overflows and begins again at 0. */
#pragma once

#include <stdint.h>

enum nodeio_kind { NODEIO_NET, NODEIO_LUSTRE, NODEIO_KINDS };

struct nodeio_count {
    uint64_t in, out;     /* bytes */
    uint64_t n_in, n_out; /* packets of the network; reads and writes of file systems */
};

struct nodeio {
    const char *root;       /* the folder that stands for "/"; borrowed */
    const char *interfaces; /* of NODEIO_NET: "ib0,eth1"; borrowed */
    enum nodeio_kind kind;
    struct nodeio_count last;
    struct nodeio_count sum; /* since nodeio_begin() */
};

/* Begin to count; root, interfaces and kind are set.  -ENOENT: there are no such counters. */
int nodeio_begin(struct nodeio *n);
/* Add what came since the last call.  A counter that is smaller than before has begun anew, since
 * its interface or file system was set up again. */
void nodeio_look(struct nodeio *n);
