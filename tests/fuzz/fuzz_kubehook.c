/* fuzz_kubehook.c - AdmissionReview bodies of strangers: a sentence, or one answer */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "kube/api/kubejson.h"
#include "kube/hook/hookreview.h"
#include "kube/hook/ophook.h"
#include "kube/hook/podhook.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void judge_all(const struct hookreview *r)
{
    json_t *names = json_pack("[s]", "n");
    json_t *rules =
        json_pack("[{s:s, s:i, s:[s]}]", "namespace", "n", "userId", 7, "accounts", "a");
    struct bridgeconf c = { .scheduler = (char[]){ "s" }, .namespaces = names };

    for (int i = 0; i < 4; i++) {
        struct hookanswer a = { 0 };
        json_t *made;

        c.rules = i == 3 ? rules : NULL;
        if (i == 0)
            ophook_judge(r, &a);
        else if (i == 1)
            podhook_change(&c, r, &a);
        else
            podhook_judge(&c, r, &a);
        assert(!a.refused || a.text[0]);
        made = hookanswer_make(&a, r);
        assert(made && strcmp(kubejson_text(made, "response.uid"), r->uid) == 0);
        json_decref(made);
    }
    json_decref(names);
    json_decref(rules);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hookreview r = { 0 };
    struct err err = { .text = "" };

    if (hookreview_read((const char *)data, size, &r, &err) < 0) {
        assert(!r.tree && err.text[0]);
        return 0;
    }
    judge_all(&r);
    hookreview_done(&r);
    return 0;
}
