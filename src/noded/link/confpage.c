/* confpage.c - the configuration as JSON; see confpage.h */
#include "noded/link/confpage.h"

#include <stdlib.h>
#include <string.h>

#include "api.pb-c.h"
#include "base/strbuf.h"
#include "conf/conf.h"
#include "conf/json/json_conf.h"

struct rows {
    Pst__KeyValue **list;
    size_t n;
};

static void add_row(void *ctx, const char *key, const char *value)
{
    struct rows *rows = ctx;
    Pst__KeyValue **more = realloc(rows->list, (rows->n + 1) * sizeof(*more));
    Pst__KeyValue *kv = more ? malloc(sizeof(*kv)) : NULL;

    if (more)
        rows->list = more;
    if (!kv)
        return; /* a row less is shown */
    pst__key_value__init(kv);
    kv->key = strdup(key);
    kv->value = value && value != conf_show_caller ? strdup(value) : NULL;
    rows->list[rows->n++] = kv;
}

char *confpage_make(const struct conf *conf, int64_t since_us)
{
    Pst__ConfigReply reply = PST__CONFIG_REPLY__INIT;
    struct rows rows = { 0 };
    struct strbuf sb = STRBUF_INIT;
    struct json js;
    char *text = NULL;

    conf_show(conf, add_row, &rows);
    reply.entries = rows.list;
    reply.n_entries = rows.n;
    reply.boot_us = since_us;
    reply.conf_path = (char *)(uintptr_t)conf_path(conf); /* only read */
    json_begin(&js, &sb, JSON_PRETTY);
    json_conf(&js, &reply);
    json_end(&js);
    for (size_t i = 0; i < rows.n; i++)
        pst__key_value__free_unpacked(rows.list[i], NULL);
    free(rows.list);
    return strbuf_detach(&sb, &text) == 0 ? text : NULL;
}
