/* credlife.c - see credlife.h */
#include "daemon/credlife.h"

#include "base/timefmt.h"

#define CREDENTIAL_LIFE_S 120u

int64_t credlife_us(const struct conf *conf)
{
    uint64_t life_s = CREDENTIAL_LIFE_S;

    (void)conf_option_u64(conf, CONF_AUTH_INFO, "cred_expire", &life_s); /* else as it is */
    return (int64_t)life_s * USEC_PER_SEC;
}
