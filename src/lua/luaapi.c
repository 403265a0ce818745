/* luaapi.c - see luaapi.h */
#include "lua/luaapi.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>

#include "base/cleanup.h"

#define LIBRARY "liblua5.4.so.0"

struct lua_api lua;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct err load_err;
static int load_result;

static void load_library(void)
{
    static const struct {
        const char *name;
        void *to;
    } symbols[] = {
#define LUA_API_ROW(member, symbol) { #symbol, &lua.member },
        LUA_API_FUNCTIONS(LUA_API_ROW)
#undef LUA_API_ROW
    };
    void *lib = dlopen(
        LIBRARY,
        RTLD_NOW | RTLD_GLOBAL); /* modules in C that a script requires look for its symbols */

    if (!lib) {
        load_result = err_set(&load_err, -ENOENT, "Lua scripts need %s (package liblua5.4-0): %s",
                              LIBRARY, dlerror());
        return;
    }
    for (size_t i = 0; i < ARRAY_SIZE(symbols); i++) {
        void *symbol = dlsym(lib, symbols[i].name);

        if (!symbol) {
            load_result = err_set(&load_err, -ENOENT, "%s has no %s", LIBRARY, symbols[i].name);
            return;
        }
        *(void **)symbols[i].to = symbol;
    }
}

int lua_api_load(struct err *err)
{
    (void)pthread_once(&once, load_library);
    return load_result < 0 ? err_set(err, load_result, "%s", load_err.text) : 0;
}
