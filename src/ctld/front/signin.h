/* signin.h - words that sign a browser in, once
 *
 * A user whom the kernel or the cluster's key names asks for a word instead of a token.  The word
 * stands in an address, which people paste, print and photograph: it is good for a minute and for
 * one exchange, and what it is exchanged for was decided when it was made.  Kept in memory alone: a
 * controller that starts again knows none.  Core thread. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#define SIGNIN_WORD 32u /* characters: 128 bits in hexadecimal digits */
#define SIGNIN_S 60
#define SIGNIN_MOST 256u /* of all users */
#define SIGNIN_OF_ONE 8u /* of one: his oldest goes */

struct signins;

int signins_new(struct signins **ret);           /* -ENOMEM */
struct signins *signins_free(struct signins *s); /* wipes tokens; always NULL */
/* Keep a copy of uid's token under a new word, until SIGNIN_S from now (monotonic).  Errors:
 * -ENOSPC others wait for theirs, -ENOMEM, -EIO no random bytes. */
int signins_put(struct signins *s, uid_t uid, const char *token, int64_t now_us,
                char word[SIGNIN_WORD + 1]);
/* The token of a word, which is forgotten; caller wipes and frees.  NULL: there is no such word, it
 * was used, or its time is over. */
char *signins_take(struct signins *s, const char *word, int64_t now_us);
