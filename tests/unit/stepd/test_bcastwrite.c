/* test_bcastwrite.c - the receiving end of sbcast: files are there whole or not at all, and nothing
 * is written but what was named */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "api.pb-c.h"
#include "base/cleanup.h"
#include "stepd/io/bcastwrite.h"
#include "wire/client.h"
#include "wire/lz4.h"

#include "folder_util.h"

#define REQUEST 9
#define WAIT_MS 20000

static char dir[256], path[600];

/* The sender: a process beside this one writes. */
struct sender {
    struct client *client;
    pid_t pid;
    uint32_t id;
};

static Pst__BcastOpen open_of(const char *name)
{
    Pst__BcastOpen o = PST__BCAST_OPEN__INIT;

    (void)snprintf(path, sizeof(path), "%s/%s", dir, name);
    o.path = path;
    o.node_name = (char *)"n7";
    o.has_mode = 1;
    o.mode = 0640;
    return o;
}

static void begin_send(struct sender *s, Pst__BcastOpen *o)
{
    Pst__BcastFile file = PST__BCAST_FILE__INIT;
    uint32_t gid = getegid();
    int pair[2];

    file.open = o;
    file.has_uid = file.has_gid = file.has_request_id = 1;
    file.uid = geteuid();
    file.gid = gid;
    file.gids = &gid;
    file.n_gids = 1;
    file.request_id = REQUEST;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    s->pid = fork();
    assert_true(s->pid >= 0);
    if (s->pid == 0) {
        (void)close(pair[0]);
        _exit(bcast_serve(&file, pair[1]));
    }
    (void)close(pair[1]);
    s->id = REQUEST;
    assert_int_equal(client_from_fd(pair[0], &s->client), 0);
}

/* 0, or the errno in the answer. */
static int read_answer(struct sender *s, unsigned op)
{
    ProtobufCMessage *msg = NULL;
    struct frame f;
    int code;

    assert_int_equal(client_recv(s->client, WAIT_MS, &f), 1);
    assert_int_equal(f.op, op);
    assert_int_equal(f.id, s->id);
    assert_true(f.flags & FRAME_REPLY);
    if (!(f.flags & FRAME_ERROR))
        return 0;
    assert_int_equal(frame_unpack(&f, &pst__error__descriptor, &msg, NULL), 0);
    code = ((const Pst__Error *)msg)->code;
    protobuf_c_message_free_unpacked(msg, NULL);
    assert_true(code > 0);
    return code;
}

static int send_raw(struct sender *s, const void *data, size_t len, bool last, int64_t raw_size)
{
    Pst__BcastBlock b = PST__BCAST_BLOCK__INIT;

    b.has_data = b.has_last = 1;
    b.data = (ProtobufCBinaryData){ len, (uint8_t *)(uintptr_t)data };
    b.last = last;
    b.has_raw_size = raw_size >= 0;
    b.raw_size = (uint32_t)raw_size;
    s->id++;
    assert_int_equal(client_send(s->client, OP_BCAST_BLOCK, 0, s->id, &b.base), 0);
    return read_answer(s, OP_BCAST_BLOCK);
}

static int send_block(struct sender *s, const char *text, bool last)
{
    return send_raw(s, text, strlen(text), last, -1);
}

/* The sender leaves; the exit status of the other end. */
static int end_send(struct sender *s)
{
    int status = -1;

    client_free(s->client);
    assert_int_equal(waitpid(s->pid, &status, 0), s->pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void expect_file(const char *file, const char *want)
{
    char text[256] = "";
    FILE *f = fopen(file, "re");

    assert_non_null(f);
    text[fread(text, 1, sizeof(text) - 1, f)] = '\0';
    assert_int_equal(fclose(f), 0);
    assert_string_equal(text, want);
}

static void write_file(const char *file, const char *text)
{
    FILE *f = fopen(file, "we");

    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

/* Files in the folder, hidden ones too. */
static unsigned count_files(void)
{
    DIR *d = opendir(dir);
    unsigned n = 0;

    assert_non_null(d);
    while (readdir(d))
        n++;
    (void)closedir(d);
    return n - 2;
}

static int make_dir(void **state)
{
    (void)state;
    folder_make(dir, sizeof(dir), "bcast");
    return 0;
}

static int remove_dir(void **state)
{
    (void)state;
    folder_remove(dir);
    return 0;
}

static void test_whole(void **state)
{
    Pst__BcastOpen o = open_of("prog");
    struct sender s;
    struct stat st;

    (void)state;
    o.has_preserve = o.preserve = o.has_atime_us = o.has_mtime_us = 1;
    o.atime_us = INT64_C(1600000000500000);
    o.mtime_us = INT64_C(1500000000250000);
    begin_send(&s, &o);
    assert_int_equal(read_answer(&s, OP_BCAST_OPEN), 0);
    assert_int_equal(send_block(&s, "one ", false), 0);
    assert_int_equal(access(path, F_OK), -1); /* not before the last block */
    assert_int_equal(send_block(&s, "two", true), 0);
    assert_int_equal(stat(path, &st), 0); /* before somebody reads */
    expect_file(path, "one two");
    assert_int_equal(st.st_mode & 07777, 0640);
    assert_int_equal(st.st_mtim.tv_sec, 1500000000);
    assert_int_equal(st.st_mtim.tv_nsec, 250000000);
    assert_int_equal(st.st_atim.tv_sec, 1600000000);
    assert_int_equal(end_send(&s), 0);
    assert_int_equal(count_files(), 1);
}

/* A file may be older than the clock of computers. */
static void test_old_times(void **state)
{
    Pst__BcastOpen o = open_of("old");
    struct sender s;
    struct stat st;

    (void)state;
    o.has_preserve = o.preserve = o.has_atime_us = o.has_mtime_us = 1;
    o.atime_us = o.mtime_us = -1500000;
    begin_send(&s, &o);
    assert_int_equal(read_answer(&s, OP_BCAST_OPEN), 0);
    assert_int_equal(send_block(&s, "x", true), 0);
    assert_int_equal(end_send(&s), 0);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mtim.tv_sec, -2);
    assert_int_equal(st.st_mtim.tv_nsec, 500000000);
}

/* A name as long as names may be. */
static void test_long_name(void **state)
{
    char name[256];
    Pst__BcastOpen o;
    struct sender s;

    (void)state;
    memset(name, 'n', 255);
    name[255] = '\0';
    o = open_of(name);
    begin_send(&s, &o);
    assert_int_equal(read_answer(&s, OP_BCAST_OPEN), 0);
    assert_int_equal(send_block(&s, "x", true), 0);
    assert_int_equal(end_send(&s), 0);
    expect_file(path, "x");
}

/* What is there stays, unless --force: then it stays until the new one is whole. */
static void test_there(void **state)
{
    Pst__BcastOpen o = open_of("prog");
    struct sender s;

    (void)state;
    write_file(path, "old");
    begin_send(&s, &o);
    assert_int_equal(read_answer(&s, OP_BCAST_OPEN), EEXIST);
    assert_int_equal(end_send(&s), 1);
    expect_file(path, "old");

    o.has_force = o.force = 1;
    begin_send(&s, &o);
    assert_int_equal(read_answer(&s, OP_BCAST_OPEN), 0);
    assert_int_equal(send_block(&s, "half", false), 0);
    expect_file(path, "old");
    assert_int_equal(end_send(&s), 1); /* the sender left */
    expect_file(path, "old");
    assert_int_equal(count_files(), 1);

    begin_send(&s, &o);
    assert_int_equal(read_answer(&s, OP_BCAST_OPEN), 0);
    assert_int_equal(send_block(&s, "new", true), 0);
    assert_int_equal(end_send(&s), 0);
    expect_file(path, "new");
    assert_int_equal(count_files(), 1);
}

/* Somebody was faster: his file stays. */
static void test_race(void **state)
{
    Pst__BcastOpen o = open_of("prog");
    struct sender s;

    (void)state;
    begin_send(&s, &o);
    assert_int_equal(read_answer(&s, OP_BCAST_OPEN), 0);
    write_file(path, "his");
    assert_int_equal(send_block(&s, "ours", true), EEXIST);
    assert_int_equal(end_send(&s), 1);
    expect_file(path, "his");
    assert_int_equal(count_files(), 1);
}

/* A link in the place is no way to another file. */
static void test_link(void **state)
{
    char other[600];
    Pst__BcastOpen o = open_of("link");
    struct sender s;
    struct stat st;

    (void)state;
    (void)snprintf(other, sizeof(other), "%s/other", dir);
    write_file(other, "other");
    assert_int_equal(symlink(other, path), 0);
    begin_send(&s, &o);
    assert_int_equal(read_answer(&s, OP_BCAST_OPEN), EEXIST);
    assert_int_equal(end_send(&s), 1);
    o.has_force = o.force = 1;
    begin_send(&s, &o);
    assert_int_equal(read_answer(&s, OP_BCAST_OPEN), 0);
    assert_int_equal(send_block(&s, "new", true), 0);
    assert_int_equal(end_send(&s), 0);
    expect_file(other, "other");
    expect_file(path, "new");
    assert_int_equal(lstat(path, &st), 0);
    assert_true(S_ISREG(st.st_mode));
    assert_int_equal(unlink(path), 0);
    assert_int_equal(symlink("/nowhere/at/all", path),
                     0); /* to nothing: it is there all the same */
    o.force = 0;
    begin_send(&s, &o);
    assert_int_equal(read_answer(&s, OP_BCAST_OPEN), EEXIST);
    assert_int_equal(end_send(&s), 1);
}

static void expect_refusal(Pst__BcastOpen *o, int want)
{
    struct sender s;

    begin_send(&s, o);
    assert_int_equal(read_answer(&s, OP_BCAST_OPEN), want);
    assert_int_equal(end_send(&s), 1);
}

static void test_names(void **state)
{
    Pst__BcastOpen o = open_of("prog");
    char want[700];
    struct sender s;

    (void)state;
    o.has_node_suffix = o.node_suffix = 1;
    begin_send(&s, &o);
    assert_int_equal(read_answer(&s, OP_BCAST_OPEN), 0);
    assert_int_equal(send_block(&s, "x", true), 0);
    (void)snprintf(want, sizeof(want), "%s_n7", path);
    expect_file(want, "x");
    /* one more on the same connection: a library of it */
    o.library = (char *)"libx.so.1";
    s.id++;
    assert_int_equal(client_send(s.client, OP_BCAST_OPEN, 0, s.id, &o.base), 0);
    assert_int_equal(read_answer(&s, OP_BCAST_OPEN), 0);
    assert_int_equal(send_block(&s, "lib", true), 0);
    assert_int_equal(end_send(&s), 0);
    (void)snprintf(want, sizeof(want), "%s_n7_libs/libx.so.1", path);
    expect_file(want, "lib");

    o.library = (char *)"../../etc/libx.so";
    expect_refusal(&o, EINVAL);
    o.library = (char *)"";
    expect_refusal(&o, EINVAL);
    o.library = (char *)"..";
    expect_refusal(&o, EEXIST);
    o.has_force = o.force = 1;
    expect_refusal(&o, EISDIR);
    o.library = NULL;
    o.path = (char *)"prog";
    expect_refusal(&o, EINVAL);
    o.path = NULL;
    expect_refusal(&o, EINVAL);
    o = open_of("no/such/folder");
    expect_refusal(&o, ENOENT);
    o = open_of("");
    expect_refusal(&o, EEXIST); /* a folder */
}

/* Blocks may come compressed; what is said of them is not believed. */
static void test_blocks(void **state)
{
    static const char text[] = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
    Pst__BcastOpen o = open_of("packed");
    uint8_t block[128];
    struct sender s;
    int n;

    (void)state;
    if (lz4_available() < 0)
        skip();
    n = lz4_pack((const uint8_t *)text, sizeof(text) - 1, block, sizeof(block));
    assert_true(n > 0 && n < (int)sizeof(text) - 1);
    o.has_lz4 = o.lz4 = 1;
    begin_send(&s, &o);
    assert_int_equal(read_answer(&s, OP_BCAST_OPEN), 0);
    assert_int_equal(send_raw(&s, block, (size_t)n, true, sizeof(text) - 1), 0);
    assert_int_equal(end_send(&s), 0);
    expect_file(path, text);

    o = open_of("other");
    begin_send(&s, &o);
    assert_int_equal(read_answer(&s, OP_BCAST_OPEN), 0);
    assert_int_equal(send_raw(&s, block, (size_t)n, true, 4096), EBADMSG); /* it is shorter */
    assert_int_equal(end_send(&s), 1);
    begin_send(&s, &o);
    assert_int_equal(read_answer(&s, OP_BCAST_OPEN), 0);
    assert_int_equal(send_raw(&s, block, (size_t)n, true, UINT32_MAX), EMSGSIZE);
    assert_int_equal(end_send(&s), 1);
    assert_int_equal(count_files(), 1);
}

int main(void)
{
#define IN_DIR(f) cmocka_unit_test_setup_teardown(f, make_dir, remove_dir)
    const struct CMUnitTest tests[] = {
        IN_DIR(test_whole), IN_DIR(test_old_times), IN_DIR(test_long_name), IN_DIR(test_there),
        IN_DIR(test_race),  IN_DIR(test_link),      IN_DIR(test_names),     IN_DIR(test_blocks),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("bcastwrite", tests, NULL, NULL);
}
