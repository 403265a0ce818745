/* test_etcd.c - the log in etcd, against a member of etcd that says what the test wants */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "etcd/chunk.h"
#include "etcd/etcdconf.h"
#include "etcd/etcdhttp.h"
#include "etcd/etcdjson.h"
#include "etcd/etcdkv.h"
#include "etcd/etcdlog.h"
#include "etcd/etcdterm.h"
#include "etcd/mirror.h"
#include "etcd/mirrorfiles.h"
#include "journal/format.h"
#include "journal/lebytes.h"

#define SAYS_MAX 8
#define REQUEST_MAX 65536

/* Answers each request on each connection, one after the other, with the next of its sentences. */
struct fake {
    int fd;
    uint16_t port;
    pthread_t thread;
    const char *says[SAYS_MAX]; /* "STATUS BODY"; NULL: hang up */
    int asked;
    char request[REQUEST_MAX]; /* the last */
};

/* Read one request, whole; false: the peer has gone. */
static bool read_request(struct fake *f, int fd)
{
    size_t n = 0, want = 0;

    for (;;) {
        char *end;
        ssize_t got = read(fd, f->request + n, sizeof(f->request) - 1 - n);

        if (got <= 0)
            return false;
        n += (size_t)got;
        f->request[n] = '\0';
        end = strstr(f->request, "\r\n\r\n");
        if (!end)
            continue;
        want = (size_t)(end + 4 - f->request) +
               strtoul(strstr(f->request, "Content-Length:") + 15, NULL, 10);
        if (n >= want)
            return true;
    }
}

static void *fake_main(void *arg)
{
    struct fake *f = arg;

    while (f->asked < SAYS_MAX) {
        int fd = accept(f->fd, NULL, NULL);

        if (fd < 0)
            break;
        while (f->asked < SAYS_MAX && read_request(f, fd)) {
            const char *says = f->says[f->asked++];

            if (!says)
                break;
            dprintf(fd, "HTTP/1.1 %.3s X\r\nContent-Length: %zu\r\n\r\n%s", says, strlen(says + 4),
                    says + 4);
        }
        (void)close(fd);
    }
    return NULL;
}

static void fake_start(struct fake *f, struct etcd_config *config)
{
    struct sockaddr_in in = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t n = sizeof(in);
    char text[64];

    f->fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(f->fd, (struct sockaddr *)&in, n), 0);
    assert_int_equal(listen(f->fd, 8), 0);
    assert_int_equal(getsockname(f->fd, (struct sockaddr *)&in, &n), 0);
    (void)snprintf(text, sizeof(text), "endpoints=http://127.0.0.1:%u", ntohs(in.sin_port));
    assert_int_equal(etcd_config_parse(text, "c", config, NULL), 0);
    assert_int_equal(pthread_create(&f->thread, NULL, fake_main, f), 0);
}

static void fake_stop(struct fake *f)
{
    (void)shutdown(f->fd, SHUT_RDWR);
    (void)pthread_join(f->thread, NULL);
    (void)close(f->fd);
}

/* ---- texts ----------------------------------------------------------------------------------- */

static void test_parameters(void **state)
{
    static const char *const bad[] = { NULL,
                                       "",
                                       "prefix=x",
                                       "endpoints=127.0.0.1:2379",
                                       "endpoints=http://a:1,cert=/x",
                                       "endpoints=http://a:1,nonsense",
                                       "endpoints=http://a:1,user=u",
                                       "endpoints=http://a:1,passwordfile=/x",
                                       "endpoints=http://a:1,identity=key",
                                       "endpoints=http://a b:1" };
    struct etcd_config c;
    struct err err;

    assert_int_equal(
        etcd_config_parse("endpoints=http://a:1/;https://b:2,prefix=p/,nocompact", "c", &c, &err),
        0);
    assert_int_equal(c.n_endpoints, 2);
    assert_string_equal(c.endpoints[0], "http://a:1");
    assert_string_equal(c.prefix, "p");
    assert_true(c.no_compact);
    assert_int_equal(etcd_config_parse("endpoints=http://a:1", "mine", &c, &err), 0);
    assert_string_equal(c.prefix, "penstock/mine");
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_int_equal(etcd_config_parse(bad[i], "c", &c, &err), -EINVAL);
    (void)state;
}

static void test_login(void **state)
{
    static const char *const bad[] = { "",
                                       "{}",
                                       "{\"token\":\"\"}",
                                       "{\"token\":7}",
                                       "{\"token\":\"a b\"}",
                                       "{\"token\":\"a\\r\\nX: y\"}",
                                       "{\"token\":\"0123456789abcdef\"}" };
    char token[16], *text = etcd_login_text("u", "a\"b\\");

    assert_string_equal(text, "{\"name\":\"u\",\"password\":\"a\\\"b\\\\\"}");
    free(text);
    assert_int_equal(etcd_read_token("{\"token\":\"abc.12\"}", 18, token, sizeof(token)), 0);
    assert_string_equal(token, "abc.12");
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_int_equal(etcd_read_token(bad[i], strlen(bad[i]), token, sizeof(token)), -EBADMSG);
    (void)state;
}

static void test_base64(void **state)
{
    uint8_t data[70], *back;
    size_t len;

    for (size_t i = 0; i < sizeof(data); i++)
        data[i] = (uint8_t)(i * 37 + 250);
    for (size_t n = 0; n <= sizeof(data); n++) {
        struct strbuf sb = STRBUF_INIT;

        etcd_add_base64(&sb, data, n);
        assert_int_equal(etcd_read_base64(strbuf_str(&sb), sb.len, &back, &len), 0);
        assert_int_equal(len, n);
        assert_memory_equal(back, data, n);
        free(back);
        strbuf_done(&sb);
    }
    assert_int_equal(etcd_read_base64("YQ", 2, &back, &len), -EBADMSG);
    assert_int_equal(etcd_read_base64("Y!==", 4, &back, &len), -EBADMSG);
    (void)state;
}

static size_t make_records(uint8_t *out, uint64_t first, int n)
{
    size_t at = 0;

    for (int i = 0; i < n; i++, at += record_bytes(5))
        record_encode(out + at, RECORD_DATA, (uint32_t)i, first + (uint64_t)i,
                      (const uint8_t *)"hello", 5);
    return at;
}

static void test_chunks(void **state)
{
    uint8_t value[512];
    struct chunk c;
    size_t n;

    put_u32(value, 0x43455350u);
    put_u32(value + 4, 0);
    n = 8 + make_records(value + 8, 7, 3);
    assert_int_equal(chunk_begin(&c, "log/0000000000000007", value, n), 0);
    assert_int_equal(chunk_check(&c), 0);
    assert_int_equal(c.last, 9);
    assert_int_equal(chunk_offset(&c, 8), record_bytes(5));
    chunk_done(&c);
    assert_int_equal(chunk_begin(&c, "log/0000000000000008", value, n), 0);
    assert_int_equal(chunk_check(&c), -EBADMSG); /* the records are others */
    chunk_done(&c);
    for (size_t i = 0; i < n; i++) { /* no byte may change */
        int r;

        value[i] ^= 0x20;
        r = chunk_begin(&c, "log/0000000000000007", value, n);
        assert_int_equal(r ? r : chunk_check(&c), -EBADMSG);
        chunk_done(&c);
        value[i] ^= 0x20;
    }
    assert_int_equal(chunk_begin(&c, "log/7", value, n), -EBADMSG);
    (void)state;
}

/* ---- against a member ------------------------------------------------------------------------ */

#define DONE "200 {\"header\":{\"revision\":\"3\"},\"succeeded\":true}"
#define REFUSED "200 {\"header\":{\"revision\":\"3\"}}"

static void test_calls(void **state)
{
    struct fake f = { .says = { DONE, "503 {\"error\":\"etcdserver: no leader\"}",
                                "429 {\"message\":\"database space exceeded\"}", "200 [1]",
                                "200 {\"kvs\":[{\"key\":\"eHh4\"}]}", NULL } };
    static const int codes[] = { -EHOSTUNREACH, -ENOSPC, -EBADMSG, -EBADMSG, -EHOSTUNREACH };
    struct etcd_config config;
    struct etcd *e = NULL;
    struct etcd_kv kv;
    struct err err = { .text = "" };
    int64_t revision = 0;

    fake_start(&f, &config);
    assert_int_equal(etcd_new(&config, 2000, &e, &err), 0);
    etcd_put(e, "k", "v", 1);
    assert_int_equal(etcd_txn(e, &revision, &err), 1);
    assert_int_equal(revision, 3);
    assert_non_null(strstr(f.request, "POST /v3/kv/txn"));
    for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
        err.text[0] = '\0';
        assert_int_equal(etcd_get(e, "k", &kv, &err), codes[i]);
        assert_true(err.text[0] != '\0');
    }
    assert_null(etcd_free(e));
    fake_stop(&f);
    (void)state;
}

/* The value of a chunk with these records, as an answer has it. */
static char *answer_chunk(const uint8_t *records, size_t n)
{
    struct strbuf sb = STRBUF_INIT;
    uint8_t value[512];
    char *text = NULL;

    put_u32(value, 0x43455350u);
    put_u32(value + 4, 0);
    memcpy(value + 8, records, n);
    strbuf_add(&sb, "200 {\"kvs\":[{\"key\":\"");
    etcd_add_base64(&sb, "penstock/c/log/0000000000000001", 31);
    strbuf_add(&sb, "\",\"value\":\"");
    etcd_add_base64(&sb, value, 8 + n);
    strbuf_add(&sb, "\"}]}");
    assert_int_equal(strbuf_detach(&sb, &text), 0);
    return text;
}

static void test_append(void **state)
{
    uint8_t records[256], others[256];
    size_t n = make_records(records, 1, 2), m = make_records(others, 1, 1);
    char *same = answer_chunk(records, n), *other = answer_chunk(others, m);
    /* an answer is lost, then the key is there and ours; the next is somebody else's; the last
     * finds another holder and no key */
    struct fake f = { .says = { NULL, REFUSED, same, REFUSED, other, REFUSED, REFUSED, NULL } };
    const struct journal_remote *remote;
    struct etcd_config config;
    struct etcdlog *l = NULL;
    struct etcdlog_stats stats;

    fake_start(&f, &config);
    assert_int_equal(etcdlog_new(&config, 4, 2000, &l, NULL), 0);
    remote = etcdlog_remote(l);
    assert_int_equal(remote->append(remote->ctx, 1, records, n), -EHOSTUNREACH);
    assert_int_equal(remote->append(remote->ctx, 1, records, n), 0);
    assert_int_equal(remote->append(remote->ctx, 1, records, n), 0); /* asks nobody */
    assert_int_equal(f.asked, 3);
    n = make_records(records, 3, 1);
    assert_int_equal(remote->append(remote->ctx, 3, records, n), -EOWNERDEAD);
    assert_int_equal(remote->append(remote->ctx, 3, records, n), -EOWNERDEAD);
    assert_int_equal(f.asked, 7);
    etcdlog_get_stats(l, &stats);
    assert_int_equal(stats.errors, 3);
    assert_null(etcdlog_free(l));
    fake_stop(&f);
    free(same);
    free(other);
    (void)state;
}

static void test_terms(void **state)
{
    struct fake f = { .says = { REFUSED, DONE, DONE, REFUSED, NULL } };
    struct term_record t = { .term = 1, .lease_ms = 1000, .host = "h" }, found;
    struct etcdterm *terms = NULL;
    struct etcd_config config;
    struct term_store s;

    fake_start(&f, &config);
    assert_int_equal(etcdterm_new(&config, 2000, &terms, NULL), 0);
    s = etcdterm_store(terms);
    assert_int_equal(s.newest(s.ctx, &found), -ENOENT);
    assert_int_equal(s.claim(s.ctx, &t), 0);
    assert_int_equal(s.renew(s.ctx, &t), 0);
    assert_false(s.is_over(s.ctx, 1));
    assert_int_equal(s.renew(s.ctx, &t), -EOWNERDEAD);
    assert_true(s.is_over(s.ctx, 1));
    assert_int_equal(s.newest(s.ctx, &found), -EHOSTUNREACH);
    assert_true(etcdterm_why(terms)[0] != '\0');
    assert_null(etcdterm_free(terms));
    fake_stop(&f);
    (void)state;
}

static void test_copy(void **state)
{
    struct fake f = { .says = { REFUSED, "200 {\"kvs\":[{\"key\":\"eHh4\"}]}", NULL } };
    char dir[] = "/tmp/test_etcd.XXXXXX", path[64];
    struct err err = { .text = "" };
    struct mirror *m = NULL, *other = NULL;
    struct etcd_config config;

    fake_start(&f, &config);
    assert_non_null(mkdtemp(dir));
    assert_int_equal(mirror_open(dir, &config, 2000, &m, &err), 0);
    assert_int_equal(mirror_open(dir, &config, 2000, &other, &err), -EBUSY);
    assert_int_equal(mirror_pull(m, &err), 0); /* etcd has no log yet */
    assert_false(m->begun);
    assert_int_equal(mirror_last(m), 0);
    assert_int_equal(mirror_pull(m, &err), -EBADMSG);
    m->last = 5; /* the folder has a log, and etcd hangs up */
    assert_int_equal(mirror_pull(m, &err), -EHOSTUNREACH);
    m->last = 0;
    assert_null(mirror_close(m));
    fake_stop(&f);
    (void)snprintf(path, sizeof(path), "%s/journal/lock", dir);
    assert_int_equal(unlink(path), 0);
    (void)snprintf(path, sizeof(path), "%s/journal", dir);
    assert_int_equal(rmdir(path), 0); /* nothing else was made */
    assert_int_equal(rmdir(dir), 0);
    (void)state;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parameters), cmocka_unit_test(test_login),
        cmocka_unit_test(test_base64),     cmocka_unit_test(test_chunks),
        cmocka_unit_test(test_calls),      cmocka_unit_test(test_append),
        cmocka_unit_test(test_terms),      cmocka_unit_test(test_copy),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
