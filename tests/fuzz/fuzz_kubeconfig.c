/* fuzz_kubeconfig.c - kubeconfig files, and answers of exec plugins */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "kube/api/kubeconfig.h"
#include "kube/api/kubecred.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *token = NULL, *cert = NULL, *key = NULL;
    struct kubeconfig c = { 0 };
    struct err err = { .text = "" };
    int64_t until;

    if (kubeconfig_parse((const char *)data, size, "/d", NULL, &c, &err) == 0) {
        assert(c.server && strncmp(c.server, "http", 4) == 0);
        kubeconfig_done(&c);
    } else {
        assert(err.text[0]);
    }
    if (kubecred_read_exec((const char *)data, size, &token, &cert, &key, &until, &err) == 0)
        assert(token || (cert && key));
    free(token);
    free(cert);
    free(key);
    return 0;
}
