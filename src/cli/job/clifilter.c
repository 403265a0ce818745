/* clifilter.c - the list of filters; see clifilter.h */
#include "cli/job/gresopts.h"
#include "cli/job/clifilter.h"

#include <string.h>
#include <strings.h>

#include "base/cleanup.h"

enum filter { FILTER_LUA, FILTER_USER_DEFAULTS };

/* The next filter of the list at *p, which moves on; false at its end. */
static bool next_filter(const char **p, enum filter *ret)
{
    static const char prefix[] = "cli_filter/";
    static const char *const names[] = {
        [FILTER_LUA] = "lua", [FILTER_USER_DEFAULTS] = "user_defaults"
    };
    const char *word;
    size_t len;

    *p += strspn(*p, ", ");
    word = *p;
    len = strcspn(word, ", ");
    if (!len)
        return false;
    *p += len;
    if (len > sizeof(prefix) - 1 && strncasecmp(word, prefix, sizeof(prefix) - 1) == 0) {
        word += sizeof(prefix) - 1;
        len -= sizeof(prefix) - 1;
    }
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        if (strlen(names[i]) == len && strncasecmp(names[i], word, len) == 0) {
            *ret = (enum filter)i;
            return true;
        }
    }
    cli_fatal("CliFilterPlugins: there is no %.*s; there are lua and user_defaults",
              (int)MIN(len, 64), word);
}

static const char *list_of(struct cli *c)
{
    const char *list = conf_str(cli_conf(c), CONF_CLI_FILTER_PLUGINS);

    return list ? list : "";
}

void clifilter_defaults(struct cli *c, struct jobopts *jo)
{
    enum filter f;

    for (const char *p = list_of(c); next_filter(&p, &f);) {
        if (f == FILTER_LUA)
            clifilter_lua_defaults(c, jo);
        else
            clifilter_user_defaults(c, jo);
    }
}

int clifilter_pre_submit(struct cli *c, struct jobopts *jo, unsigned offset)
{
    enum filter f;
    bool any = false;

    for (const char *p = list_of(c); next_filter(&p, &f);) {
        if (f != FILTER_LUA)
            continue;
        clifilter_lua_pre_submit(c, jo, offset);
        any = true;
    }
    return any ? gresopts_check(jo) : 0;
}

void clifilter_post_submit(struct cli *c, unsigned offset, uint32_t job_id, uint32_t step_id)
{
    enum filter f;

    for (const char *p = list_of(c); next_filter(&p, &f);)
        if (f == FILTER_LUA)
            clifilter_lua_post_submit(c, offset, job_id, step_id);
}
