/* fuzz_confanswer.c - the answer of a name server about _slurmctld._tcp */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "configless/confserver.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct confservers s = { .n = 0 };

    if (confserver_read_answer(data, size, &s) < 0)
        return 0;
    assert(s.n > 0 && s.n <= CONFSERVER_MAX);
    for (size_t i = 0; i < s.n; i++)
        assert(s.list[i].host[0] && strnlen(s.list[i].host, 256) < 256 && s.list[i].port > 0);
    return 0;
}
