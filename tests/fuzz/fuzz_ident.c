/* fuzz_ident.c - an identity as a Hello brings it: what is read is sound, and is read again */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "wire/auth/ident.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Pst__ClientIdent *id = NULL, *again = NULL;
    uint8_t *packed;
    size_t n;

    if (ident_read(data, size, &id) < 0)
        return 0;
    assert(!ident_fault(id) && !strchr(id->name, '/') && id->n_gids <= IDENT_GROUPS_MAX);
    n = pst__client_ident__get_packed_size(id);
    packed = malloc(n + 1);
    assert(packed);
    assert(pst__client_ident__pack(id, packed) == n);
    if (n <= IDENT_BYTES_MAX) { /* numbers may have come in fewer bytes than ours */
        assert(ident_read(packed, n, &again) == 0);
        assert(again->n_gids == id->n_gids && strcmp(again->home, id->home) == 0);
        pst__client_ident__free_unpacked(again, NULL);
    }
    free(packed);
    pst__client_ident__free_unpacked(id, NULL);
    return 0;
}
