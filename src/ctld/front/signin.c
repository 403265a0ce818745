/* signin.c - words that sign a browser in, once; see signin.h */
#include "ctld/front/signin.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text/hextext.h"
#include "base/text/owntext.h"
#include "base/timefmt.h"
#include "wire/auth/auth.h"

struct ticket {
    char word[SIGNIN_WORD + 1];
    uid_t uid;
    int64_t until_us;
    char *token; /* NULL: the place is free */
};

struct signins {
    struct ticket tickets[SIGNIN_MOST];
};

static void free_ticket(struct ticket *t)
{
    wipe_text(&t->token);
    explicit_bzero(t, sizeof(*t));
}

int signins_new(struct signins **ret)
{
    *ret = calloc(1, sizeof(**ret));
    return *ret ? 0 : -ENOMEM;
}

struct signins *signins_free(struct signins *s)
{
    for (size_t i = 0; s && i < SIGNIN_MOST; i++)
        free_ticket(&s->tickets[i]);
    free(s);
    return NULL;
}

static void drop_old(struct signins *s, int64_t now_us)
{
    for (size_t i = 0; i < SIGNIN_MOST; i++)
        if (s->tickets[i].token && s->tickets[i].until_us <= now_us)
            free_ticket(&s->tickets[i]);
}

/* A free place; of a user who has many, that of his oldest.  NULL: none. */
static struct ticket *find_place(struct signins *s, uid_t uid)
{
    struct ticket *vacant = NULL, *oldest = NULL;
    size_t own = 0;

    for (size_t i = 0; i < SIGNIN_MOST; i++) {
        struct ticket *t = &s->tickets[i];

        if (!t->token) {
            vacant = vacant ? vacant : t;
        } else if (t->uid == uid) {
            own++;
            oldest = !oldest || t->until_us < oldest->until_us ? t : oldest;
        }
    }
    return own >= SIGNIN_OF_ONE ? oldest : vacant;
}

int signins_put(struct signins *s, uid_t uid, const char *token, int64_t now_us,
                char word[SIGNIN_WORD + 1])
{
    uint8_t bytes[SIGNIN_WORD / 2];
    struct ticket *t;
    char *copy;

    drop_old(s, now_us);
    t = find_place(s, uid);
    if (!t)
        return -ENOSPC;
    if (auth_random(bytes, sizeof(bytes)) < 0)
        return -EIO;
    copy = strdup(token);
    if (!copy)
        return -ENOMEM;
    free_ticket(t);
    hextext_write(bytes, sizeof(bytes), t->word);
    t->uid = uid;
    t->until_us = now_us + SIGNIN_S * USEC_PER_SEC;
    t->token = copy;
    memcpy(word, t->word, sizeof(t->word));
    explicit_bzero(bytes, sizeof(bytes));
    return 0;
}

/* In a time that tells nothing of where they differ; both are SIGNIN_WORD long. */
static bool is_same_word(const char *a, const char *b)
{
    unsigned differ = 0;

    for (size_t i = 0; i < SIGNIN_WORD; i++)
        differ |= (unsigned)((unsigned char)a[i] ^ (unsigned char)b[i]);
    return differ == 0;
}

char *signins_take(struct signins *s, const char *word, int64_t now_us)
{
    char *found = NULL;

    drop_old(s, now_us);
    if (strlen(word) != SIGNIN_WORD)
        return NULL;
    for (size_t i = 0; i < SIGNIN_MOST; i++) {
        struct ticket *t = &s->tickets[i];

        if (t->token && is_same_word(t->word, word)) {
            found = t->token;
            t->token = NULL;
            free_ticket(t);
        }
    }
    return found;
}
