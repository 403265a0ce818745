/* fuzz_tgrequest.c - bodies of requests from a stranger: a run over a small model, or a sentence */
#include <stdint.h>
#include <stdlib.h>

#include "topograph/run/tgrun.h"
#include "tggraph.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char model[] = "switches: {c: {switches: ['l[1-2]']}}\nblocks:\n"
                            "- {switch: l1, nodes: ['n[1-3]'], annotations: "
                            "{accelerator.topology.test/domain: d1}}\n"
                            "- {switch: l2, nodes: ['n[4-5]'], annotations: "
                            "{accelerator.topology.test/domain: d2}}\n";

/* Whatever file is named; a program never is. */
static int load_model(void *ctx, const char *what, bool program, char **ret_text, size_t *ret_len,
                      struct err *err)
{
    (void)ctx;
    assert(!program && strncmp(what, "/data/", 6) == 0 && !strchr(what + 6, '/'));
    *ret_text = strdup(model);
    *ret_len = strlen(model);
    return *ret_text ? 0 : err_nomem(err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct tgrequest_stranger stranger = { "/data" };
    const struct tgrun_io io = { load_model, NULL, NULL };
    struct tgrequest q = { 0 };
    struct tgrun run = { 0 };
    struct err err = { .text = "" };
    char id[TGREQUEST_ID_SIZE];

    if (tgrequest_parse((const char *)data, size, NULL, &stranger, &q, &err) < 0) {
        assert(err.text[0]);
        return 0;
    }
    (void)tgrequest_id(&q, id); /* texts that are no UTF-8 cannot be: JSON is */
    if (tgrun_make(&q, &io, &run, &err) < 0)
        assert(err.text[0] && run.status >= 400);
    else
        assert(run.status == 200 && run.text.len);
    tgrun_done(&run);
    tgrequest_done(&q);
    return 0;
}
