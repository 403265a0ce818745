/* conf_regmem.c - see conf_regmem.h */
#include "conf/cloud/conf_regmem.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PCT_OTHERS 100.0
#define PCT_CLOUD 90.0 /* rented machines differ a little */

/* 1 with *ret; 0: there is no such word; -EINVAL. */
static int read_pct(const struct conf *c, double *ret)
{
    const char *value = NULL;
    char text[16], *end;
    size_t len = 0;

    if (!conf_option(c, CONF_SLURMCTLD_PARAMETERS, "node_reg_mem_percent", &value, &len))
        return 0;
    if (!value || len == 0 || len >= sizeof(text) || value[0] < '0' || value[0] > '9')
        return -EINVAL;
    memcpy(text, value, len);
    text[len] = '\0';
    if (strspn(text, "0123456789.") != len)
        return -EINVAL;
    *ret = strtod(text, &end);
    return *end || !isfinite(*ret) || *ret > 100 ? -EINVAL : 1;
}

double conf_reg_mem_pct(const struct conf *c, bool cloud)
{
    double pct;

    return read_pct(c, &pct) == 1 ? pct : cloud ? PCT_CLOUD : PCT_OTHERS;
}

int conf_reg_mem_check(const struct conf *c, struct err *err)
{
    double pct;

    return read_pct(c, &pct) < 0
               ? err_set(err, -EINVAL,
                         "SlurmctldParameters: node_reg_mem_percent wants a number from 0 to 100")
               : 0;
}
