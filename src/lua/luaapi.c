/* luaapi.c - see luaapi.h */
#include "lua/luaapi.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/process/loadlib.h"
#include "base/processonce.h"

#define LIBRARY "liblua5.4.so.0"

struct library {
    struct err why; /* the library is not there; "": it is */
    struct lua_api api;
};

static void *load_library(void)
{
    struct library *l = calloc(1, sizeof(*l));
    const struct loadlib_symbol symbols[] = {
#define LUA_API_ROW(member, symbol) { #symbol, l ? &l->api.member : NULL },
        LUA_API_FUNCTIONS(LUA_API_ROW)
#undef LUA_API_ROW
    };

    /* Global: modules in C that a script requires look for its symbols. */
    if (l)
        (void)loadlib("a Lua script", LIBRARY, "liblua5.4-0", RTLD_GLOBAL, symbols,
                      ARRAY_SIZE(symbols), &l->why);
    return l;
}

int lua_api_load(struct err *err)
{
    const struct library *l = processonce(load_library);

    if (!l)
        return err_nomem(err);
    return l->why.text[0] ? err_set(err, -ENOENT, "%s", l->why.text) : 0;
}

const struct lua_api *lua_api(void)
{
    const struct library *l = processonce(load_library);

    return &l->api;
}
