/* fuzz_resvkeys.c - KEY=VALUE words of a reservation, one a line
 *
 * Whatever is taken or refused, a refusal has a sentence, nothing leaks, and access lists stay
 * well formed. */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/query/resvkeys.h"
#include "model/words/resvwords.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    _cleanup_free_ char *text = strndup((const char *)data, size);
    char *save = NULL;
    struct resvkeys k;

    if (!text)
        return 0;
    resvkeys_init(&k);
    for (char *w = strtok_r(text, "\n", &save); w; w = strtok_r(NULL, "\n", &save)) {
        struct err err = { .text = "" };
        int r = resvkeys_take(&k, w, INT64_C(1800000000000000), &err);

        assert((r < 0) == (err.text[0] != '\0'));
    }
    {
        struct err err = { .text = "" };
        int r = resvkeys_check_create(&k, &err);

        assert((r < 0) == (err.text[0] != '\0'));
    }
    for (int how = 0; k.set.users && how < 3; how++) {
        char *out = NULL;

        if (resv_list_edit("a,b,c", k.set.users, (Pst__ListEdit)how, &out, NULL) == 0 && out) {
            assert(*out && *out != ',');
            (void)resv_list_match(out, "b");
        }
        free(out);
    }
    resvkeys_done(&k);
    return 0;
}
