/* fuzz_confbundle.c - a ConfBundle from outside: one that is taken has names below a folder and
 * slurm.conf first, and is within its limits; one that is not has a sentence */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "configless/confbundle.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_names(const Pst__ConfBundle *b)
{
    assert(b->n_files > 0 && b->n_files <= CONF_SHARED_FILES);
    assert(strcmp(b->files[0]->name, "slurm.conf") == 0);
    for (size_t i = 0; i < b->n_files; i++) {
        const char *name = b->files[i]->name;

        assert(name[0] != '/' && name[0] != '.' && !strstr(name, "/.") && !strstr(name, "//"));
        assert(strcmp(name, "slurm.key") != 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Pst__ConfBundle *b = pst__conf_bundle__unpack(NULL, size, data);
    struct err err = { .text = "" };
    struct digest d;
    int r;

    if (!b)
        return 0;
    /* the digest is no obstacle for somebody who makes a bundle */
    if (confbundle_digest(b, &d) == 0 && b->digest.len == DIGEST_SIZE)
        memcpy(b->digest.data, d.bytes, DIGEST_SIZE);
    r = confbundle_check(b, &err);
    assert((r == 0) == (err.text[0] == '\0'));
    if (r == 0) {
        struct conf *conf = NULL;

        check_names(b);
        if (confbundle_load(b, CONF_CLIENT, &conf, &err) == 0)
            conf_free(conf);
    }
    pst__conf_bundle__free_unpacked(b, NULL);
    return 0;
}
