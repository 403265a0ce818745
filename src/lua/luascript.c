/* luascript.c - see luascript.h */
#include "lua/luascript.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/pb/pbutil.h"
#include "base/strbuf.h"
#include "base/timefmt.h"

#define HOOK_INSTRUCTIONS 10000 /* between two looks at the clock */

struct luascript {
    char *path;
    int64_t limit_us, deadline_us;
    luascript_log_fn *log;
    luascript_setup_fn *setup;
    void *ctx;
    lua_State *L;     /* NULL: not loaded yet */
    struct stat stat; /* of the file that was loaded, or did not load, last */
    uint64_t call_id;
    struct strbuf chunk_name, messages;
    const char *text; /* while it is being loaded */
};

static const char self_key[] = "penstock.script"; /* in Lua's registry */

struct luascript *luascript_of(lua_State *L)
{
    struct luascript *s;

    (void)lua.getfield(L, LUA_REGISTRYINDEX, self_key);
    s = lua.to_userdata(L, -1);
    lua_drop(L, 1);
    return s;
}

void *luascript_ctx(const struct luascript *s)
{
    return s->ctx;
}

/* ---- what every script gets ------------------------------------------------------------------ */

/* Leaves the text of the arguments on the stack: the first is a format when there are more. */
static const char *format_message(lua_State *L)
{
    int n = lua.gettop(L);

    if (n == 1)
        return lua.any_to_text(L, 1, NULL);
    (void)lua.check_text(L, 1, NULL);
    (void)lua.getglobal(L, "string");
    (void)lua.getfield(L, -1, "format");
    lua.rotate(L, 1, 1); /* the function below its arguments */
    lua_drop(L, 1);      /* the table */
    lua.call(L, n, 1, 0, NULL);
    return lua.to_text(L, -1, NULL);
}

static int log_at(lua_State *L, int level)
{
    struct luascript *s = luascript_of(L);
    const char *text = format_message(L);

    s->log(level, text ? text : "");
    return 0;
}

#define LOG_FUNCTION(name, level)                                                                  \
    static int name(lua_State *L)                                                                  \
    {                                                                                              \
        return log_at(L, level);                                                                   \
    }
LOG_FUNCTION(script_error, LOG_ERROR)
LOG_FUNCTION(script_info, LOG_INFO)
LOG_FUNCTION(script_verbose, LOG_VERBOSE)
LOG_FUNCTION(script_debug, LOG_DEBUG)
LOG_FUNCTION(script_debug2, LOG_DEBUG2)
LOG_FUNCTION(script_debug3, LOG_DEBUG3)
LOG_FUNCTION(script_debug4, LOG_DEBUG4)

/* log(level, text): 0 is info, and each further one is quieter. */
static int script_log(lua_State *L)
{
    static const int levels[] = { LOG_INFO,   LOG_VERBOSE, LOG_DEBUG,
                                  LOG_DEBUG2, LOG_DEBUG3,  LOG_DEBUG4 };
    struct luascript *s = luascript_of(L);
    int64_t level = lua.check_integer(L, 1);
    const char *text = lua.check_text(L, 2, NULL);
    int64_t last = (int64_t)ARRAY_SIZE(levels) - 1;

    s->log(levels[level < 0 ? 0 : MIN(level, last)], text);
    return 0;
}

static int script_user(lua_State *L)
{
    struct luascript *s = luascript_of(L);
    const char *text = format_message(L);

    if (text && s->messages.len + strlen(text) < LUA_MESSAGES_MAX_BYTES) {
        if (s->messages.len)
            strbuf_addc(&s->messages, '\n');
        strbuf_add(&s->messages, text);
    }
    return 0;
}

void luascript_function(lua_State *L, const char *name, lua_CFunction f)
{
    lua.pushcclosure(L, f, 0);
    lua.setfield(L, -2, name);
}

void luascript_constants(lua_State *L, const struct luascript_constant *list, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        lua.pushinteger(L, list[i].value);
        lua.setfield(L, -2, list[i].name);
    }
}

static void set_up(struct luascript *s, lua_State *L)
{
    static const struct {
        const char *name;
        lua_CFunction f;
    } functions[] = {
        { "log_error", script_error },   { "error", script_error },
        { "log_info", script_info },     { "log_verbose", script_verbose },
        { "log_debug", script_debug },   { "log_debug2", script_debug2 },
        { "log_debug3", script_debug3 }, { "log_debug4", script_debug4 },
        { "log_user", script_user },     { "user_msg", script_user },
        { "log", script_log },
    };
    static const struct luascript_constant constants[] = {
        { "SUCCESS", 0 },
        { "ERROR", -1 },
        { "FAILURE", -1 },
        { "NO_VAL8", 0xfe },
        { "NO_VAL16", 0xfffe },
        { "NO_VAL", 0xfffffffe },
        { "NO_VAL64", (int64_t)UINT64_C(0xfffffffffffffffe) },
        { "INFINITE", 0xffffffff },
        { "INFINITE16", 0xffff },
        { "INFINITE64", (int64_t)UINT64_MAX },
    };

    lua.openlibs(L);
    lua.newtable(L, 0, 64);
    for (size_t i = 0; i < ARRAY_SIZE(functions); i++)
        luascript_function(L, functions[i].name, functions[i].f);
    luascript_constants(L, constants, ARRAY_SIZE(constants));
    if (s->setup)
        s->setup(L, s->ctx);
    lua.setglobal(L, "slurm");
}

/* ---- running --------------------------------------------------------------------------------- */

static void watch_clock(lua_State *L, lua_Debug *ar)
{
    const struct luascript *s = luascript_of(L);

    (void)ar;
    if (now_mono_us() <= s->deadline_us)
        return;
    /* Whoever catches this has no instruction left, nor have those that called it. */
    lua.sethook(L, watch_clock, LUA_MASKCOUNT, 1);
    (void)lua.error(L, "it ran for more than %d ms", (int)(s->limit_us / 1000));
}

static int with_place(lua_State *L)
{
    const char *text = lua.any_to_text(L, 1, NULL);

    lua.traceback(L, L, text, 1);
    return 1;
}

/* Function and n arguments are on the stack, below them what must stay. */
static int call_guarded(struct luascript *s, lua_State *L, int n, int results, struct err *err)
{
    int handler = lua.gettop(L) - n, r;
    const char *text;

    lua.pushcclosure(L, with_place, 0);
    lua.rotate(L, handler, 1);
    s->deadline_us = now_mono_us() + s->limit_us;
    lua.sethook(L, watch_clock, LUA_MASKCOUNT, HOOK_INSTRUCTIONS);
    r = lua.pcall(L, n, results, handler, 0, NULL);
    if (r == LUA_OK)
        return 0;
    text = lua.to_text(L, -1, NULL);
    if (text && strncmp(text, s->path, strlen(s->path)) == 0)
        return err_set(err, -EINVAL, "%s", text); /* Lua says where */
    return err_set(err, -EINVAL, "%s: %s", s->path, text ? text : "an error that is no text");
}

/* ---- the file -------------------------------------------------------------------------------- */

static int read_file(const char *path, char **ret, struct stat *ret_stat, struct err *err)
{
    _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
    _cleanup_free_ char *text = NULL;
    size_t len = 0;
    ssize_t n;

    if (fd < 0 || fstat(fd, ret_stat) < 0)
        return err_set(err, -errno, "%s: %s", path, strerror(errno));
    if (!S_ISREG(ret_stat->st_mode) || ret_stat->st_size > LUA_SCRIPT_MAX_BYTES)
        return err_set(err, -EFBIG, "%s: a script is a file of at most %u MiB", path,
                       LUA_SCRIPT_MAX_BYTES >> 20);
    text = malloc((size_t)ret_stat->st_size + 1);
    if (!text)
        return -ENOMEM;
    while (len < (size_t)ret_stat->st_size &&
           (n = read(fd, text + len, (size_t)ret_stat->st_size - len)) > 0)
        len += (size_t)n;
    text[len] = '\0';
    ret_stat->st_size = (off_t)len;
    *ret = TAKE_PTR(text);
    return 0;
}

static bool same_file(const struct stat *a, const struct stat *b)
{
    return a->st_ino == b->st_ino && a->st_dev == b->st_dev && a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

/* In the new state: what fails, memory too, is an error like the script's own. */
static int boot_state(lua_State *L)
{
    struct luascript *s = lua.to_userdata(L, 1);

    lua.setfield(L, LUA_REGISTRYINDEX, self_key);
    set_up(s, L);
    if (lua.loadbuffer(L, s->text, strlen(s->text), strbuf_str(&s->chunk_name), "t") != LUA_OK)
        return lua.error(L, "%s", lua.to_text(L, -1, NULL));
    lua.call(L, 0, 0, 0, NULL);
    return 0;
}

/* The script in a state of its own; its main part has run. */
static int load_script(struct luascript *s, struct err *err)
{
    _cleanup_free_ char *text = NULL;
    lua_State *L;
    int r = read_file(s->path, &text, &s->stat, err);

    if (r < 0)
        return r;
    L = lua.newstate();
    if (!L)
        return -ENOMEM;
    s->text = text;
    s->call_id++;
    lua.pushcclosure(L, boot_state, 0);
    lua.pushpointer(L, s);
    r = call_guarded(s, L, 1, 0, err);
    s->text = NULL;
    if (r < 0) {
        lua.close(L);
        return r;
    }
    lua.settop(L, 0);
    if (s->L)
        lua.close(s->L);
    s->L = L;
    return 0;
}

static int refresh_script(struct luascript *s, struct err *err)
{
    struct stat now;
    struct err why = { .text = "" };
    bool same = s->stat.st_ino && stat(s->path, &now) == 0 && same_file(&now, &s->stat);

    if (same && s->L)
        return 0;
    if (!s->L)
        return load_script(s, err);
    if (load_script(s, &why) < 0) {
        char line[ERR_TEXT_MAX + 64];

        (void)snprintf(line, sizeof(line), "the script that was there before goes on: %s",
                       why.text);
        s->log(LOG_ERROR, line);
    }
    return 0;
}

/* ---- interface ------------------------------------------------------------------------------- */

int luascript_new(const char *path, int64_t limit_us, luascript_log_fn *log,
                  luascript_setup_fn *setup, void *ctx, struct luascript **ret, struct err *err)
{
    struct luascript *s;
    int r = lua_api_load(err);

    if (r < 0)
        return r;
    s = calloc(1, sizeof(*s));
    if (s)
        s->path = strdup(path);
    if (!s || !s->path) {
        free(s);
        return -ENOMEM;
    }
    s->limit_us = limit_us;
    s->log = log;
    s->setup = setup;
    s->ctx = ctx;
    strbuf_addf(&s->chunk_name, "@%s", path); /* messages name the file */
    *ret = s;
    return 0;
}

struct luascript *luascript_free(struct luascript *s)
{
    if (!s)
        return NULL;
    if (s->L)
        lua.close(s->L);
    strbuf_done(&s->messages);
    strbuf_done(&s->chunk_name);
    free(s->path);
    free(s);
    return NULL;
}

/* The global of that name; a script may raise an error for one that it never set. */
static int find_global(lua_State *L)
{
    (void)lua.getglobal(L, lua.to_userdata(L, 1));
    return 1;
}

int luascript_begin(struct luascript *s, const char *name, lua_State **ret_L, struct err *err)
{
    int r = refresh_script(s, err);

    if (r < 0)
        return r;
    strbuf_reset(&s->messages);
    s->call_id++;
    lua.settop(s->L, 0);
    lua.pushcclosure(s->L, find_global, 0);
    lua.pushpointer(s->L, (void *)(uintptr_t)name); /* only read */
    if (call_guarded(s, s->L, 1, 1, NULL) < 0 || lua.type(s->L, -1) != LUA_TFUNCTION) {
        lua.settop(s->L, 0);
        return err_set(err, -ENOENT, "%s: there is no function %s", s->path, name);
    }
    lua.rotate(s->L, 1, 1); /* what call_guarded() put below it goes */
    lua.settop(s->L, 1);
    *ret_L = s->L;
    return 0;
}

int luascript_run(struct luascript *s, int n, int64_t *ret, struct err *err)
{
    int r = call_guarded(s, s->L, n, 1, err), is_number = 0;

    if (r == 0) {
        *ret = lua.to_integer(s->L, -1, &is_number);
        if (!is_number)
            *ret = -1;
    }
    lua.settop(s->L, 0);
    return r;
}

const char *luascript_messages(const struct luascript *s)
{
    return strbuf_str(&s->messages);
}

uint64_t luascript_call_id(const struct luascript *s)
{
    return s->call_id;
}

static bool is_scalar(int type)
{
    return type == LUA_TSTRING || type == LUA_TNUMBER || type == LUA_TBOOLEAN;
}

void luascript_json(lua_State *L, int index, FILE *f)
{
    bool first = true;

    (void)fputc('{', f);
    lua.pushnil(L);
    while (lua.next(L, index)) {
        if (lua.type(L, -2) == LUA_TSTRING && is_scalar(lua.type(L, -1))) {
            if (!first)
                (void)fputc(',', f);
            first = false;
            pb_json_string(f, lua.to_text(L, -2, NULL));
            (void)fputc(':', f);
            pb_json_string(f, lua.any_to_text(L, -1, NULL));
            lua_drop(L, 1);
        }
        lua_drop(L, 1);
    }
    (void)fputc('}', f);
}
