/* luaapi.c - see luaapi.h */
#include "lua/luaapi.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/process/loadlib.h"
#include "base/processonce.h"

#define LIBRARY "liblua5.4.so.0"

struct lua_api lua;

static void *load_library(void)
{
    struct err *err = calloc(1, sizeof(*err)); /* why it is not there; "": it is */
    static const struct loadlib_symbol symbols[] = {
#define LUA_API_ROW(member, symbol) { #symbol, &lua.member },
        LUA_API_FUNCTIONS(LUA_API_ROW)
#undef LUA_API_ROW
    };

    /* Global: modules in C that a script requires look for its symbols. */
    if (err)
        (void)loadlib("a Lua script", LIBRARY, "liblua5.4-0", RTLD_GLOBAL, symbols,
                      ARRAY_SIZE(symbols), err);
    return err;
}

int lua_api_load(struct err *err)
{
    const struct err *why = processonce(load_library);

    if (!why)
        return err_nomem(err);
    return why->text[0] ? err_set(err, -ENOENT, "%s", why->text) : 0;
}
