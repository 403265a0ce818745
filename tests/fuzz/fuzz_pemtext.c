/* fuzz_pemtext.c - what a peer or a script says is a certificate, a request or a key
 *
 * What is taken goes to programs as an argument and into files: it is printable, and has a
 * beginning and an end. */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "wire/tls/pemtext.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const kinds[] = { PEM_REQUEST, PEM_CERTIFICATE, PEM_KEY };
    char *text = malloc(size + 1);
    const char *begin;

    if (!text)
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    for (size_t i = 0; i < 3; i++) {
        if (!pemtext_holds(text, kinds[i]))
            continue;
        for (const char *p = text; *p; p++)
            assert(*p == '\n' || *p == '\r' || (*p >= ' ' && *p <= '~'));
        begin = strstr(text, "-----BEGIN ");
        assert(begin && strstr(begin, kinds[i]) && strstr(begin, "-----END "));
    }
    free(text);
    return 0;
}
