/* parttres.c - the trackable resources of a partition; see parttres.h */
#include "cli/query/parttres.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/strbuf.h"
#include "conf/conf.h"

#define NAME_MAX_BYTES 256u

/* "name[:count]", len bytes of p: ",license/name=count" when it is accounted. */
static void add_license(struct strbuf *sb, const struct conf *conf, const char *p, size_t len)
{
    size_t name_len = strcspn(p, ":=,");
    const char *count = name_len < len ? p + name_len + 1 : "1";
    char name[NAME_MAX_BYTES];

    (void)snprintf(name, sizeof(name), "license/%.*s", (int)name_len, p); /* cut: not accounted */
    if (conf_option(conf, CONF_ACCOUNTING_STORAGE_TRES, name, NULL, NULL))
        strbuf_addf(sb, ",%s=%.*s", name, (int)strspn(count, "0123456789"), count);
}

int parttres_make(const struct cluster_nodes *t, const struct cluster_part *part,
                  const struct conf *conf, char **ret)
{
    _cleanup_val_(strbuf_done) struct strbuf sb = STRBUF_INIT;
    _cleanup_free_ char *nodes = NULL;
    const char *list = conf_str(conf, CONF_LICENSES);
    int r = cluster_part_tres(t, part, &nodes);

    if (r < 0)
        return r;
    strbuf_add(&sb, nodes);
    for (const char *p = list ? list : ""; *p; p += strcspn(p, ","), p += *p == ',')
        add_license(&sb, conf, p, strcspn(p, ","));
    return strbuf_detach(&sb, ret);
}
