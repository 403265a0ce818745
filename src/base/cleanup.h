/* cleanup.h - scope cleanup, so that early returns are safe
 *
 *     _cleanup_(hostlist_free) struct hostlist *hl = NULL;
 *     _cleanup_val_(strbuf_done) struct strbuf sb = STRBUF_INIT;
 *     _cleanup_free_ char *name = NULL;
 *     *ret_name = TAKE_PTR(name); */
#pragma once

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* In a header beside x_free(): lets _cleanup_(x_free) release a pointer variable at the end of its
 * scope. */
#define DEFINE_CLEANUP(type, fn)                                                                   \
    static inline void fn##p(type *p)                                                              \
    {                                                                                              \
        if (*p)                                                                                    \
            (void)fn(*p);                                                                          \
    }
#define _cleanup_(fn) __attribute__((cleanup(fn##p)))
/* Run x_done(&var) for a variable held by value. */
#define _cleanup_val_(fn) __attribute__((cleanup(fn)))

static inline void cleanup_freep(void *p)
{
    free(*(void **)p);
}
#define _cleanup_free_ __attribute__((cleanup(cleanup_freep)))

static inline void cleanup_closep(int *fd)
{
    if (*fd >= 0)
        (void)close(*fd); /* nothing to be done about it here */
}
#define _cleanup_close_ __attribute__((cleanup(cleanup_closep)))

static inline void cleanup_fclosep(FILE **f)
{
    if (*f)
        (void)fclose(*f); /* readers only; writers check fclose themselves */
}
#define _cleanup_fclose_ __attribute__((cleanup(cleanup_fclosep)))

#define TAKE_PTR(p)                                                                                \
    ({                                                                                             \
        __typeof__(p) *take_pp_ = &(p);                                                            \
        __typeof__(p) take_p_ = *take_pp_;                                                         \
        *take_pp_ = NULL;                                                                          \
        take_p_;                                                                                   \
    })
#define TAKE_FD(fd)                                                                                \
    ({                                                                                             \
        int *take_pfd_ = &(fd);                                                                    \
        int take_fd_ = *take_pfd_;                                                                 \
        *take_pfd_ = -1;                                                                           \
        take_fd_;                                                                                  \
    })

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

/* The smaller and the larger of two numbers, in the common type of both.  Each argument is
   evaluated once, so that a call in it costs once and may change something.  The comparison that
   never runs lets the compiler warn of a signed and an unsigned argument.  CONST_MAX() is for
   sizes of arrays and other constant expressions, where no statement may stand. */
#define MIN(a, b) NUMBER_OF_TWO(a, <, b, __COUNTER__)
#define MAX(a, b) NUMBER_OF_TWO(a, >, b, __COUNTER__)
#define NUMBER_OF_TWO(a, op, b, n) NUMBER_OF_TWO_NAMED(a, op, b, n)
#define NUMBER_OF_TWO_NAMED(a, op, b, n)                                                           \
    ({                                                                                             \
        if (0)                                                                                     \
            (void)((a)op(b));                                                                      \
        __typeof__((a) + (b)) one_##n##_ = (a), other_##n##_ = (b);                                \
        one_##n##_ op other_##n##_ ? one_##n##_ : other_##n##_;                                    \
    })
#define CONST_MAX(a, b) ((a) > (b) ? (a) : (b))
#define container_of(p, type, member) ((type *)((char *)(p)-offsetof(type, member)))
