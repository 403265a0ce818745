/* roles.c - which line of SlurmctldHost is this controller; see roles.h */
#include "ctld/ha/roles.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

size_t roles_count(const struct conf *conf)
{
    size_t n = 0;

    while (conf_ctld_host(conf, n, NULL))
        n++;
    return n;
}

static bool same_host(const char *line, const char *host)
{
    size_t len = strcspn(line, "."), own = strcspn(host, ".");

    return strcasecmp(line, host) == 0 ||
           (len == own && (!line[len] || !host[own]) && strncasecmp(line, host, len) == 0);
}

int roles_find(const struct conf *conf, const char *host, size_t *ret_index, const char **ret_addr,
               struct err *err)
{
    size_t n = roles_count(conf);

    for (size_t i = 0; i < n; i++) {
        if (n > 1 && !same_host(conf_ctld_host(conf, i, ret_addr), host))
            continue;
        (void)conf_ctld_host(conf, i, ret_addr);
        *ret_index = i;
        return 0;
    }
    return err_set(err, -EINVAL, "no SlurmctldHost line names this host, %.64s", host);
}
