/* test_blob.c - scripts and environments by name: names that are none, names that meet in one place
 * of the table, and who pays for them */
#include "model_util.h"

#include "model/cluster_private.h"
#include "model/payers.h"

static struct digest digest_with(uint8_t last)
{
    struct digest d = { 0 };

    d.bytes[0] = 9; /* the place in the table comes from the first bytes: all meet there */
    d.bytes[DIGEST_SIZE - 1] = last;
    return d;
}

static int put_blob(struct cluster *c, const struct digest *d, size_t name_len, const char *text)
{
    Pst__Blob rec = PST__BLOB__INIT;
    struct err err = { .text = "" };

    rec.has_digest = d != NULL;
    if (d)
        rec.digest = (ProtobufCBinaryData){ name_len, (uint8_t *)d->bytes };
    rec.has_data = true;
    rec.data = (ProtobufCBinaryData){ strlen(text), (uint8_t *)text };
    return model_blob_put(c, &rec, &err);
}

static void use_script(struct cluster *c, const struct digest *d, uint32_t uid, int delta)
{
    struct blob_names n = { .script = { .has_digest = true, .digest = *d } };

    model_blob_refs(c, &n, uid, delta);
}

static void expect_text(const struct cluster *c, const struct digest *d, const char *text)
{
    const struct blob *b = cluster_blob(c, d);

    assert_int_equal(b != NULL, text != NULL);
    if (b) {
        assert_int_equal(b->len, strlen(text));
        assert_memory_equal(b->data, text, b->len);
    }
}

/* Names of one place are told apart by all their bytes; each can go, first, middle and last. */
static void test_one_place(void **state)
{
    static const char *const texts[] = { "zero", "one", "two" };

    (void)state;
    for (unsigned gone = 0; gone < 3; gone++) {
        struct cluster *c = new_cluster();
        struct digest d;

        for (unsigned i = 0; i < 3; i++) {
            d = digest_with((uint8_t)i);
            assert_int_equal(put_blob(c, &d, DIGEST_SIZE, texts[i]), 0);
            use_script(c, &d, 7, 1);
        }
        d = digest_with((uint8_t)gone);
        use_script(c, &d, 7, -1);
        for (unsigned i = 0; i < 3; i++) {
            d = digest_with((uint8_t)i);
            expect_text(c, &d, i == gone ? NULL : texts[i]);
        }
        cluster_free(c);
    }
}

static void test_names(void **state)
{
    struct cluster *c = new_cluster();
    struct digest d = digest_with(1);
    Pst__Blob rec = PST__BLOB__INIT;
    struct err err = { .text = "" };

    (void)state;
    assert_int_equal(put_blob(c, NULL, 0, "x"), -EUCLEAN);
    assert_int_equal(put_blob(c, &d, DIGEST_SIZE - 1, "x"), -EUCLEAN);
    assert_int_equal(put_blob(c, &d, 0, "x"), -EUCLEAN);
    rec.has_hash = true; /* of logs older than digests: two numbers are no keys */
    assert_int_equal(model_blob_put(c, &rec, &err), -EUCLEAN);
    rec.hash = UINT64_MAX;
    assert_int_equal(model_blob_put(c, &rec, &err), -EUCLEAN);
    assert_string_equal(err.text, "a blob without a usable name");
    rec.hash = 5;
    assert_int_equal(model_blob_put(c, &rec, &err), 0); /* of no bytes */
    assert_int_equal(put_blob(c, &d, DIGEST_SIZE, ""), 0);
    expect_text(c, &d, "");
    assert_int_equal(put_blob(c, &d, DIGEST_SIZE, "other"), 0); /* the first with a name keeps it */
    expect_text(c, &d, "");
    cluster_free(c);
}

/* The user whose job was the first pays until the last job is gone. */
static void test_payer(void **state)
{
    struct cluster *c = new_cluster();
    struct digest d = digest_with(1), unknown = digest_with(2);
    uint64_t cost = payers_cost(6);

    (void)state;
    assert_int_equal(put_blob(c, &d, DIGEST_SIZE, "script"), 0);
    use_script(c, &d, 7, -1); /* a log put together by hand: no job of it was there */
    expect_text(c, &d, "script");
    assert_int_equal(payers_bytes(c, 7), 0);
    use_script(c, &d, 7, 1);
    use_script(c, &d, 8, 1);
    assert_int_equal(payers_bytes(c, 7), cost);
    assert_int_equal(payers_bytes(c, 8), 0);
    use_script(c, &d, 7, -1);
    assert_int_equal(payers_bytes(c, 7), cost);
    use_script(c, &unknown, 9, 1);
    assert_int_equal(payers_bytes(c, 9), 0);
    use_script(c, &d, 8, -1);
    assert_int_equal(payers_bytes(c, 7), 0);
    expect_text(c, &d, NULL);
    cluster_free(c);
}

/* One that is read by another thread outlives the model. */
static void test_holders(void **state)
{
    struct cluster *c = new_cluster();
    struct digest d = digest_with(1);
    struct blob *b;

    (void)state;
    assert_null(blob_hold(NULL));
    assert_null(blob_drop(NULL));
    assert_int_equal(put_blob(c, &d, DIGEST_SIZE, "kept"), 0);
    b = blob_hold(cluster_blob(c, &d));
    use_script(c, &d, 7, 1);
    use_script(c, &d, 7, -1);
    expect_text(c, &d, NULL);
    cluster_free(c);
    assert_int_equal(b->len, 4);
    assert_memory_equal(b->data, "kept", 4);
    assert_null(blob_drop(b));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_place),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_payer),
        cmocka_unit_test(test_holders),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
