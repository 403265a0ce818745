/* fuzz_slingshot.c - SwitchParameters and --network of switch/hpe_slingshot, a line each: what is
 * taken makes sense, and what is refused has a sentence */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "model/words/slingshot.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_taken(const struct slingshot *s)
{
    assert(s->vni_first >= 1 && s->vni_first <= s->vni_last && s->vni_last <= 65535);
    assert(s->tcs >= 1 && s->tcs <= 15);
    assert(slingshot_vnis(s, 2) <= 2 && slingshot_vnis(s, 1) <= slingshot_vnis(s, 2));
    for (unsigned i = 0; i < SLINGSHOT_RESOURCES; i++) {
        assert(s->limits[i].max <= UINT16_MAX);
        assert(slingshot_reserved(s, (enum slingshot_resource)i, UINT32_MAX) <= s->limits[i].max);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    _cleanup_free_ char *text = malloc(size + 1);
    struct err err = { .text = "" };
    struct slingshot s;
    char *network;

    assert(text);
    if (size)
        memcpy(text, data, size);
    text[size] = '\0';
    network = strchr(text, '\n');
    if (network)
        *network++ = '\0';
    if (slingshot_read(text, network, &s, &err) == 0)
        check_taken(&s);
    else
        assert(err.text[0]);
    return 0;
}
