/* fuzz_billing.c - TRESBillingWeights: whatever stands there, a sum is a number, and what is
 * checked is what is summed */
#include <assert.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/gres/billweights.h"
#include "base/cleanup.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static double amount_of(void *ctx, const char *name)
{
    size_t *asked = ctx;

    assert(*name && !strchr(name, ',') && !strchr(name, '='));
    ++*asked;
    return (double)(strlen(name) % 7) * 1000;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    _cleanup_free_ char *text = malloc(size + 1);
    struct err err = { .text = "" };
    size_t parts = 0, asked = 0;

    assert(text);
    if (size)
        memcpy(text, data, size);
    text[size] = '\0';
    for (const char *p = text; *p; p += *p == ',') {
        parts++;
        p += strcspn(p, ",");
    }
    for (int how = BILLING_ALL; how <= BILLING_MAX_GRES; how++) {
        double sum = billing_exact(text, (enum billing_sum)how, amount_of, &asked);

        assert(!isnan(sum) && sum >= 0);
        (void)billing(text, (enum billing_sum)how, amount_of, &asked);
    }
    if (billing_check(text, &err) == 0)
        assert(asked == 6 * parts); /* nothing is passed over */
    else
        assert(err.text[0] && asked < 6 * parts);
    return 0;
}
