/* fuzz_topology_yaml.c - topology.yaml
 *
 * A load gives topologies or a sentence, never both. */
#include <stddef.h>
#include <stdint.h>

#include "tests/fuzz/topologies.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size <= 65536)
        fuzz_topologies("topology.yaml", "flat", (const char *)data, size);
    return 0;
}
