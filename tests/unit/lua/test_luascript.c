/* test_luascript.c - scripts of the site: loaded, loaded again, called with a limit of time, and
 * what such a script may do wrong */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/timefmt.h"
#include "lua/luaapi.h"
#include "lua/luascript.h"

#include "folder_util.h"

#define LIMIT_US 200000

static char dir[256], path[300];
static char said[1024]; /* what the script logged, "LEVEL text" in lines */
static struct luascript *script;
static int version; /* of the file: each has another length */

static void hear_log(int level, const char *text)
{
    size_t len = strlen(said);

    (void)snprintf(said + len, sizeof(said) - len, "%d %s\n", level, text);
}

static int add_answer(lua_State *L)
{
    lua.pushinteger(L, 42);
    return 1;
}

static void add_more(lua_State *L, void *ctx)
{
    static const struct luascript_constant constants[] = { { "SEVEN", 7 } };

    assert_ptr_equal(ctx, dir);
    luascript_constants(L, constants, 1);
    luascript_function(L, "answer", add_answer);
}

static int open_script(void **state)
{
    struct err err = { .text = "" };

    (void)state;
    folder_make(dir, sizeof(dir), "lua");
    (void)snprintf(path, sizeof(path), "%s/site.lua", dir);
    said[0] = '\0';
    assert_int_equal(luascript_new(path, LIMIT_US, hear_log, add_more, dir, &script, &err), 0);
    return 0;
}

static int close_script(void **state)
{
    (void)state;
    script = luascript_free(script);
    assert_null(script);
    folder_remove(dir);
    return 0;
}

static void write_script(const char *text)
{
    FILE *f = fopen(path, "we");

    assert_non_null(f);
    assert_true(fprintf(f, "%s\n--%*s\n", text, ++version, "") > 0);
    assert_int_equal(fclose(f), 0);
}

/* What a function without arguments gives; a negative errno is told in *ret_r. */
static int64_t call_named(const char *name, int *ret_r, struct err *err)
{
    lua_State *L = NULL;
    int64_t n = -77;

    err->text[0] = '\0';
    *ret_r = luascript_begin(script, name, &L, err);
    if (*ret_r == 0)
        *ret_r = luascript_run(script, 0, &n, err);
    return n;
}

static void expect_number(const char *name, int64_t want)
{
    struct err err;
    int r;
    int64_t n = call_named(name, &r, &err);

    if (r < 0)
        fail_msg("%s: %s", name, err.text);
    assert_true(n == want);
}

static void expect_failure(const char *name, int want, const char *words)
{
    struct err err;
    int r;

    (void)call_named(name, &r, &err);
    assert_int_equal(r, want);
    if (!strstr(err.text, words))
        fail_msg("%s: no word of %s", err.text, words);
}

static void test_results(void **state)
{
    (void)state;
    write_script("function five() return 5 end function none() end\n"
                 "function text() return 'x' end function digits() return '12' end\n"
                 "function half() return 0.5 end function own() return slurm.SEVEN end\n"
                 "function answer() return slurm.answer() end\n"
                 "function no_val() return slurm.NO_VAL end\n"
                 "function failure() return slurm.FAILURE end not_one = 3");
    expect_number("five", 5);
    expect_number("none", -1); /* nil, and what is no number */
    expect_number("text", -1);
    expect_number("digits", 12);
    expect_number("half", -1);
    expect_number("own", 7);
    expect_number("answer", 42);
    expect_number("no_val", INT64_C(4294967294));
    expect_number("failure", -1);
    expect_failure("nothing", -ENOENT, "there is no function nothing");
    expect_failure("not_one", -ENOENT, "there is no function not_one");
}

static void test_mistakes(void **state)
{
    (void)state;
    expect_failure("f", -ENOENT, path); /* no file */
    write_script("function f( return end");
    expect_failure("f", -EINVAL, path);
    write_script("error('at once')");
    expect_failure("f", -EINVAL, "at once");
    write_script("function f() local x = nil; return x.y end function g() error({}) end");
    expect_failure("f", -EINVAL, path);
    expect_failure("g", -EINVAL, path);
}

/* A script is read again when the file is another; one that does not load changes nothing. */
static void test_again(void **state)
{
    (void)state;
    write_script("count = 0 function f() count = count + 1 return count end");
    expect_number("f", 1);
    expect_number("f", 2); /* the same state */
    write_script("function f() return 100 end");
    expect_number("f", 100);
    assert_string_equal(said, "");
    write_script("function f( broken");
    expect_number("f", 100);
    assert_non_null(strstr(said, "the script that was there before goes on"));
    said[0] = '\0';
    expect_number("f", 100); /* told once */
    assert_string_equal(said, "");
    assert_int_equal(unlink(path), 0);
    expect_number("f", 100);
    write_script("function f() return 200 end");
    expect_number("f", 200);
}

static void test_words(void **state)
{
    (void)state;
    write_script("function f() slurm.log_info('a %d %s', 5, 'b') slurm.log_error('c')\n"
                 "slurm.log(0, 'd') slurm.log(99, 'e') slurm.log_user('for %s', 'you')\n"
                 "slurm.user_msg('and you') return 0 end function g() return 0 end\n"
                 "function h() slurm.log_info('%d', 'x') end");
    assert_string_equal(luascript_messages(script), "");
    expect_number("f", 0);
    assert_string_equal(luascript_messages(script), "for you\nand you");
    {
        char want[128];

        (void)snprintf(want, sizeof(want), "%d a 5 b\n%d c\n%d d\n%d e\n", LOG_INFO, LOG_ERROR,
                       LOG_INFO, LOG_DEBUG4);
        assert_string_equal(said, want);
    }
    expect_number("g", 0);
    assert_string_equal(luascript_messages(script), ""); /* of this call */
    expect_failure("h", -EINVAL, "number expected");
}

/* However much a script says, the user gets a bearable part. */
static void test_many_words(void **state)
{
    (void)state;
    write_script("function f() for i = 1, 5000 do slurm.log_user('0123456789') end\n"
                 "slurm.log_user(string.rep('x', 100000)) return 0 end");
    expect_number("f", 0);
    assert_true(strlen(luascript_messages(script)) <= LUA_MESSAGES_MAX_BYTES);
    assert_true(strlen(luascript_messages(script)) > LUA_MESSAGES_MAX_BYTES / 2);
}

static void expect_broken_off(const char *name)
{
    int64_t began = now_mono_us();

    expect_failure(name, -EINVAL, "it ran for more than 200 ms");
    assert_true(now_mono_us() - began >= LIMIT_US);
}

/* A script that does not end is broken off, whatever it catches. */
static void test_endless(void **state)
{
    (void)state;
    write_script("function plain() while true do end end\n"
                 "function caught() while true do pcall(function() while true do end end) end end\n"
                 "function nested() local function f(n) while true do\n"
                 "  pcall(n > 0 and function() f(n - 1) end or function() while true do end end)\n"
                 "end end f(20) end\n"
                 "function threads() while true do\n"
                 "  local c = coroutine.create(function() while true do end end)\n"
                 "  coroutine.resume(c) end end\n"
                 "function good() return 3 end");
    expect_broken_off("plain");
    expect_broken_off("caught");
    expect_broken_off("nested");
    expect_broken_off("threads");
    expect_number("good", 3); /* the next call has its own time */
    write_script("while true do pcall(function() while true do end end) end");
    expect_number("good", 3); /* the main part too */
    assert_non_null(strstr(said, "it ran for more than"));
}

/* Scripts that refuse to read what they never set: asking for a function is no mistake of ours. */
static void test_strict(void **state)
{
    (void)state;
    write_script("function f() return 1 end setmetatable(_G, { __index = function(t, name)\n"
                 "error('undefined variable ' .. name) end })");
    expect_number("f", 1);
    expect_failure("g", -ENOENT, "g");
    expect_number("f", 1);
}

static void test_calls(void **state)
{
    uint64_t first, second;
    lua_State *L = NULL;
    struct err err = { .text = "" };
    int64_t n;

    (void)state;
    write_script("function add(a, b) return a + b end");
    assert_int_equal(luascript_begin(script, "add", &L, &err), 0);
    first = luascript_call_id(script);
    assert_ptr_equal(luascript_of(L), script);
    assert_ptr_equal(luascript_ctx(script), dir);
    lua.pushinteger(L, 20);
    lua.pushinteger(L, 3);
    assert_int_equal(luascript_run(script, 2, &n, &err), 0);
    assert_true(n == 23);
    assert_int_equal(lua.gettop(L), 0); /* nothing is left */
    assert_int_equal(luascript_begin(script, "add", &L, &err), 0);
    second = luascript_call_id(script);
    assert_true(first != second);
    assert_int_equal(luascript_run(script, 0, &n, &err), -EINVAL);
    assert_int_equal(lua.gettop(L), 0);
}

static void test_json(void **state)
{
    lua_State *L = NULL;
    struct err err = { .text = "" };
    char *text = NULL;
    size_t len = 0;
    int64_t n;
    FILE *f;

    (void)state;
    write_script("function f() end t = { name = 'a\"b\\n' } u = { n = 5, yes = true, [1] = 'no',\n"
                 "deep = {}, fn = print } e = {}");
    assert_int_equal(luascript_begin(script, "f", &L, &err), 0);
    f = open_memstream(&text, &len);
    assert_non_null(f);
    (void)lua.getglobal(L, "t");
    luascript_json(L, lua.gettop(L), f);
    (void)lua.getglobal(L, "e");
    luascript_json(L, lua.gettop(L), f);
    (void)lua.getglobal(L, "u");
    luascript_json(L, lua.gettop(L), f);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(strncmp(text, "{\"name\":\"a\\\"b\\n\"}{}{", 20), 0);
    assert_non_null(strstr(text, "\"n\":\"5\""));
    assert_non_null(strstr(text, "\"yes\":\"true\""));
    assert_null(strstr(text, "no"));
    assert_null(strstr(text, "deep"));
    free(text);
    lua.settop(L, 0);
    (void)lua.getglobal(L, "f");
    assert_int_equal(luascript_run(script, 0, &n, &err), 0);
}

static void test_files(void **state)
{
    (void)state;
    assert_int_equal(mkdir(path, 0700), 0);
    expect_failure("f", -EFBIG, "a script is a file of at most 4 MiB");
    assert_int_equal(rmdir(path), 0);
    write_script("");
    assert_int_equal(truncate(path, (off_t)LUA_SCRIPT_MAX_BYTES + 1), 0);
    expect_failure("f", -EFBIG, "a script is a file of at most 4 MiB");
    write_script("\x1bLua"); /* compiled code could do anything */
    expect_failure("f", -EINVAL, path);
}

int main(void)
{
#define WITH_SCRIPT(f) cmocka_unit_test_setup_teardown(f, open_script, close_script)
    const struct CMUnitTest tests[] = {
        WITH_SCRIPT(test_results), WITH_SCRIPT(test_mistakes),   WITH_SCRIPT(test_again),
        WITH_SCRIPT(test_words),   WITH_SCRIPT(test_many_words), WITH_SCRIPT(test_strict),
        WITH_SCRIPT(test_calls),   WITH_SCRIPT(test_json),       WITH_SCRIPT(test_files),
        WITH_SCRIPT(test_endless),
    };
    struct err err = { .text = "" };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    if (lua_api_load(&err) < 0) {
        (void)printf("1..0 # skip %s\n", err.text);
        return 0;
    }
    return cmocka_run_group_tests_name("luascript", tests, NULL, NULL);
}
