/* fakecall.h - a slurmrestd of a fuzz target: requests are kept, and a script answers them
 *
 * Each line of the script is one step, by its first byte: `L` a line of the stream, `E` the end of
 * the stream with this body, `2` `4` `5` `6` an answer of 200, 404, 500 or 422 with this body to
 * the oldest request, `0` no answer, anything else is the target's.  The loop turns after each, and
 * FAKE_STEP_US go by.  The row in build.txt wraps kubecall_start and now_mono_us. */
#pragma once

#include <assert.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "kube/api/kubecall.h"
#include "kube/api/kubejson.h"

#define FAKE_MOST 64u
#define FAKE_STEP_US 25000

struct fakecall {
    struct kubeloop *loop;
    struct kubeconfig config;
    struct kubeserver *server;
    struct kubecall_spec asked[FAKE_MOST];
    size_t n;
    int64_t now_us;
};

static struct fakecall fake;

int64_t __wrap_now_mono_us(void);
int64_t __wrap_now_mono_us(void)
{
    return fake.now_us;
}

int __wrap_kubecall_start(struct kubeserver *s, const struct kubecall_spec *spec,
                          struct kubecall **ret_call);
int __wrap_kubecall_start(struct kubeserver *s, const struct kubecall_spec *spec,
                          struct kubecall **ret_call)
{
    (void)s;
    assert(spec->path[0] == '/' && !strpbrk(spec->path, " \r\n\t"));
    if (ret_call || fake.n == FAKE_MOST)
        return -ENOMEM;
    fake.asked[fake.n] = *spec;
    fake.asked[fake.n++].path = NULL; /* its text is the caller's */
    return 0;
}

static inline void fake_begin(void)
{
    static const struct kubeserver_options o = { .program = "fuzz" };

    fake =
        (struct fakecall){ .now_us = 1, .config = { .server = (char[]){ "http://127.0.0.1:1" } } };
    assert(kubeloop_new(&fake.loop) == 0);
    assert(kubeserver_new(fake.loop, &fake.config, &o, &fake.server) == 0);
}

static inline void fake_turn(void)
{
    fake.now_us += FAKE_STEP_US;
    assert(kubeloop_turn(fake.loop, 0) == 0);
}

/* The oldest stream, or request; FAKE_MOST: none. */
static inline size_t fake_find(bool stream)
{
    for (size_t i = 0; i < fake.n; i++)
        if ((fake.asked[i].line != NULL) == stream)
            return i;
    return FAKE_MOST;
}

static inline void fake_answer(size_t i, int status, const char *body, size_t len)
{
    struct kubecall_spec spec;
    json_t *parsed = NULL;
    struct err err = { .text = "" };

    if (i >= fake.n)
        return;
    spec = fake.asked[i];
    memmove(&fake.asked[i], &fake.asked[i + 1], (--fake.n - i) * sizeof(spec));
    if (status && kubejson_parse(body, len, &parsed, &err) < 0 && status < 300)
        status = 0; /* as kubecall.c says it */
    spec.done(spec.ctx,
              &(struct kubereply){ .status = status, .body = parsed, .reason = "", .text = "" });
    json_decref(parsed);
}

/* What requests hold is let go: nobody answers any more. */
static inline void fake_hang_up(void)
{
    for (size_t left = 4 * FAKE_MOST; fake.n && left; left--)
        fake_answer(0, 0, "", 0);
    assert(!fake.n); /* no answer is asked for again at once */
}

static inline void fake_end(void)
{
    fake.server = kubeserver_free(fake.server);
    fake.loop = kubeloop_free(fake.loop);
}

static inline void fake_tell(const char *line, size_t len)
{
    size_t i = fake_find(true);
    char *copy = i < FAKE_MOST ? strndup(line, len) : NULL;

    if (copy && fake.asked[i].line(fake.asked[i].ctx, copy, strlen(copy)) < 0)
        fake_answer(i, 0, "", 0);
    free(copy);
}

/* True: the step was taken. */
static inline bool fake_step(char what, const char *rest, size_t len)
{
    switch (what) {
    case 'L':
        fake_tell(rest, len);
        return true;
    case 'E':
        fake_answer(fake_find(true), 200, rest, len);
        return true;
    case '2':
        fake_answer(fake_find(false), 200, rest, len);
        return true;
    case '4':
        fake_answer(fake_find(false), 404, rest, len);
        return true;
    case '5':
        fake_answer(fake_find(false), 500, rest, len);
        return true;
    case '6':
        fake_answer(fake_find(false), 422, rest, len);
        return true;
    case '0':
        fake_answer(fake_find(false), 0, "", 0);
        return true;
    default:
        return false;
    }
}

/* Play a script; other gets what is no step of ours, without the first byte in front of it. */
static inline void fake_play(const uint8_t *data, size_t size,
                             void (*other)(void *ctx, char what, const char *word), void *ctx)
{
    const char *at = (const char *)data, *end = at + size;

    while (at < end) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        size_t len = (size_t)((stop ? stop : end) - at);

        if (len && !fake_step(*at, at + 1, len - 1)) {
            char *word = strndup(at + 1, len - 1);

            if (word)
                other(ctx, *at, word);
            free(word);
        }
        fake_turn();
        at += len + 1;
    }
}
