/* fuzz_topology_conf.c - topology.conf, of the kind that its first letter names (t b r)
 *
 * A load gives topologies or a sentence, never both. */
#include <stddef.h>
#include <stdint.h>

#include "tests/fuzz/topologies.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *plugin = "tree";

    if (size == 0 || size > 65536)
        return 0;
    if (data[0] == 'b')
        plugin = "block";
    else if (data[0] == 'r')
        plugin = "ring";
    fuzz_topologies("topology.conf", plugin, (const char *)data + 1, size - 1);
    return 0;
}
