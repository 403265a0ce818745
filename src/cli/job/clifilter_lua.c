/* clifilter_lua.c - cli_filter.lua; see clifilter.h
 *
 * `options` is the command's options under their long names: reading gives a string, "set" for a
 * flag, nil for what was not given; setting goes through the same checks as the command line, and
 * nil takes an option back. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/timefmt.h"
#include "cli/job/clifilter.h"
#include "lua/luascript.h"

#define LIMIT_US (30 * USEC_PER_SEC)

extern char **environ;

static const char options_meta[] = "penstock.options", store_key[] = "penstock.store";

/* What `options` stands for; it is one object for as long as the call lasts. */
struct view {
    const struct luascript *script;
    struct jobopts *jo;
    enum opt_source source; /* of what is set through it */
    uint64_t call_id;
};

/* ---- options --------------------------------------------------------------------------------- */

static struct view *view_at(lua_State *L, int index)
{
    struct view *v = lua.check_userdata(L, index, options_meta);

    if (v->call_id != luascript_call_id(v->script))
        (void)lua.error(L, "these options belong to an earlier call");
    return v;
}

static bool row_applies(const struct opt_command *cmd, const struct opt *o)
{
    return !o->refused && (!o->applies || (o->applies & cmd->bit));
}

static const struct opt *option_at(lua_State *L, const struct view *v)
{
    const struct opt_command *cmd = jobopts_command(v->jo->cmd);
    const char *name = lua.check_text(L, 2, NULL);

    for (size_t i = 0; i < cmd->n; i++)
        if (row_applies(cmd, &cmd->rows[i]) && strcmp(cmd->rows[i].name, name) == 0)
            return &cmd->rows[i];
    return NULL;
}

static bool push_option(lua_State *L, const struct view *v, const struct opt *o)
{
    enum jobopt id = (enum jobopt)o->id;

    if (!jobopts_has(v->jo, id))
        return false;
    lua.pushtext(L, *v->jo->value[id] ? v->jo->value[id] : "set");
    return true;
}

static int get_option(lua_State *L)
{
    struct view *v = view_at(L, 1);
    const struct opt *o = option_at(L, v);

    if (!o || !push_option(L, v, o))
        lua.pushnil(L);
    return 1;
}

static int set_option(lua_State *L)
{
    struct view *v = view_at(L, 1);
    const struct opt *o = option_at(L, v);
    struct err err = { .text = "" };
    const char *value;

    if (!o)
        return lua.error(L, "there is no option %s here", lua.check_text(L, 2, NULL));
    if (lua.type(L, 3) <= LUA_TNIL || (lua.type(L, 3) == LUA_TBOOLEAN && !lua.to_boolean(L, 3))) {
        if (v->source != OPT_FROM_DEFAULTS)
            jobopts_clear(v->jo, (enum jobopt)o->id);
        return 0;
    }
    value =
        o->arg == OPT_NONE || lua.type(L, 3) == LUA_TBOOLEAN ? NULL : lua.check_text(L, 3, NULL);
    if (o->arg == OPT_REQ && !value)
        return lua.error(L, "%s takes a value", o->name);
    if (jobopts_set(v->jo, o, value, v->source, &err) != 0)
        return lua.error(L, "%s", err.text[0] ? err.text : o->name);
    return 0;
}

static int next_option(lua_State *L)
{
    struct view *v = view_at(L, 1);
    const struct opt_command *cmd = jobopts_command(v->jo->cmd);
    size_t i = 0;

    if (lua.type(L, 2) == LUA_TSTRING) {
        const struct opt *o = option_at(L, v);

        i = o ? (size_t)(o - cmd->rows) + 1 : cmd->n;
    }
    for (; i < cmd->n; i++) {
        if (!row_applies(cmd, &cmd->rows[i]) || !jobopts_has(v->jo, (enum jobopt)cmd->rows[i].id))
            continue;
        lua.pushtext(L, cmd->rows[i].name);
        (void)push_option(L, v, &cmd->rows[i]); /* it is there */
        return 2;
    }
    lua.pushnil(L);
    return 1;
}

static int pairs_options(lua_State *L)
{
    (void)view_at(L, 1);
    lua.pushcclosure(L, next_option, 0);
    lua.pushvalue(L, 1);
    lua.pushnil(L);
    return 3;
}

static void push_options(const struct cli *c, lua_State *L, struct jobopts *jo,
                         enum opt_source source)
{
    struct view *v = lua.newuserdata(L, sizeof(*v), 0);

    *v = (struct view){ c->filter, jo, source, luascript_call_id(c->filter) };
    if (lua.newmetatable(L, options_meta)) {
        luascript_function(L, "__index", get_option);
        luascript_function(L, "__newindex", set_option);
        luascript_function(L, "__pairs", pairs_options);
    }
    lua_drop(L, 1);
    lua.setmetatable(L, options_meta);
}

/* ---- the table slurm ------------------------------------------------------------------------- */

/* JSON of the table on top of the stack, in its place. */
static int to_json(lua_State *L)
{
    char *text = NULL;
    size_t len;
    FILE *f = open_memstream(&text, &len);

    if (!f)
        return lua.error(L, ERR_NOMEM);
    luascript_json(L, lua.gettop(L), f);
    if (fclose(f) != 0) {
        free(text);
        return lua.error(L, ERR_NOMEM);
    }
    lua.pushbytes(L, text, len);
    free(text);
    return 1;
}

static int json_options(lua_State *L)
{
    struct view *v = view_at(L, 1);
    const struct opt_command *cmd = jobopts_command(v->jo->cmd);

    lua.newtable(L, 0, 16);
    for (size_t i = 0; i < cmd->n; i++)
        if (row_applies(cmd, &cmd->rows[i]) && push_option(L, v, &cmd->rows[i]))
            lua.setfield(L, -2, cmd->rows[i].name);
    return to_json(L);
}

static int json_env(lua_State *L)
{
    lua.newtable(L, 0, 64);
    for (char **e = environ; e && *e; e++) {
        const char *is = strchr(*e, '=');

        if (!is)
            continue;
        lua.pushbytes(L, *e, (size_t)(is - *e));
        lua.pushtext(L, is + 1);
        lua.settable(L, -3);
    }
    return to_json(L);
}

/* cli_store(k, v) keeps a value for the functions called later; cli_retrieve(k) gives it. */
static int cli_store(lua_State *L)
{
    lua.settop(L, 2);
    if (lua.getfield(L, LUA_REGISTRYINDEX, store_key) != LUA_TTABLE) {
        lua_drop(L, 1);
        lua.newtable(L, 0, 4);
        lua.pushvalue(L, -1);
        lua.setfield(L, LUA_REGISTRYINDEX, store_key);
    }
    lua.rotate(L, 1, 1);
    lua.settable(L, 1);
    return 0;
}

static int cli_retrieve(lua_State *L)
{
    const char *key = lua.check_text(L, 1, NULL);

    if (lua.getfield(L, LUA_REGISTRYINDEX, store_key) == LUA_TTABLE)
        (void)lua.getfield(L, -1, key);
    else
        lua.pushnil(L);
    return 1;
}

static void add_functions(lua_State *L, void *ctx)
{
    const struct cli *c = ctx;

    luascript_function(L, "json_cli_options", json_options);
    luascript_function(L, "json_env", json_env);
    luascript_function(L, "cli_store", cli_store);
    luascript_function(L, "cli_retrieve", cli_retrieve);
    lua.pushtext(L, c->program);
    lua.setfield(L, -2, "program");
}

static void to_user(int level, const char *text)
{
    if (level <= LOG_ERROR)
        cli_error("%s", text);
    else if (level == LOG_INFO)
        cli_info("%s", text);
    else
        cli_verbose(level - LOG_INFO, "%s", text);
}

/* ---- the three functions --------------------------------------------------------------------- */

static void print_messages(const struct luascript *script)
{
    for (const char *p = luascript_messages(script); *p;) {
        size_t n = strcspn(p, "\n");

        cli_info("%.*s", (int)n, p);
        p += n + (p[n] == '\n');
    }
}

static void open_script(struct cli *c)
{
    const char *dir = conf_path(cli_conf(c)), *slash = strrchr(dir, '/'), *value;
    _cleanup_free_ char *path = NULL;
    struct err err = { .text = "" };
    size_t len;

    if (c->filter)
        return;
    if (conf_option(cli_conf(c), CONF_CLI_FILTER_PARAMETERS, "cli_filter_lua_path", &value, &len))
        path = xasprintf_or_die("%.*s", (int)len, value);
    else
        path = xasprintf_or_die("%.*scli_filter.lua", slash ? (int)(slash + 1 - dir) : 0, dir);
    if (luascript_new(path, LIMIT_US, to_user, add_functions, c, &c->filter, &err) < 0)
        cli_fatal("%s", err_or_nomem(&err));
}

static lua_State *begin_call(struct cli *c, const char *function)
{
    struct err err = { .text = "" };
    lua_State *L;

    open_script(c);
    if (luascript_begin(c->filter, function, &L, &err) < 0)
        cli_fatal("%s", err.text);
    return L;
}

static void finish_call(struct cli *c, int n)
{
    struct err err = { .text = "" };
    int64_t answer = 0;
    int r = luascript_run(c->filter, n, &answer, &err);

    print_messages(c->filter);
    if (r < 0)
        cli_error("%s", err.text);
    if (r < 0 || answer != 0)
        cli_die(CLI_EXIT_FAILED, "cli_filter plugin terminated with error");
}

void clifilter_lua_defaults(struct cli *c, struct jobopts *jo)
{
    for (int pass = 0; pass < 2; pass++) {
        lua_State *L = begin_call(c, "slurm_cli_setup_defaults");

        push_options(c, L, jo, OPT_FROM_DEFAULTS);
        lua.pushboolean(L, pass == 0); /* early_pass */
        finish_call(c, 2);
    }
}

void clifilter_lua_pre_submit(struct cli *c, struct jobopts *jo, unsigned offset)
{
    lua_State *L = begin_call(c, "slurm_cli_pre_submit");

    push_options(c, L, jo, OPT_FROM_FILTER);
    lua.pushinteger(L, offset);
    finish_call(c, 2);
}

void clifilter_lua_post_submit(struct cli *c, unsigned offset, uint32_t job_id, uint32_t step_id)
{
    lua_State *L = begin_call(c, "slurm_cli_post_submit");

    lua.pushinteger(L, offset);
    lua.pushinteger(L, job_id);
    lua.pushinteger(L, step_id);
    finish_call(c, 3);
}

void clifilter_end(struct cli *c)
{
    c->filter = luascript_free(c->filter);
}
