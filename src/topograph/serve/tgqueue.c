/* tgqueue.c - see tgqueue.h; a few hundred entries, which are searched one by one */
#include "topograph/serve/tgqueue.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct waiting {
    char id[TGREQUEST_ID_SIZE];
    char *text;
    size_t len;
    int64_t due_us;
};
struct result {
    char id[TGREQUEST_ID_SIZE];
    unsigned status;
    char *body;
    size_t len;
};

struct tgqueue {
    int64_t delay_us;
    struct waiting waiting[TGQUEUE_WAITING_MAX];
    size_t nwaiting, waiting_bytes;
    struct result results[TGQUEUE_RESULTS_MAX]; /* the oldest first */
    size_t nresults, result_bytes;
    char running[TGREQUEST_ID_SIZE]; /* "": none */
};

int tgqueue_new(int64_t delay_us, struct tgqueue **ret_queue)
{
    struct tgqueue *q = calloc(1, sizeof(*q));

    if (!q)
        return -ENOMEM;
    q->delay_us = delay_us;
    *ret_queue = q;
    return 0;
}

struct tgqueue *tgqueue_free(struct tgqueue *q)
{
    for (size_t i = 0; q && i < q->nwaiting; i++)
        free(q->waiting[i].text);
    for (size_t i = 0; q && i < q->nresults; i++)
        free(q->results[i].body);
    free(q);
    return NULL;
}

static size_t find_waiting(const struct tgqueue *q, const char *id)
{
    size_t i = 0;

    while (i < q->nwaiting && strcmp(q->waiting[i].id, id) != 0)
        i++;
    return i;
}

int tgqueue_put(struct tgqueue *q, const char *id, char *text, size_t len, int64_t now_us)
{
    size_t i = find_waiting(q, id), before = i < q->nwaiting ? q->waiting[i].len : 0;
    struct waiting *w = &q->waiting[i];

    if (i == TGQUEUE_WAITING_MAX || q->waiting_bytes - before + len > TGQUEUE_WAITING_BYTES)
        return -EBUSY;
    if (i == q->nwaiting) {
        *w = (struct waiting){ .text = NULL };
        (void)strncat(w->id, id, sizeof(w->id) - 1);
        q->nwaiting++;
    }
    free(w->text);
    w->text = text;
    w->len = len;
    w->due_us = now_us + q->delay_us;
    q->waiting_bytes += len - before;
    return 0;
}

int tgqueue_take(struct tgqueue *q, int64_t now_us, char id[TGREQUEST_ID_SIZE], char **ret_text,
                 size_t *ret_len, int64_t *ret_due_us)
{
    size_t first = 0;

    *ret_due_us = INT64_MAX;
    for (size_t i = 1; i < q->nwaiting; i++)
        if (q->waiting[i].due_us < q->waiting[first].due_us)
            first = i;
    if (!q->nwaiting)
        return 0;
    if (q->waiting[first].due_us > now_us) {
        *ret_due_us = q->waiting[first].due_us;
        return 0;
    }
    memcpy(id, q->waiting[first].id, TGREQUEST_ID_SIZE);
    memcpy(q->running, id, TGREQUEST_ID_SIZE);
    *ret_text = q->waiting[first].text;
    *ret_len = q->waiting[first].len;
    q->waiting_bytes -= *ret_len;
    q->waiting[first] = q->waiting[--q->nwaiting];
    return 1;
}

static void drop_result(struct tgqueue *q, size_t i)
{
    q->result_bytes -= q->results[i].len;
    free(q->results[i].body);
    q->nresults--;
    memmove(&q->results[i], &q->results[i + 1], (q->nresults - i) * sizeof(q->results[0]));
}

static size_t find_result(const struct tgqueue *q, const char *id)
{
    size_t i = 0;

    while (i < q->nresults && strcmp(q->results[i].id, id) != 0)
        i++;
    return i;
}

void tgqueue_finish(struct tgqueue *q, unsigned status, char *body, size_t len)
{
    size_t old = find_result(q, q->running);

    if (old < q->nresults)
        drop_result(q, old);
    while (q->nresults == TGQUEUE_RESULTS_MAX ||
           (q->nresults && q->result_bytes + len > TGQUEUE_RESULT_BYTES))
        drop_result(q, 0);
    q->results[q->nresults] = (struct result){ .status = status, .body = body, .len = len };
    memcpy(q->results[q->nresults++].id, q->running, TGREQUEST_ID_SIZE);
    q->result_bytes += len;
    q->running[0] = '\0';
}

enum tgqueue_state tgqueue_find(const struct tgqueue *q, const char *id, unsigned *ret_status,
                                const char **ret_body, size_t *ret_len)
{
    size_t i = find_result(q, id);

    if (find_waiting(q, id) < q->nwaiting || (*id && strcmp(q->running, id) == 0))
        return TGQUEUE_WAITS;
    if (i == q->nresults)
        return TGQUEUE_UNKNOWN;
    *ret_status = q->results[i].status;
    *ret_body = q->results[i].body;
    *ret_len = q->results[i].len;
    return TGQUEUE_DONE;
}
