/* conf_tres.c - see conf_tres.h */
#include "conf/conf_tres.h"

#include <string.h>
#include <strings.h>

#include "base/gres/billweights.h"
#include "conf/conf_priv.h"

#define KINDS                                                                                      \
    "billing, cpu, energy, mem, node, pages, vmem, bb/NAME, fs/NAME, gres/NAME, ic/NAME, license/NAME"

bool conf_tres_kind(const char *name, size_t len)
{
    static const char *const plain[] = {
        "billing", "cpu", "energy", "mem", "node", "pages", "vmem"
    };
    static const char *const named[] = { "bb/", "fs/", "gres/", "ic/", "license/" };

    for (size_t i = 0; i < ARRAY_SIZE(plain); i++)
        if (len == strlen(plain[i]) && strncasecmp(name, plain[i], len) == 0)
            return true;
    for (size_t i = 0; i < ARRAY_SIZE(named); i++)
        if (len > strlen(named[i]) && strncasecmp(name, named[i], strlen(named[i])) == 0)
            return true;
    return false;
}

void conf_tres_check(struct conf_loader *l, const struct conf_val *list)
{
    for (const char *p = list->set ? list->text : ""; *p;) {
        size_t len = strcspn(p, ", ");

        if (len && !conf_tres_kind(p, len))
            conf_error(l, list->file, list->line, "AccountingStorageTRES: %.*s is none of " KINDS,
                       (int)MIN(len, 64), p);
        p += len + (p[len] != '\0');
    }
}

void conf_tres_weights(struct conf_loader *l, const struct conf_val *weights)
{
    struct err err = { .text = "" };

    if (!weights->set)
        return;
    if (billing_check(weights->text, &err) < 0) {
        conf_error(l, weights->file, weights->line, "TRESBillingWeights: %s", err.text);
        return;
    }
    for (const char *p = weights->text; *p;) {
        size_t len = strcspn(p, ","), name = strcspn(p, "=,");

        if (!conf_tres_kind(p, name))
            conf_error(l, weights->file, weights->line,
                       "TRESBillingWeights: %.*s is none of " KINDS, (int)MIN(name, 64), p);
        p += len + (p[len] == ',');
    }
}
