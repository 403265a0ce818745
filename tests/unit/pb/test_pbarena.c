/* test_pbarena.c - memory for many records, given back at once */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/cleanup.h"
#include "base/pb/pbutil.h"

static void *take(struct pb_arena *arena, size_t size)
{
    ProtobufCAllocator *a = pb_arena_allocator(arena);

    return a->alloc(a->allocator_data, size);
}

/* Pieces of every size are aligned and nobody else's: each is filled, and all are what they were
 * filled with after the last one. */
static void test_pieces(void **state)
{
    _cleanup_(pb_arena_free) struct pb_arena *arena = NULL;
    static unsigned char *piece[3000];

    (void)state;
    assert_int_equal(pb_arena_new(&arena), 0);
    for (int turn = 0; turn < 3; turn++) {
        for (size_t i = 0; i < ARRAY_SIZE(piece); i++) {
            size_t size = i * 7 % 997 + (i % 100 == 0 ? 40000 : 0);

            piece[i] = take(arena, size);
            assert_non_null(piece[i]);
            assert_int_equal((uintptr_t)piece[i] % 16, 0);
            memset(piece[i], (int)(i % 251), size);
        }
        for (size_t i = 0; i < ARRAY_SIZE(piece); i++) {
            size_t size = i * 7 % 997 + (i % 100 == 0 ? 40000 : 0);

            for (size_t k = 0; k < size; k++)
                assert_int_equal(piece[i][k], i % 251);
        }
        pb_arena_reset(arena);
    }
}

/* Without a new piece of memory for each round: the first piece is the one of before. */
static void test_same_again(void **state)
{
    _cleanup_(pb_arena_free) struct pb_arena *arena = NULL;
    void *first;

    (void)state;
    assert_int_equal(pb_arena_new(&arena), 0);
    first = take(arena, 100);
    for (int i = 0; i < 1000; i++)
        assert_non_null(take(arena, 1000));
    pb_arena_reset(arena);
    assert_ptr_equal(take(arena, 100), first);
}

/* Sizes that a stranger's message may ask for. */
static void test_sizes(void **state)
{
    _cleanup_(pb_arena_free) struct pb_arena *arena = NULL;
    ProtobufCAllocator *a;

    (void)state;
    assert_int_equal(pb_arena_new(&arena), 0);
    assert_null(take(arena, SIZE_MAX));
    assert_null(take(arena, SIZE_MAX - 15));
    assert_null(take(arena, SIZE_MAX / 2 + 1));
    assert_non_null(take(arena, 0));
    a = pb_arena_allocator(arena);
    a->free(a->allocator_data, take(arena, 10)); /* nothing: it goes with the rest */
    assert_null(pb_arena_free(NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_same_again),
        cmocka_unit_test(test_sizes),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
