/* test_logreplay.c - a log read by two threads gives what its records give one by one, and what is
 * wrong with one is told with its number */
#include "model_util.h"
#include "folder_util.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ctld/core/logreplay.h"
#include "journal/journal.h"

#define JOBS 5000u /* more than the ring holds */

static char dir[64];

static int setup(void **state)
{
    (void)state;
    (void)snprintf(dir, sizeof(dir), "/tmp/penstock-replay-XXXXXX");
    assert_non_null(mkdtemp(dir));
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    return folder_unlink(dir);
}

static int skip_record(void *ctx, uint64_t lsn, bool snapshot, const uint8_t *data, size_t len)
{
    (void)ctx;
    (void)lsn;
    (void)snapshot;
    (void)data;
    (void)len;
    return 0;
}

static struct journal *open_log(void)
{
    const struct journal_config config = { .dir = dir };
    struct journal *j = NULL;
    struct err err = { .text = "" };

    if (journal_open(&config, skip_record, NULL, &j, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(journal_start(j), 0);
    return j;
}

/* Takes tx. */
static void append_tx(struct journal *j, Pst__Transaction *tx)
{
    size_t len = pst__transaction__get_packed_size(tx);
    _cleanup_free_ uint8_t *buf = malloc(len + 1);
    uint64_t lsn;

    assert_non_null(buf);
    (void)pst__transaction__pack(tx, buf);
    assert_int_equal(journal_append(j, buf, len, &lsn), 0);
    tx_free(tx);
}

static void append_job(struct journal *j, uint32_t id)
{
    Pst__Transaction *tx = tx_new(T0);

    put_job(tx, id);
    append_tx(j, tx);
}

/* Jobs, and a change of each tenth. */
static void write_log(void)
{
    struct journal *j = open_log();

    for (uint32_t id = 1; id <= JOBS; id++) {
        append_job(j, id);
        if (id % 10 == 0) {
            Pst__Transaction *tx = tx_new(T0);

            SET(tx_job_patch(tx, EV(JOB_UPDATE), id - 5), nice, (int32_t)id);
            append_tx(j, tx);
        }
    }
    assert_null(journal_close(j));
}

static struct cluster *read_log(int want, const char *words, uint64_t *ret_records)
{
    const struct journal_config config = { .dir = dir };
    struct cluster *c = new_cluster();
    struct journal *j = NULL;
    struct err err = { .text = "" };

    assert_int_equal(logreplay_open(&config, c, &j, ret_records, &err), want);
    if (!strstr(err.text, words))
        fail_msg("wanted '%s', got '%s'", words, err.text);
    assert_true((j != NULL) == (want == 0));
    (void)journal_close(j); /* always NULL */
    return c;
}

static void test_everything_is_applied(void **state)
{
    struct cluster *want = new_cluster(), *got;
    uint64_t records;

    (void)state;
    write_log();
    for (uint32_t id = 1; id <= JOBS; id++) {
        Pst__Transaction *tx = tx_new(T0);

        add_job(want, id);
        if (id % 10 == 0)
            SET(tx_job_patch(tx, EV(JOB_UPDATE), id - 5), nice, (int32_t)id);
        apply_ok(want, tx);
    }
    got = read_log(0, "", &records);
    assert_int_equal(records, JOBS + JOBS / 10);
    assert_int_equal(got->jobs.count, JOBS);
    assert_int_equal(cluster_hash(got), cluster_hash(want));
    assert_true(got->paid.count == want->paid.count);
    cluster_free(got);
    cluster_free(want);
}

static void test_a_record_that_does_not_fit(void **state)
{
    struct journal *j;
    uint64_t records;

    (void)state;
    write_log();
    j = open_log();
    append_job(j, 7); /* again */
    for (uint32_t id = JOBS + 1; id <= 2 * JOBS; id++)
        append_job(j, id);
    assert_null(journal_close(j));
    cluster_free(read_log(-EUCLEAN, "does not replay: lsn 5501: job 7: put twice", &records));
}

static void test_a_record_that_is_none(void **state)
{
    struct journal *j;
    uint64_t records, lsn;

    (void)state;
    write_log();
    j = open_log();
    assert_int_equal(journal_append(j, (const uint8_t *)"\x0a\x7fx", 3, &lsn), 0);
    append_job(j, JOBS + 1);
    assert_null(journal_close(j));
    cluster_free(
        read_log(-EUCLEAN, "does not replay: lsn 5501: the record cannot be decoded", &records));
}

/* What is wrong with the files is the journal's to say. */
static void test_a_damaged_file(void **state)
{
    char path[128];
    uint64_t records;
    int fd;

    (void)state;
    write_log();
    (void)snprintf(path, sizeof(path), "%s/journal/0000000000000001.log", dir);
    fd = open(path, O_WRONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, "xxxxxxxx", 8, 20000), 8);
    assert_int_equal(close(fd), 0);
    cluster_free(read_log(-EUCLEAN, "is damaged at offset", &records));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_everything_is_applied, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_record_that_does_not_fit, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_record_that_is_none, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_damaged_file, setup, teardown),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
