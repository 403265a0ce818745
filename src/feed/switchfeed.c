/* switchfeed.c - see switchfeed.h */
#include "feed/switchfeed.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/wordlist.h"
#include "model/hetjob.h"

#define PER_SEGMENT "unique-channel-per-segment"

enum switch_kind switch_kind(const struct conf *conf)
{
    const char *type = conf_str(conf, CONF_SWITCH_TYPE);

    if (!type)
        return SWITCH_NONE;
    return strcasecmp(type, "switch/nvidia_imex") == 0     ? SWITCH_IMEX
           : strcasecmp(type, "switch/hpe_slingshot") == 0 ? SWITCH_SLINGSHOT
                                                           : SWITCH_NONE;
}

uint32_t imex_channels(const struct conf *conf)
{
    uint64_t n = IMEX_CHANNELS;

    if (switch_kind(conf) != SWITCH_IMEX)
        return 0;
    (void)conf_option_u64(conf, CONF_SWITCH_PARAMETERS, "imex_channel_count", &n); /* else as is */
    return (uint32_t)n;
}

uint32_t imex_wanted(const struct conf *conf, const Pst__JobRecord *r)
{
    uint32_t nodes = r->has_min_nodes ? r->min_nodes : 1;

    if (switch_kind(conf) != SWITCH_IMEX || het_is_follower(r))
        return 0;
    if (!wordlist_has_nocase(r->network, PER_SEGMENT) || !r->has_segment_size || !r->segment_size)
        return 1;
    return MAX(nodes / r->segment_size, 1u);
}

int switch_slingshot(const struct conf *conf, const char *network, struct slingshot *ret,
                     struct err *err)
{
    int r;

    if (switch_kind(conf) != SWITCH_SLINGSHOT)
        return 0;
    r = slingshot_read(conf_str(conf, CONF_SWITCH_PARAMETERS), network, ret, err);
    return r < 0 ? r : 1;
}

static int check_imex(const char *network, struct err *err)
{
    for (const char *p = network; *p; p += *p == ',') {
        size_t len = strcspn(p, ",");

        if (len != strlen(PER_SEGMENT) || strncasecmp(p, PER_SEGMENT, len) != 0)
            return err_set(err, -EINVAL,
                           "--network: \"%.*s\" is not known to switch/nvidia_imex, which takes "
                           "unique-channel-per-segment",
                           (int)len, p);
        p += len;
    }
    return 0;
}

int switch_check(const struct conf *conf, const char *network, struct err *err)
{
    struct slingshot ss;

    if (!network || !*network)
        return 0;
    if (switch_kind(conf) == SWITCH_IMEX)
        return check_imex(network, err);
    return MIN(switch_slingshot(conf, network, &ss, err), 0);
}
