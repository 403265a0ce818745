/* test_texts.c - texts kept once: the same bytes are one, the last one who drops them frees them,
 * and gaps close so that everything else is still found */
#include "model_util.h"

#include "model/sharing.h"
#include "model/texts.h"
#include "fieldlists.h"

#define TEXTS 3000u

static const char *text_n(uint32_t n, char *buf, size_t size)
{
    (void)snprintf(buf, size, "text %u", n);
    return buf;
}

static void test_once(void **state)
{
    static const char bytes[] = { 'a', '\0', 'b' };
    struct texts t = { 0 };
    char *a = texts_keep(&t, "root", 4), *b = texts_keep(&t, "root", 4);
    char *whole = texts_keep(&t, bytes, 3), *part = texts_keep(&t, bytes, 1);

    (void)state;
    assert_ptr_equal(a, b);
    assert_string_equal(a, "root");
    assert_ptr_not_equal(whole, part);
    assert_memory_equal(whole, bytes, 3);
    assert_string_equal(texts_keep(&t, "", 0), "");
    assert_int_equal(t.count, 4);
    texts_drop(&t, a);
    assert_string_equal(b, "root"); /* once more */
    assert_int_equal(t.count, 4);
    texts_drop(&t, b);
    assert_int_equal(t.count, 3);
    texts_drop(&t, NULL);
    texts_done(&t);
    assert_int_equal(t.count, 0);
}

/* Kept and dropped in no order; what is there is found in each moment. */
static void test_gaps(void **state)
{
    static char *kept[TEXTS];
    struct texts t = { 0 };
    uint64_t seed = 7;
    size_t n = 0;
    char buf[32];

    (void)state;
    for (uint32_t round = 0; round < 40 * TEXTS; round++) {
        uint32_t i = rnd_below(&seed, TEXTS);

        text_n(i, buf, sizeof(buf));
        if (kept[i]) {
            char *again = texts_keep(&t, buf, strlen(buf));

            assert_ptr_equal(again, kept[i]);
            texts_drop(&t, again);
            texts_drop(&t, kept[i]);
            kept[i] = NULL;
            n--;
        } else {
            kept[i] = texts_keep(&t, buf, strlen(buf));
            assert_string_equal(kept[i], buf);
            n++;
        }
        assert_int_equal(t.count, n);
    }
    for (uint32_t i = 0; i < TEXTS; i++)
        texts_drop(&t, kept[i]);
    assert_int_equal(t.count, 0);
    texts_done(&t);
}

/* ---- records of jobs ------------------------------------------------------------------------- */

static void set_digest(Pst__JobRecord *r, uint8_t first)
{
    free(r->script_digest.data);
    r->script_digest.data = calloc(1, 32);
    assert_non_null(r->script_digest.data);
    r->script_digest.data[0] = first;
    r->script_digest.len = 32;
    r->has_script_digest = true;
}

static Pst__JobRecord *rec_of(const struct cluster *c, uint32_t id)
{
    return cluster_job(c, id)->rec;
}

static void add_two(struct cluster *c)
{
    Pst__Transaction *tx = tx_new(T0);

    for (uint32_t id = 1; id <= 2; id++) {
        Pst__JobRecord *r = put_job(tx, id);

        assert_int_equal(pb_set_str(&r->work_dir, "/home/u"), 0);
        assert_int_equal(pb_set_str(&r->dependency, "afterok:9"), 0); /* not shared */
        set_digest(r, 1);
    }
    apply_ok(c, tx);
}

static void test_jobs_share(void **state)
{
    struct cluster *c = new_cluster();

    (void)state;
    add_two(c);
    assert_ptr_equal(rec_of(c, 1)->work_dir, rec_of(c, 2)->work_dir);
    assert_ptr_equal(rec_of(c, 1)->script_digest.data, rec_of(c, 2)->script_digest.data);
    assert_ptr_not_equal(rec_of(c, 1)->dependency, rec_of(c, 2)->dependency);
    assert_string_equal(rec_of(c, 1)->work_dir, "/home/u");
    assert_int_equal(c->texts.count, 3); /* folder, digest, name */
    cluster_free(c);
}

/* Every field with the word `common` in proto/fields.def. */
static void test_all_common(void **state)
{
    struct cluster *c = new_cluster();
    Pst__Transaction *tx = tx_new(T0);

    (void)state;
    for (uint32_t id = 1; id <= 2; id++) {
        Pst__JobRecord *r = put_job(tx, id);

#define X(member, number) assert_int_equal(pb_set_str(&r->member, #member), 0);
        JOB_COMMON_TEXTS(X)
#undef X
    }
    apply_ok(c, tx);
#define X(member, number)                                                                          \
    assert_string_equal(rec_of(c, 1)->member, #member);                                            \
    assert_ptr_equal(rec_of(c, 1)->member, rec_of(c, 2)->member);
    JOB_COMMON_TEXTS(X)
#undef X
    tx = tx_new(T0 + SEC);
    (void)tx_job_patch(tx, EV(JOB_UPDATE), 1);
#define X(member, number) tx_clear(tx, number);
    JOB_COMMON_TEXTS(X)
#undef X
    apply_ok(c, tx);
#define X(member, number)                                                                          \
    assert_null(rec_of(c, 1)->member);                                                             \
    assert_string_equal(rec_of(c, 2)->member, #member);
    JOB_COMMON_TEXTS(X)
#undef X
    cluster_free(c);
}

/* Of one job: the other keeps what it has.  The hash is that of a cluster without a history. */
static void test_patch(void **state)
{
    struct cluster *c = new_cluster(), *fresh = new_cluster();
    Pst__Transaction *tx = tx_new(T0 + SEC);
    Pst__JobRecord *set = tx_job_patch(tx, EV(JOB_UPDATE), 1);

    (void)state;
    add_two(c);
    assert_int_equal(pb_set_str(&set->work_dir, "/scratch"), 0);
    assert_int_equal(pb_set_str(&set->name, "job"), 0); /* as it is */
    set_digest(set, 2);
    tx_clear(tx, JOB_F_USER_NAME); /* absent before and after */
    apply_ok(c, tx);
    assert_string_equal(rec_of(c, 1)->work_dir, "/scratch");
    assert_string_equal(rec_of(c, 2)->work_dir, "/home/u");
    assert_int_equal(rec_of(c, 1)->script_digest.data[0], 2);
    assert_int_equal(rec_of(c, 2)->script_digest.data[0], 1);
    assert_ptr_equal(rec_of(c, 1)->name, rec_of(c, 2)->name);

    tx = tx_new(T0 + 2 * SEC);
    (void)tx_job_patch(tx, EV(JOB_UPDATE), 1);
    tx_clear(tx, JOB_F_WORK_DIR);
    tx_clear(tx, JOB_F_SCRIPT_DIGEST);
    apply_ok(c, tx);
    assert_null(rec_of(c, 1)->work_dir);
    assert_false(rec_of(c, 1)->has_script_digest);
    assert_string_equal(rec_of(c, 2)->work_dir, "/home/u");

    tx = tx_new(T0);
    for (uint32_t id = 1; id <= 2; id++)
        assert_int_equal(pb_merge(&put_job(tx, id)->base, &rec_of(c, id)->base), 0);
    apply_ok(fresh, tx);
    assert_int_equal(cluster_hash(fresh), cluster_hash(c));
    tx = tx_new(T0);
    tx_job_purge(tx, 1);
    tx_job_purge(tx, 2);
    apply_ok(c, tx);
    assert_int_equal(c->texts.count, 0);
    cluster_free(fresh);
    cluster_free(c);
}

/* A job is in one of the lists that share their place, whatever way it goes. */
static void test_lists(void **state)
{
    static const Pst__JobState way[] = { JOB_STATE(COMPLETED), JOB_STATE(PENDING),
                                         JOB_STATE(CANCELLED), JOB_STATE(PENDING) };
    struct cluster *c = new_cluster();
    uint32_t active;

    (void)state;
    add_two(c);
    for (uint32_t i = 0; i < ARRAY_SIZE(way); i++) {
        Pst__Transaction *tx = tx_new(T0 + i * SEC);
        Pst__JobRecord *set = tx_job_patch(tx, EV(JOB_UPDATE), 1);
        bool waits = way[i] == JOB_STATE(PENDING);

        SET(set, state, way[i]);
        SET(set, end_us, T0 + i * SEC);
        apply_ok(c, tx);
        assert_int_equal(cluster_job(c, 1)->in_done, !waits);
        assert_ptr_equal(cluster_done_oldest(c), waits ? NULL : cluster_job(c, 1));
        assert_ptr_equal(cluster_named_first(c, 1000, "job", &active),
                         cluster_job(c, waits ? 1 : 2));
    }
    cluster_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_once),       cmocka_unit_test(test_gaps),
        cmocka_unit_test(test_jobs_share), cmocka_unit_test(test_patch),
        cmocka_unit_test(test_lists),      cmocka_unit_test(test_all_common),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
