/* test_streamparts.c - the witness's file and answers, records on their way, a standby's files */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "journal/format.h"
#include "journal/journal.h"
#include "journal/letgo.h"
#include "stream/streamconf.h"
#include "stream/streamid.h"
#include "stream/streamrec.h"
#include "stream/tailfiles.h"
#include "stream/witfile.h"
#include "stream/witserve.h"

/* ---- a folder -------------------------------------------------------------------------------- */

static char *make_folder(void)
{
    const char *tmp = getenv("TMPDIR");
    char *path = NULL;

    assert_true(asprintf(&path, "%s/stream-XXXXXX", tmp ? tmp : "/tmp") > 0);
    assert_non_null(mkdtemp(path));
    return path;
}

static void remove_tree(int at, const char *name)
{
    int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
    struct dirent *e;

    while (d && (e = readdir(d)))
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0 &&
            unlinkat(fd, e->d_name, 0) < 0)
            remove_tree(fd, e->d_name);
    if (d)
        closedir(d);
    (void)unlinkat(at, name, AT_REMOVEDIR);
}

static void drop_folder(char *path)
{
    remove_tree(AT_FDCWD, path);
    free(path);
}

/* How many names of the folder's journal begin so. */
static int count_names(const char *dir, const char *prefix)
{
    char path[512];
    struct dirent *e;
    int n = 0;
    DIR *d;

    (void)snprintf(path, sizeof(path), "%s/journal", dir);
    d = opendir(path);
    assert_non_null(d);
    while ((e = readdir(d)))
        n += strncmp(e->d_name, prefix, strlen(prefix)) == 0;
    closedir(d);
    return n;
}

/* ---- the witness ----------------------------------------------------------------------------- */

static struct witness_state state_of(void)
{
    struct witness_state s = { .record = { .version = 7, .term = 3, .holder = { "ctl1", 11 } } };

    s.record.in_sync = (struct pact_set){ 2, { { "ctl1", 11 }, { "ctl2", 22 } } };
    return s;
}

static void test_witness_file(void **state)
{
    struct witness_state s = state_of(), back;
    uint8_t bytes[WITFILE_BYTES];
    struct err err = { .text = "" };
    char *dir = make_folder();

    witfile_encode("tux", &s, bytes);
    assert_int_equal(witfile_decode(bytes, "tux", &back), 0);
    assert_int_equal(back.record.version, 7);
    assert_string_equal(back.record.in_sync.v[1].host, "ctl2");
    assert_int_equal(back.record.in_sync.v[1].id, 22);
    assert_int_equal(witfile_decode(bytes, "tuy", &back), -EXDEV);
    for (size_t i = 0; i < sizeof(bytes); i++) {
        bytes[i] ^= 4;
        assert_int_equal(witfile_decode(bytes, "tux", &back), -EBADMSG);
        bytes[i] ^= 4;
    }
    assert_int_equal(witfile_load(dir, "tux", &back, &err), -ENOENT);
    assert_int_equal(witfile_store(dir, "tux", &s, &err), 0);
    s.record.version++;
    assert_int_equal(witfile_store(dir, "tux", &s, &err), 0);
    assert_int_equal(witfile_load(dir, "tux", &back, &err), 0);
    assert_int_equal(back.record.version, 8);
    drop_folder(dir);
    (void)state;
}

static int stored, store_gives;

static int store_state(void *ctx, const struct witness_state *s)
{
    (void)ctx;
    (void)s;
    stored++;
    return store_gives;
}

static void test_witness_answers(void **state)
{
    struct witness_state s = state_of();
    struct witserve_reply out;
    struct term_record t = { .term = 4, .host = "ctl2", .lease_ms = 500 };
    uint8_t lease[TERM_BYTES];
    Pst__StreamMember by = PST__STREAM_MEMBER__INIT;
    Pst__WitnessRequest req = PST__WITNESS_REQUEST__INIT;

    stored = 0;
    store_gives = 0;
    assert_int_equal(witserve_carry_out(&s, &req, store_state, NULL, &out), 0); /* a question */
    assert_int_equal(out.reply.n_in_sync, 2);
    assert_false(out.reply.done);
    assert_string_equal(out.reply.holder->host, "ctl1");
    req.has_claim = req.claim = 1;
    assert_int_equal(witserve_carry_out(&s, &req, store_state, NULL, &out), -EINVAL); /* of whom? */
    by.host = (char *)"ctl2";
    by.has_id = 1;
    by.id = 22;
    req.by = &by;
    req.has_version = req.has_term = 1;
    req.version = 7;
    req.term = 4;
    assert_int_equal(witserve_carry_out(&s, &req, store_state, NULL, &out), -EINVAL); /* no lease */
    assert_int_equal(s.record.term, 3);
    term_encode(&t, lease);
    req.has_lease = 1;
    req.lease = (ProtobufCBinaryData){ sizeof(lease), lease };
    store_gives = -EIO;
    assert_int_equal(witserve_carry_out(&s, &req, store_state, NULL, &out), -EIO);
    assert_int_equal(s.record.term, 3);
    store_gives = 0;
    assert_int_equal(witserve_carry_out(&s, &req, store_state, NULL, &out), 0);
    assert_true(out.reply.done);
    assert_int_equal(s.record.term, 4);
    assert_int_equal(stored, 2);
    assert_int_equal(witserve_carry_out(&s, &req, store_state, NULL, &out), 0);
    assert_false(out.reply.done); /* an old version */
    assert_int_equal(stored, 2);
    req.claim = 0; /* a renewal */
    t.renewal = 9;
    term_encode(&t, lease);
    assert_int_equal(witserve_carry_out(&s, &req, store_state, NULL, &out), 0);
    assert_true(out.reply.done);
    assert_memory_equal(s.lease, lease, sizeof(lease));
    by.id = 23; /* not the holder */
    t.renewal = 10;
    term_encode(&t, lease);
    assert_int_equal(witserve_carry_out(&s, &req, store_state, NULL, &out), 0);
    assert_false(out.reply.done);
    assert_memory_not_equal(s.lease, lease, sizeof(lease));
    assert_int_equal(stored, 2); /* none of these is written */
    (void)state;
}

/* ---- configuration --------------------------------------------------------------------------- */

static void test_configuration(void **state)
{
    static const struct {
        const char *text, *host;
        unsigned port, patience;
    } good[] = {
        { "witness=w1", "w1", STREAM_WITNESS_PORT, 2000 },
        { "witness=w1:99,patience=500", "w1", 99, 500 },
        { "patience=60000,witness=[::1]:7", "::1", 7, 60000 },
        { ",witness=10.0.0.9,", "10.0.0.9", STREAM_WITNESS_PORT, 2000 },
    };
    static const char *const bad[] = { "",
                                       NULL,
                                       "witness=",
                                       "witness=a:",
                                       "witness=a:0",
                                       "witness=a:65536",
                                       "witness=[::1",
                                       "witness=a b",
                                       "patience=10,witness=a",
                                       "endpoints=x",
                                       "witness=:5",
                                       "witness=a,patience=1e3" };
    struct stream_config c;

    for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
        assert_int_equal(stream_config_parse(good[i].text, &c, NULL), 0);
        assert_string_equal(c.witness, good[i].host);
        assert_int_equal(c.port, good[i].port);
        assert_int_equal(c.patience_ms, good[i].patience);
    }
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        struct err err = { .text = "" };

        assert_int_equal(stream_config_parse(bad[i], &c, &err), -EINVAL);
        assert_true(strncmp(err.text, "Journal", 7) == 0);
    }
    (void)state;
}

/* ---- records --------------------------------------------------------------------------------- */

/* n records from lsn on, each `size` bytes long. */
static size_t make_records(uint8_t *out, uint64_t lsn, uint32_t n, uint32_t size)
{
    uint8_t payload[256];
    size_t len = 0;

    memset(payload, (int)lsn, sizeof(payload));
    for (uint32_t i = 0; i < n; i++) {
        record_encode(out + len, RECORD_DATA, i, lsn + i, payload, size);
        len += record_bytes(size);
    }
    return len;
}

static void test_records(void **state)
{
    uint8_t data[4096];
    size_t len = make_records(data, 5, 4, 100), each = record_bytes(100);
    uint64_t last = 0, n = 0;

    assert_int_equal(streamrec_check(data, len, 5, &last), 0);
    assert_int_equal(last, 8);
    assert_int_equal(streamrec_check(data, len, 6, &last), -EBADMSG);
    assert_int_equal(streamrec_check(data, len - 8, 5, &last), -EBADMSG);
    assert_int_equal(streamrec_check(data, 0, 5, &last), -EBADMSG);
    assert_int_equal(streamrec_check(data + each, len - each, 5, &last), -EBADMSG);
    for (size_t i = 0; i < len; i++) {
        data[i] ^= 1;
        assert_int_equal(streamrec_check(data, len, 5, &last), -EBADMSG);
        data[i] ^= 1;
    }
    assert_int_equal(streamrec_cut(data, len, 2 * each + 3, &n), 2 * each);
    assert_int_equal(n, 2);
    assert_int_equal(streamrec_cut(data, len, 1, &n), each); /* one at least */
    assert_int_equal(streamrec_offset(data, len, 5, 7), 2 * each);
    (void)state;
}

/* ---- a standby's files ----------------------------------------------------------------------- */

static uint64_t last_of(const char *dir)
{
    struct journal_config config = { .dir = dir, .read_only = true };
    struct journal *j = NULL;
    struct err err = { .text = "" };
    uint64_t last;

    assert_int_equal(journal_open(&config, NULL, NULL, &j, &err), 0);
    last = journal_last(j);
    journal_close(j);
    return last;
}

static void append(struct tailfiles *f, uint32_t term, uint32_t n)
{
    uint8_t data[8192];
    struct err err = { .text = "" };
    size_t len = make_records(data, f->last + 1, n, 60);

    assert_int_equal(tailfiles_append(f, term, data, len, f->last + n, &err), 0);
}

static void test_cut(void **state)
{
    char *dir = make_folder();
    struct tailfiles f;
    struct err err = { .text = "" };
    uint64_t own;

    assert_int_equal(tailfiles_open(dir, &f, &err), 0);
    own = f.id.own;
    append(&f, 1, 3);
    append(&f, 1, 2);
    append(&f, 3, 4); /* to 9 */
    assert_int_equal(f.history.n, 2);
    assert_int_equal(tailfiles_cut(&f, 7, 3, &err),
                     -EUCLEAN); /* term 3 cannot give way to itself */
    assert_int_equal(tailfiles_cut(&f, 7, 5, &err), 0);
    assert_int_equal(f.last, 7);
    assert_int_equal(pact_history_term(&f.history, 7), 3);
    assert_int_equal(last_of(dir), 7);
    assert_int_equal(count_names(dir, "unacknowledged-"), 1);
    append(&f, 5, 1);
    assert_int_equal(tailfiles_append(&f, 4, (const uint8_t *)"", 0, 9, &err), -EBADMSG);
    tailfiles_close(&f);
    assert_int_equal(last_of(dir), 8);
    assert_int_equal(tailfiles_open(dir, &f, &err), 0); /* a process that starts */
    assert_int_equal(f.last, 8);
    assert_int_equal(f.history.n, 3);
    assert_int_equal(pact_history_term(&f.history, 8), 5);
    assert_int_equal(f.newest_term, 5);
    assert_true(f.id.own == own);
    tailfiles_close(&f);
    drop_folder(dir);
    (void)state;
}

static void test_replace(void **state)
{
    char *dir = make_folder();
    struct tailfiles f;
    struct err err = { .text = "" };
    uint8_t snap[FILE_HEADER_BYTES + 1024];
    size_t len = FILE_HEADER_BYTES;
    uint64_t own;

    file_header_encode(SNAPSHOT_MAGIC, 0, 40, snap);
    record_encode(snap + len, RECORD_PUT, 0, 1, (const uint8_t *)"x", 1);
    len += record_bytes(1);
    record_encode(snap + len, RECORD_TRAILER, 0, 2, NULL, 0);
    len += record_bytes(0);
    assert_int_equal(tailfiles_open(dir, &f, &err), 0);
    own = f.id.own;
    append(&f, 1, 3);
    assert_int_equal(tailfiles_part(&f, 40, 0, len, snap, 50, &err), 0);
    assert_int_equal(tailfiles_part(&f, 40, 60, len, snap + 60, len - 60, &err), -EBADMSG);
    assert_int_equal(tailfiles_part(&f, 40, 50, len, snap + 50, len - 50, &err), 1);
    assert_int_equal(tailfiles_replace(&f, true, 2, &err), 0);
    assert_int_equal(f.last, 40);
    assert_true(f.id.own != own); /* it is not what the witness knew */
    assert_int_equal(count_names(dir, "replaced-"), 1);
    append(&f, 2, 2);
    tailfiles_close(&f);
    assert_int_equal(last_of(dir), 42);
    snap[len - 30] ^= 1;
    assert_int_equal(tailfiles_open(dir, &f, &err), 0);
    assert_int_equal(tailfiles_part(&f, 41, 0, len, snap, len, &err), -EBADMSG);
    assert_int_equal(tailfiles_replace(&f, false, 3, &err), 0); /* a log that begins */
    assert_int_equal(f.last, 0);
    append(&f, 3, 1);
    tailfiles_close(&f);
    assert_int_equal(last_of(dir), 1);
    drop_folder(dir);
    (void)state;
}

/* The bytes of a snapshot of record lsn. */
static size_t make_snapshot(uint8_t *out, uint64_t lsn)
{
    size_t len = FILE_HEADER_BYTES;

    file_header_encode(SNAPSHOT_MAGIC, 0, lsn, out);
    record_encode(out + len, RECORD_PUT, 0, 1, (const uint8_t *)"x", 1);
    len += record_bytes(1);
    record_encode(out + len, RECORD_TRAILER, 0, 2, NULL, 0);
    return len + record_bytes(0);
}

/* Snapshots of the log itself make its files superfluous, but those that somebody reads. */
static void test_publish(void **state)
{
    char *dir = make_folder();
    struct tailfiles f;
    struct err err = { .text = "" };
    uint8_t snap[512];
    size_t gone = 9;

    assert_int_equal(tailfiles_open(dir, &f, &err), 0);
    for (uint32_t term = 1; term <= 4; term++) {
        size_t len;

        append(&f, term, 3); /* a file for each term */
        len = make_snapshot(snap, f.last);
        assert_int_equal(tailfiles_part(&f, f.last, 0, len, snap, len, &err), 1);
        assert_int_equal(tailfiles_publish(&f, 4, &err), 0);
    }
    assert_int_equal(f.snapshot_lsn, 12);
    assert_int_equal(f.history.v[0].term, 2); /* record 4 is read yet */
    assert_int_equal(journal_dir_let_go(f.dir_fd, UINT64_MAX, &gone), 0);
    assert_int_equal(gone, 2); /* the snapshot of record 9 needs those from 10 on */
    tailfiles_close(&f);
    assert_int_equal(last_of(dir), 12);
    drop_folder(dir);
    (void)state;
}

static void report_line(void *ctx, const char *line)
{
    (void)ctx;
    (void)line;
}

/* Where records were on the disk and cannot be read the log is another one, here and after a
 * repair. */
static void test_damage_is_no_member(void **state)
{
    char *dir = make_folder(), path[512];
    struct tailfiles f;
    struct err err = { .text = "" };
    uint8_t junk[16];
    uint64_t own;
    int fd;

    memset(junk, 0xff, sizeof(junk));
    assert_int_equal(tailfiles_open(dir, &f, &err), 0);
    own = f.id.own;
    append(&f, 1, 3);
    append(&f, 1, 3);
    tailfiles_close(&f);
    (void)snprintf(path, sizeof(path), "%s/journal/0000000000000001-00000001.log", dir);
    fd = open(path, O_RDWR);
    assert_true(fd >= 0 && pwrite(fd, junk, sizeof(junk), FILE_HEADER_BYTES + 30) > 0);
    close(fd);
    assert_int_equal(tailfiles_open(dir, &f, &err), 0);
    assert_int_equal(f.last, 0);
    assert_true(f.id.own != own);
    assert_int_equal(count_names(dir, "replaced-"), 1);
    own = f.id.own;
    append(&f, 1, 3);
    append(&f, 1, 3);
    tailfiles_close(&f);
    fd = open(path, O_RDWR);
    assert_true(fd >= 0 && pwrite(fd, junk, sizeof(junk), FILE_HEADER_BYTES + 30) > 0);
    close(fd);
    assert_int_equal(journal_repair(dir, report_line, NULL, &err), 0);
    assert_int_equal(tailfiles_open(dir, &f, &err), 0);
    assert_true(f.id.own != own);
    tailfiles_close(&f);
    drop_folder(dir);
    (void)state;
}

static void test_id(void **state)
{
    char *dir = make_folder(), path[512];
    struct streamid a, b;
    struct err err = { .text = "" };
    int fd = open(dir, O_RDONLY | O_DIRECTORY), file;

    assert_int_equal(streamid_load(fd, &a, &err), 0);
    assert_true(a.own != 0 && a.log == 0);
    a.log = 77;
    a.promised = 5;
    assert_int_equal(streamid_store(fd, &a, &err), 0);
    assert_int_equal(streamid_load(fd, &b, &err), 0);
    assert_true(b.own == a.own && b.log == 77 && b.promised == 5);
    (void)snprintf(path, sizeof(path), "%s/" JOURNAL_ID_NAME, dir);
    file = open(path, O_RDWR);
    assert_true(file >= 0 && pwrite(file, "9", 1, 36) == 1); /* of `promised` */
    close(file);
    assert_int_equal(streamid_load(fd, &b, &err), 0);
    assert_true(b.own != a.own && b.log == 0);
    (void)state;
    close(fd);
    drop_folder(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_witness_file),
        cmocka_unit_test(test_witness_answers),
        cmocka_unit_test(test_configuration),
        cmocka_unit_test(test_records),
        cmocka_unit_test(test_cut),
        cmocka_unit_test(test_replace),
        cmocka_unit_test(test_publish),
        cmocka_unit_test(test_damage_is_no_member),
        cmocka_unit_test(test_id),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
