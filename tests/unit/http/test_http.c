/* test_http.c - requests over a socket: health, who asks, answers that are kept */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/timefmt.h"
#include "http/http.h"
#include "http/httpaccess.h"
#include "http/httphealth.h"

/* The answer to text, of one request. */
static char *ask_fd(int fd, const char *text)
{
    static char answer[8192];
    size_t len = 0;
    ssize_t n;

    assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
    assert_int_equal(shutdown(fd, SHUT_WR), 0);
    while ((n = recv(fd, answer + len, sizeof(answer) - 1 - len, 0)) > 0)
        len += (size_t)n;
    answer[len] = '\0';
    assert_int_equal(close(fd), 0);
    return answer;
}

static char *ask_http(struct http *h, const char *text)
{
    int sv[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv), 0);
    http_take(h, sv[1]);
    return ask_fd(sv[0], text);
}

static bool starts_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

/* ---- health ---------------------------------------------------------------------------------- */

static bool ready = true;

static bool is_ready(void *ctx, struct strbuf *told)
{
    strbuf_add(told, "connections: 1\n");
    return *(bool *)ctx;
}

static void test_health(void **state)
{
    const struct httphealth_config config = { "slurmd", is_ready, &ready };
    struct httphealth *h = NULL;
    int sv[2];

    assert_int_equal(httphealth_new(&config, &h, NULL), 0);
    for (int good = 1; good >= 0; good--) {
        ready = good;
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv), 0);
        httphealth_take(h, sv[1]);
        assert_true(starts_with(ask_fd(sv[0], "GET /readyz HTTP/1.1\r\nHost: a\r\n\r\n"),
                                good ? "HTTP/1.1 204" : "HTTP/1.1 500"));
    }
    httphealth_switch(h, false);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv), 0);
    httphealth_take(h, sv[1]);
    assert_true(recv(sv[0], &sv[1], 1, 0) <= 0);
    assert_int_equal(close(sv[0]), 0);
    assert_null(httphealth_free(h));
}

/* ---- answers --------------------------------------------------------------------------------- */

static unsigned made;

static unsigned answer_count(void *ctx, const struct http_request *r, struct strbuf *body,
                             struct err *err)
{
    strbuf_addf(body, "made %u%s\n", ++made, http_request_asks(r, "x") ? ", x" : "");
    return HTTP_OK;
}

static const struct http_path paths[] = {
    { .path = "/each", .answer = answer_count },
    { .path = "/kept", .answer = answer_count, .keep_ms = 60000 },
    { 0 },
};

static void test_kept(void **state)
{
    const struct http_config config = { "test", paths, NULL };
    struct http *h = NULL;

    assert_int_equal(http_new(&config, &h, NULL), 0);
    made = 0;
    assert_non_null(strstr(ask_http(h, "GET /each HTTP/1.1\r\nHost: a\r\n\r\n"), "\r\nmade 1\n"));
    assert_non_null(
        strstr(ask_http(h, "GET /each?y&x=2 HTTP/1.1\r\nHost: a\r\n\r\n"), "made 2, x\n"));
    for (unsigned i = 0; i < 3; i++)
        assert_non_null(strstr(ask_http(h, "GET /kept HTTP/1.1\r\nHost: a\r\n\r\n"), "made 3\n"));
    assert_null(strstr(ask_http(h, "HEAD /kept HTTP/1.1\r\nHost: a\r\n\r\n"), "made"));
    assert_true(starts_with(ask_http(h, "PUT /kept HTTP/1.1\r\nHost: a\r\n\r\n"), "HTTP/1.1 404"));
    assert_null(http_free(h));
}

/* ---- tokens ---------------------------------------------------------------------------------- */

static struct httpaccess *access_of_test;
static char *found;

static unsigned answer_user(void *ctx, const struct http_request *r, struct strbuf *body,
                            struct err *err)
{
    unsigned status = httpaccess_user(access_of_test, r, &found, err);

    if (status)
        return status;
    strbuf_addf(body, "user %s\n", found);
    free(found);
    return HTTP_OK;
}

static unsigned allow_admin(void *ctx, const struct http_request *r, struct err *err)
{
    return httpaccess_admin(access_of_test, r, err);
}

static const struct http_path token_paths[] = {
    { .path = "/who", .answer = answer_user },
    { .path = "/admin", .answer = answer_user, .allow = allow_admin },
    { 0 },
};

static struct auth_keys *make_keys(void)
{
    char path[] = "/tmp/test_http.XXXXXX";
    struct auth_keys *keys = NULL;
    struct err err = { .text = "" };
    int fd = mkstemp(path);

    assert_true(fd >= 0);
    assert_int_equal(close(fd), 0);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(auth_keys_create(path, &err), 0);
    assert_int_equal(auth_keys_load(path, &keys, &err), 0);
    assert_int_equal(unlink(path), 0);
    return keys;
}

static void expect_status(struct http *h, const char *path, const char *header, const char *token,
                          const char *more, const char *wanted)
{
    char text[2048];

    (void)snprintf(text, sizeof(text), "GET %s HTTP/1.1\r\nHost: a\r\n%s%s\r\n%s\r\n", path, header,
                   token, more);
    assert_non_null(strstr(ask_http(h, text), wanted));
}

static void test_tokens(void **state)
{
    const struct http_config config = { "test", token_paths, NULL };
    struct auth_keys *keys = make_keys();
    struct auth_tokens *tokens = NULL;
    char *root = NULL, *bin = NULL, *old = NULL;
    struct http *h = NULL;

    assert_int_equal(httpaccess_new(&access_of_test), 0);
    assert_int_equal(auth_tokens_new(&(struct token_rules){ 0 }, keys, &tokens, NULL), 0);
    httpaccess_set(access_of_test, tokens, 0);
    assert_int_equal(auth_tokens_make(tokens, "root", now_us(), 60, &root), 0);
    assert_int_equal(auth_tokens_make(tokens, "bin", now_us(), 60, &bin), 0);
    assert_int_equal(auth_tokens_make(tokens, "root", now_us() - 100 * USEC_PER_SEC, 60, &old), 0);
    assert_int_equal(http_new(&config, &h, NULL), 0);
    expect_status(h, "/who", "X-SLURM-USER-TOKEN: ", bin, "", "user bin\n");
    expect_status(h, "/who", "Authorization: Bearer ", bin, "", "user bin\n");
    expect_status(h, "/who", "Authorization: Basic ", bin, "", "HTTP/1.1 401");
    expect_status(h, "/who", "X-Other: ", bin, "", "HTTP/1.1 401");
    expect_status(h, "/who", "X-SLURM-USER-TOKEN: ", old, "", "expired");
    expect_status(h, "/who", "X-SLURM-USER-TOKEN: ", "a.b.c", "", "HTTP/1.1 401");
    expect_status(h, "/who", "X-SLURM-USER-TOKEN: ", root, "X-SLURM-USER-NAME: bin\r\n",
                  "user bin\n");
    expect_status(h, "/who", "X-SLURM-USER-TOKEN: ", bin, "X-SLURM-USER-NAME: root\r\n",
                  "HTTP/1.1 401");
    expect_status(h, "/admin", "X-SLURM-USER-TOKEN: ", bin, "", "HTTP/1.1 403");
    expect_status(h, "/admin", "X-SLURM-USER-TOKEN: ", root, "", "user root\n");
    httpaccess_set(access_of_test, NULL, 0);
    expect_status(h, "/who", "X-SLURM-USER-TOKEN: ", root, "", "auth/jwt");
    assert_null(http_free(h));
    access_of_test = httpaccess_free(access_of_test);
    (void)auth_keys_free(keys); /* always NULL, as the next */
    (void)auth_tokens_free(tokens);
    free(root);
    free(bin);
    free(old);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_health),
        cmocka_unit_test(test_kept),
        cmocka_unit_test(test_tokens),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
