/* conf_mcs.c - MCSPlugin and MCSParameters; see conf_mcs.h */
#include "conf/conf_mcs.h"

#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "conf/conf.h"

static bool is_word(const char *p, size_t len, const char *word)
{
    return len == strlen(word) && strncasecmp(p, word, len) == 0;
}

static bool kind_of(const char *plugin, enum conf_mcs_kind *ret)
{
    static const char *const words[] = { [MCS_NONE] = "none",
                                         [MCS_USER] = "user",
                                         [MCS_GROUP] = "group",
                                         [MCS_ACCOUNT] = "account",
                                         [MCS_LABEL] = "label" };

    if (strncasecmp(plugin, "mcs/", 4) == 0)
        plugin += 4;
    for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
        if (strcasecmp(plugin, words[i]) == 0) {
            *ret = (enum conf_mcs_kind)i;
            return true;
        }
    }
    return false;
}

bool conf_mcs_parse(const char *plugin, const char *parameters, struct conf_mcs *ret,
                    const char **ret_bad, size_t *ret_len)
{
    struct conf_mcs m = { .kind = MCS_NONE };
    const char *p = parameters ? parameters : "", *groups = strchr(p, ':');
    const char *end = groups ? groups : p + strlen(p);

    if (plugin && !kind_of(plugin, &m.kind)) {
        *ret_bad = plugin;
        *ret_len = strlen(plugin);
        return false;
    }
    for (; p < end; p += *p == ',') {
        size_t len = MIN(strcspn(p, ","), (size_t)(end - p));

        if (is_word(p, len, "enforced"))
            m.enforced = true;
        else if (is_word(p, len, "select"))
            m.select = MCS_SELECT;
        else if (is_word(p, len, "noselect"))
            m.select = MCS_NO_SELECT;
        else if (is_word(p, len, "privatedata"))
            m.private = true;
        else if (len && !is_word(p, len, "ondemand") && !is_word(p, len, "ondemandselect")) {
            *ret_bad = p;
            *ret_len = len;
            return false;
        }
        p += len;
    }
    if (groups && groups[1])
        m.groups = groups + 1;
    *ret = m;
    return true;
}

struct conf_mcs conf_mcs(const struct conf *c)
{
    struct conf_mcs m = { .kind = MCS_NONE };
    const char *bad;
    size_t len;

    (void)conf_mcs_parse(conf_str(c, CONF_MCS_PLUGIN), conf_str(c, CONF_MCS_PARAMETERS), &m, &bad,
                         &len);
    return m;
}
